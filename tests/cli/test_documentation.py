"""The examples of docs/cli.md give what the page shows."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.tools import ROOT, require, require_module

from edgekit import cli as command_line
from edgekit.core import target as targets
from edgekit.core.errors import Exit

PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_console_examples(cli: CommandLine, dynamic: Path) -> None:
    require("gcc")
    require("qemu-system-arm")
    require_module("ziglang")
    checker = doctest.OutputChecker()
    examples = [example for block in blocks("console") for example in block.split("$ ")[1:]]
    assert len(examples) > 6
    for example in examples:
        line, _, expected = example.partition("\n")
        program, *words = shlex.split(line)
        assert program == "edgekit"
        answer = cli(*words)
        said = answer.out + answer.err
        assert checker.check_output(expected, said, doctest.ELLIPSIS), f"{line}\n{said}"


def test_settings_and_target_examples(cli: CommandLine) -> None:
    target, settings = sorted(blocks("toml"), key=lambda text: "[" in text)
    Path("edgekit.toml").write_text(settings)
    cli.ok("targets")
    Path("board.toml").write_text(target)
    assert targets.load("board.toml").memory["ram"] == 96 << 10


def test_python_example(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require("gcc")
    text = "\n".join(blocks("python"))
    exec(compile(text, "docs/cli.md", "exec"), {})
    macs, flash = capsys.readouterr().out.splitlines()
    assert macs == "173760 4512"
    assert all(float(number) > 0 for number in flash.split())


def test_every_command_is_described() -> None:
    described = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert described == {c.callback.__name__ for c in command_line.app.registered_commands if c.callback}


def test_every_exit_code_is_described() -> None:
    described = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert set(Exit) < described
