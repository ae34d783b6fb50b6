"""The skip-or-fail policy for tools keeps its word."""

import sys
from pathlib import Path

import pytest
from support import tools


def test_finds_a_program_of_the_environment() -> None:
    assert Path(tools.require(Path(sys.executable).name)) == Path(sys.executable)


def test_missing_program_skips_and_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDGEKIT_REQUIRE_TOOLS", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.skip.Exception, match=r"valgrind is not installed \(Debian: valgrind\)"):
        tools.require("valgrind")


@pytest.mark.parametrize("require", [tools.require, tools.require_module])
def test_missing_tool_fails_where_everything_is_required(
    require: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGEKIT_REQUIRE_TOOLS", "1")
    with pytest.raises(pytest.fail.Exception, match="no_such_tool is not installed"):
        require("no_such_tool")


def test_missing_reference_files_skip_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EDGEKIT_REQUIRE_TOOLS", "1")
    monkeypatch.setattr(tools, "SHARED", tmp_path)
    with pytest.raises(pytest.skip.Exception, match=r"needs \.\./shared/models"):
        tools.require_shared("models")


def test_present_reference_files_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    monkeypatch.setattr(tools, "SHARED", tmp_path)
    assert tools.require_shared("models") == tmp_path / "models"
