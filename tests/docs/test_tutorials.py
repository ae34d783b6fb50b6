"""Tutorials: files are written and commands run as each page shows them, and print what it says."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.tools import ROOT, require, require_module

PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
NEEDS = {"pytorch-to-board": ("torch", "sklearn")}
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def steps(page: Path) -> Iterator[tuple[str, str]]:
    """The commands of a page with what they print, and "write NAME" with the text of a file."""
    for kind, name, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "console":
            for command in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, _, expected = command.partition("\n")
                yield line, expected
        elif name:
            yield f"write {name}", text


def run(cli: CommandLine, words: list[str]) -> str:
    """What a command prints; ours run in this process."""
    if words[0] == "edgekit":
        return cli.ok(*words[1:]).out
    program = sys.executable if words[0] == "python" else require(words[0])
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([program, *words[1:]], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_step_does_what_the_page_says(page: Path, cli: CommandLine, folder: Path) -> None:
    require("qemu-system-arm")
    require_module("ziglang")
    for module in NEEDS.get(page.stem, ()):
        require_module(module)
    (folder / "examples").symlink_to(ROOT / "examples")
    seen = []
    for line, expected in steps(page):
        words = shlex.split(line)
        if words[0] == "write":
            Path(words[1]).write_text(expected, encoding="utf-8")
            continue
        printed = run(cli, words)
        seen.append(line)
        assert doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS), (
            f"$ {line}\n{printed}"
        )
    assert len(seen) > 3


def test_every_tutorial_is_listed() -> None:
    pages = [f"tutorials/{page.name}" for page in PAGES]
    for name in ("README.md", "mkdocs.yml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert [page for page in pages if page not in text] == []
