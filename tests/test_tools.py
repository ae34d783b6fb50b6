"""The skip-or-fail policy for tools keeps its word."""

import platform
import subprocess
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


@pytest.mark.parametrize(("machine", "skips"), [("x86_64", False), ("aarch64", True), ("riscv64", True)])
def test_a_program_that_is_not_for_this_machine_is_skipped(
    machine: str, skips: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(tools, "debian_packages", lambda: {"no_such_tool": "libc6-i386 [amd64]"})
    monkeypatch.setenv("EDGEKIT_REQUIRE_TOOLS", "1")
    with pytest.raises(pytest.skip.Exception if skips else pytest.fail.Exception):
        tools.require("no_such_tool")


@pytest.mark.parametrize(("machine", "skips"), [("x86_64", False), ("aarch64", True)])
def test_a_program_that_another_package_brings_there_is_skipped(
    machine: str, skips: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(tools, "debian_packages", lambda: {"no_such_tool": "gcc-other [!arm64]"})
    monkeypatch.setenv("EDGEKIT_REQUIRE_TOOLS", "1")
    with pytest.raises(pytest.skip.Exception if skips else pytest.fail.Exception):
        tools.require("no_such_tool")


@pytest.mark.parametrize("machine", ["amd64", "arm64"])
def test_packages_are_those_of_the_machine(machine: str) -> None:
    """As scripts/test finds them where nothing is installed."""
    script = """
        source scripts/environment
        dpkg() { echo MACHINE; }
        packages() { echo "$@"; }
        PATH=/nowhere
        tools
    """
    bash = tools.require("bash")
    done = subprocess.run(
        [bash, "-c", script.replace("MACHINE", machine)], cwd=tools.ROOT, capture_output=True, text=True
    )
    found = set(done.stdout.split())
    assert done.stderr == ""
    assert {"gcc", "libc6-dev", "qemu-user", "kotlin"} < found
    assert ("gcc-aarch64-linux-gnu" in found) == (machine == "amd64")
    assert ("gcc-x86-64-linux-gnu" in found) == (machine == "arm64")
    assert not any(set("[]!") & set(name) for name in found)
