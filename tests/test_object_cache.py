"""The cache of what compilers made: it returns exactly that, and forgets nothing that decides over it."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import object_cache
from support.language_packages import ran
from support.tools import require, require_module

from edgekit.core.errors import EdgeKitError

COMMAND = ("cc", "-c", "-Wunused-variable", "-I.", "a.c", "-o", "a.o")


@pytest.fixture
def compile_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, bool]]:
    """Compiles texts in a new folder: the warnings, and whether the compiler ran."""
    monkeypatch.setenv("EDGEKIT_TEST_CACHE", str(tmp_path / "cache"))

    def run(name: str, *command: str, error: Exception | None = None, **texts: str) -> tuple[str, bool]:
        folder = tmp_path / name
        folder.mkdir()
        for file, text in texts.items():
            (folder / file.replace("_", ".")).write_text(text)
        ran = []

        def compiler() -> str:
            ran.append(command)
            if error:
                raise error
            (folder / "a.o").write_bytes(b"object of " + b"".join(p.read_bytes() for p in folder.iterdir()))
            (folder / "a.o").chmod(0o755)
            return "warning"

        return object_cache.remembered([require("cc"), *command], folder, compiler), bool(ran)

    return run


def test_what_was_made_comes_back(compile_in: Callable[..., tuple[str, bool]], tmp_path: Path) -> None:
    assert compile_in("one", *COMMAND, a_c="int x;", b_h="") == ("warning", True)
    assert compile_in("two", *COMMAND, a_c="int x;", b_h="") == ("warning", False)
    one, two = (tmp_path / name / "a.o" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert two.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("command", "texts"),
    [
        (COMMAND, {"a_c": "int y;", "b_h": ""}),
        (COMMAND, {"a_c": "int x;", "b_h": "#define X"}),
        (COMMAND, {"a_c": "int x;"}),
        (("-O2", *COMMAND), {"a_c": "int x;", "b_h": ""}),
    ],
    ids=["source", "header", "no header", "flag"],
)
def test_what_decides_is_known(
    compile_in: Callable[..., tuple[str, bool]], command: tuple[str, ...], texts: dict[str, str]
) -> None:
    compile_in("one", *COMMAND, a_c="int x;", b_h="")
    assert compile_in("two", *command, **texts) == ("warning", True)


def test_folders_elsewhere_count_by_their_content(
    compile_in: Callable[..., tuple[str, bool]], tmp_path: Path
) -> None:
    ran = []
    for name, header in (("one", "#define X"), ("two", "#define X"), ("three", "#define Y")):
        folder, output = tmp_path / f"headers_{name}", tmp_path / f"{name}.o"
        folder.mkdir()
        (folder / "b.h").write_text(header)
        command = (*COMMAND[:-1], str(output), f"-I{folder}")
        ran.append(compile_in(name, *command, a_c="int x;")[1])
    assert ran == [True, False, True]


def test_what_is_written_elsewhere_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEKIT_TEST_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.c").write_text("int x;")
    outputs = [tmp_path / f"out_{n}" / "a.o" for n in range(2)]
    for output in outputs:
        output.parent.mkdir()

        def compiler(output: Path = output) -> str:
            assert output == outputs[0], "the second one is known"
            output.write_bytes(b"object")
            output.with_suffix(".ci").write_bytes(b"calls")
            return ""

        place = tmp_path / "place"
        place.mkdir(exist_ok=True)
        object_cache.remembered([require("cc"), *COMMAND[:-1], str(output)], place, compiler)
    assert outputs[1].read_bytes() == b"object"
    assert outputs[1].with_suffix(".ci").read_bytes() == b"calls"


def test_links_that_lack_a_symbol_fail_again(compile_in: Callable[..., tuple[str, bool]]) -> None:
    error = EdgeKitError("E0502", "zig failed:\nerror: undefined symbol: __divti3", hint="please report it")
    for name, raised in (("one", error), ("two", None)):
        with pytest.raises(EdgeKitError) as found:
            compile_in(name, *COMMAND, error=raised, a_c="int x;")
        assert found.value == error
    assert compile_in("three", *COMMAND, a_c="int y;") == ("warning", True)


def test_other_failures_and_damage_are_not_kept(
    compile_in: Callable[..., tuple[str, bool]], tmp_path: Path
) -> None:
    for name, error in (("zero", EdgeKitError("E0502", "zig failed:\nKilled")), ("one", RuntimeError())):
        with pytest.raises(type(error)):
            compile_in(name, *COMMAND, error=error, a_c="int x;")
    assert compile_in("two", *COMMAND, a_c="int x;") == ("warning", True)
    (entry,) = (tmp_path / "cache").rglob("*.zip")
    entry.write_bytes(entry.read_bytes()[:-30])
    assert compile_in("three", *COMMAND, a_c="int x;") == ("warning", True)


def test_an_empty_name_means_no_cache(
    compile_in: Callable[..., tuple[str, bool]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGEKIT_TEST_CACHE", "")
    for name in ("one", "two"):
        assert compile_in(name, *COMMAND, a_c="int x;") == ("warning", True)


def test_cmake_compiles_once_what_lies_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGEKIT_TEST_CACHE", str(tmp_path / "cache"))
    cmake, ccache = require("cmake"), require("ccache")
    misses = []
    for name, value in (("one", 1), ("two", 1), ("three", 2)):
        folder = tmp_path / name
        (folder / "library").mkdir(parents=True)
        (folder / "library/value.h").write_text(f"#define VALUE {value}\n")
        (folder / "main.c").write_text("#include <value.h>\nint main(void) { return VALUE; }\n")
        text = f'project(main C)\nadd_executable(main main.c)\ninclude_directories("{folder}/library")\n'
        (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.20)\n{text}")
        ran(cmake, "-B", "made", folder=folder)
        ran(cmake, "--build", "made", folder=folder)
        assert subprocess.run([folder / "made/main"]).returncode == value
        said = ran(ccache, "--print-stats", folder=folder, **object_cache.for_cmake())
        misses.append(int(dict(line.split("\t") for line in said.splitlines())["cache_miss"]))
    assert misses[0]
    assert misses == [misses[0], misses[0], misses[0] + 1]
    monkeypatch.setenv("EDGEKIT_TEST_CACHE", "")
    assert object_cache.for_cmake() == {}


def test_the_oldest_go_first(
    compile_in: Callable[..., tuple[str, bool]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        compile_in(name, *COMMAND, a_c=f"int {name};")
    first, second = sorted((tmp_path / "cache").rglob("*.zip"), key=lambda path: path.stat().st_mtime_ns)
    monkeypatch.setattr(object_cache, "MAX_BYTES", second.stat().st_size)
    object_cache.tidy()
    assert [first.exists(), second.exists()] == [False, True]


def test_exports_of_other_models_lie_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("torch", "onnx", "onnxscript"):
        require_module(package)
    monkeypatch.setenv("EDGEKIT_TEST_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "models.py"
    source.write_text("x = 1")
    first = object_cache.exports([source])
    assert first
    assert object_cache.exports([source]) == first
    source.write_text("x = 2")
    second = object_cache.exports([source])
    assert second != first
    os.utime(first, (0, 0))
    assert object_cache.exports([source]) == second
    assert not first.exists()
    monkeypatch.setenv("EDGEKIT_TEST_CACHE", "")
    assert object_cache.exports([source]) is None
