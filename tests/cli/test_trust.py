"""Files that come with a model name no program to run and no place to write to, unless they are trusted."""

import os
import shutil
from pathlib import Path
from typing import get_type_hints

import pytest
from support.command_line import CommandLine
from support.tools import require_module

from edgekit import cli as command_line
from edgekit import settings
from edgekit.codegen.compilation import toolchain
from edgekit.commands._shared import _trusted_target
from edgekit.core import programs, target

MARKER = Path("ran")


@pytest.fixture
def program(folder: Path) -> str:
    """A program that leaves a file behind."""
    path = folder / "program"
    path.write_text(f"#!/bin/sh\ntouch {folder / MARKER}\nexit 1\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture(autouse=True)
def own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own settings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("APPDATA", str(folder / "config"))
    path = settings.user_folder() / settings.FILE
    path.parent.mkdir(parents=True)
    return path


def test_the_folder_names_no_runner(cli: CommandLine, program: str) -> None:
    Path(settings.FILE).write_text(f'[verify]\nrunner = "{program}"')
    answer = cli("verify", "digits.ek")
    assert answer.code == 2
    assert (
        "E0108 edgekit.toml in this folder sets runner in [verify]: it decides programs that run"
        in answer.err
    )
    assert "hint: edgekit --trust verify" in answer.err
    assert not MARKER.exists()


@pytest.mark.parametrize("words", [("--trust", "verify", "digits.ek"), ("verify", "digits.ek", "--trust")])
def test_trust_is_explicit(cli: CommandLine, program: str, words: tuple[str, ...]) -> None:
    Path(settings.FILE).write_text(f'[verify]\nrunner = "{program}"')
    cli(*words)
    assert MARKER.exists()


@pytest.mark.parametrize("way", ["flag", "environment", "own settings"])
def test_users_name_runners(
    cli: CommandLine, program: str, way: str, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "environment":
        monkeypatch.setenv("EDGEKIT_RUNNER", program)
    if way == "own settings":
        own.write_text(f'[verify]\nrunner = "{program}"')
    cli("verify", "digits.ek", *(("--runner", program) if way == "flag" else ()))
    assert MARKER.exists()


@pytest.mark.parametrize(
    "text",
    [
        '[tune]\ndask = "tcp://example.org:8786"',
        "[build]\nforce = true",
        '[build]\noutput = "../there"',
        '[build]\noutput = "/there"',
        '[build]\noutput = "link"',
        '[quantize]\nreport = "../page.html"',
        '[diff]\nhtml = "../page.html"',
        '[bench]\nrunner = "x"',
        '[run]\nrunner = "x"',
    ],
)
def test_the_folder_decides_no_such_thing(cli: CommandLine, text: str) -> None:
    Path("link").symlink_to(Path.cwd().parent)
    Path(settings.FILE).write_text(text)
    answer = cli("inspect", "digits.ek")
    assert answer.code == 2
    assert "E0108" in answer.err
    assert cli("--trust", "inspect", "digits.ek").code == 0


def test_the_folder_may_decide_all_else(cli: CommandLine, own: Path) -> None:
    own.write_text('[build]\noptimize = "speed"\nverify = false')
    Path(settings.FILE).write_text('[build]\noptimize = "size"\noutput = "there"\nforce = false')
    found = cli.ok("build", "digits.ek", "--json").json
    assert (found["optimize"], found["folder"], found["verification"]) == ("size", "there", None)


@pytest.mark.parametrize(
    "line", ['compilers = ["{}"]', 'runner = "{}"', 'emulator = "{}"', 'cflags = ["-fplugin={}.so"]']
)
def test_a_target_file_names_no_program(cli: CommandLine, program: str, line: str) -> None:
    Path("mine.toml").write_text(line.format(program))
    answer = cli("build", "digits.ek", "-o", "out", "--target", "mine.toml")
    assert answer.code == 2
    assert f"E0108 target file mine.toml lets this machine run {program}" in answer.err.replace(
        "-fplugin=", ""
    )
    assert not MARKER.exists()
    assert not Path("out").exists()
    assert "E0108" not in cli("build", "digits.ek", "-o", "out", "--target", "mine.toml", "--trust").err


def test_target_files_of_the_user_are_trusted(cli: CommandLine, program: str, own: Path) -> None:
    path = own.parent / "mine.toml"
    path.write_text(f'compilers = ["{program}"]')
    cli("build", "digits.ek", "-o", "out", "--target", path)
    assert MARKER.exists()


def test_a_board_needs_no_trust(cli: CommandLine) -> None:
    Path("mine.toml").write_text(
        'base = "cortex-m4"\nmemory = { ram = "64K" }\ncflags = ["-mcpu=cortex-m4", "-O3"]'
    )
    assert target.foreign_programs("mine.toml") == []
    assert cli("inspect", "digits.ek", "--target", "mine.toml").code == 0


@pytest.mark.parametrize(
    "flag",
    ["-Dmemcpy=system", "-DX=1", "-Umemcpy", "-mllvm=-load", "-mfentry-name=system", "-specs=x", "@x", "-B."],
)
def test_options_that_change_code_need_trust(folder: Path, flag: str) -> None:
    """A macro can call a function of the C library on whatever a model computes."""
    Path("mine.toml").write_text(f'base = "host"\ncflags = ["{flag}"]')
    assert target.foreign_programs("mine.toml") == [flag]


def test_a_target_file_names_no_code(cli: CommandLine, folder: Path) -> None:
    """Start code is compiled and run: only what comes with EdgeKit can be named."""
    (folder / "mine.c").write_text("int main(void) { return 0; }")
    start = (folder / "mine").as_posix()
    Path("mine.toml").write_text(f'base = "host"\nstartup = "{start}"')
    Path(settings.FILE).write_text('[build]\ntarget = "mine.toml"')
    answer = cli("build", "digits.ek", "-o", "out")
    assert answer.code == 2
    assert "E0106 target mine: unknown startup" in answer.err
    assert not Path("out").exists()


@pytest.mark.parametrize("path", [".", "", "here"])
def test_programs_of_the_working_folder_do_not_run(
    program: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PATH may have relative entries, and Windows looks into the working folder first."""
    Path("here").symlink_to(Path.cwd())
    monkeypatch.setenv("PATH", path, prepend=os.pathsep)
    assert programs.find("program") is None
    assert programs.find(program) == program
    assert programs.find("python3") == shutil.which(
        "python3", path=os.environ["PATH"].split(os.pathsep, 1)[1]
    )


def test_no_module_of_the_folder_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """python -m looks into the folder that it runs in first, such as the temporary folder of all users."""
    require_module("ziglang")
    monkeypatch.setenv("PATH", "")
    (folder / "ziglang.py").write_text(f"open('{MARKER}', 'w')")
    (folder / "ziglang").mkdir()
    (folder / "ziglang" / "__main__.py").write_text(f"open('{MARKER}', 'w')")
    compiler = toolchain.find(target.Target("mine", compilers=("zig cc",)))
    compiler.run(["--version"], folder)
    assert not MARKER.exists()


def test_each_option_that_runs_or_writes_is_marked() -> None:
    """A new option of these names without a mark fails here."""
    for command in command_line.app.registered_commands:
        assert command.callback
        for name, setting in command_line._options(command.callback).items():
            if name == "target":
                option = get_type_hints(command.callback, include_extras=True)[name].__metadata__[0]
                assert option.callback is _trusted_target, command.callback.__name__
            if name in ("runner", "dask", "python", "pythonpath"):
                assert setting.mark == settings.RUNS, command.callback.__name__
            if name in ("output", "report", "html"):
                assert setting.mark == settings.WRITES, command.callback.__name__
            if name == "force":
                assert setting.mark == settings.OVERWRITES
