"""README.md and those of the examples: their commands work, and what they say of files and numbers is so."""

import contextlib
import os
import re
import shlex
import struct
import subprocess
import sys
import tomllib
from io import StringIO
from pathlib import Path

import pytest
from support.tools import ROOT, require, require_module

from edgekit import cli
from edgekit.converters.onnx.check import OLDEST_OPSET
from edgekit.core.errors import Exit
from scripts import pictures

PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXAMPLES = sorted(path.parent.name for path in ROOT.glob("examples/*/README.md"))


def commands(page: str) -> list[str]:
    """The indented lines: what a reader would type."""
    return re.findall(r"^    (\S.*)$", page, re.MULTILINE)


def shell(line: str, folder: Path) -> str:
    """What a command prints. Ours runs in this process, which keeps what compilers make; of other programs,
    those of this environment come first."""
    if line.startswith("edgekit "):
        out, err = StringIO(), StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.execute(shlex.split(line, comments=True)[1:])
        assert code == 0, f"{line}\n{out.getvalue()}{err.getvalue()}"
        return out.getvalue()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        line, shell=True, cwd=folder, capture_output=True, text=True, env=os.environ | {"PATH": path}
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "model.onnx").symlink_to(ROOT / "examples" / "keywords" / "keywords.onnx")
    (tmp_path / "calib.npz").symlink_to(ROOT / "examples" / "keywords" / "calib.npz")
    return tmp_path


def test_every_command_is_one_of_these() -> None:
    """The scripts make environments, which other tests do; `edgekit` runs below."""
    programs = {line.split()[0] for line in commands(PAGE)}
    assert programs == {"scripts/demo", "scripts/test", "pip", "edgekit"}
    assert all(os.access(ROOT / name, os.X_OK) for name in programs if name.startswith("scripts/"))


def test_the_commands_work(folder: Path) -> None:
    require_module("ziglang")
    require("qemu-system-arm")
    lines = pictures.commands()
    assert len(lines) > 2
    scenes = [pictures.Scene(line, tuple(shell(line, folder).splitlines())) for line in lines]
    shown = pictures.shape(pictures.TERMINAL.read_text(encoding="utf-8"))
    assert shown == pictures.shape(pictures.terminal(scenes)), "run scripts/pictures.py"


def test_pictures_come_first() -> None:
    """The terminal before the first heading and the first block of code, the report before the tables."""
    start = PAGE[: PAGE.index("\n| ")]
    links = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", start)
    assert [Path(link).name for link in links] == ["terminal.svg", "report.png"]
    before = PAGE[: PAGE.index(links[0])]
    assert "\n## " not in before
    assert "```" not in before


def test_pictures_are_small() -> None:
    assert pictures.TERMINAL.stat().st_size < 50_000
    assert pictures.REPORT.stat().st_size < 200_000
    width, height = struct.unpack(">II", pictures.REPORT.read_bytes()[16:24])
    assert (width, height) == pictures.REPORT_SIZE


def test_the_function_that_is_shown_compiles(folder: Path) -> None:
    (text,) = re.findall(r"^```c\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    shell("edgekit build examples/digits/digits.onnx --no-verify -o digits", folder)
    (folder / "shown.c").write_text(text)
    shell(f"{require('cc')} -std=c99 -Wall -Wextra -Wpedantic -Werror -Idigits -c shown.c", folder)


def test_the_table_of_files_is_complete(folder: Path) -> None:
    table = PAGE.partition("| file |")[2].partition("\n\n")[0]
    named = re.findall(r"`((?:kws|edgekit|CMake)[\w.]*)/?`", table)
    written: set[str] = set()
    for weights in ("c", "bin"):
        command = (
            f"edgekit build model.onnx --name kws --target host --no-verify -o {weights} --weights {weights}"
        )
        shell(command, folder)
        written |= {path.name for path in (folder / weights).iterdir()}
    assert written == set(named) - {"kws"}  # the target of CMake


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_commands_of_an_example_work(name: str, folder: Path) -> None:
    require("cc")
    page = (ROOT / "examples" / name / "README.md").read_text(encoding="utf-8")
    said = [shell(line, folder) for line in commands(page)]
    for example in re.findall(r"such as `(.*?)`", page):
        assert example in said[-1].splitlines()
    assert len(said[-1].splitlines()) > 3


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_table_of_an_example_is_complete(name: str) -> None:
    page = (ROOT / "examples" / name / "README.md").read_text(encoding="utf-8")
    described = set(re.findall(r"^\| `([\w.]+)` \|", page, re.MULTILINE))
    there = {path.name for path in (ROOT / "examples" / name).iterdir() if path.is_file()}
    assert described == there - {"README.md", "__init__.py"}


def test_tables_are_what_their_script_writes() -> None:
    command = [sys.executable, ROOT / "scripts" / "readme.py", "--check"]
    assert subprocess.run(command).returncode == 0, "run scripts/readme.py"


def test_the_list_of_integer_forms_is_what_its_script_writes() -> None:
    command = [sys.executable, ROOT / "scripts" / "integer_forms.py", "--check"]
    assert subprocess.run(command).returncode == 0, "run scripts/integer_forms.py"


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", PAGE)
    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_other_number_is_derived() -> None:
    """A number that is new here needs a source."""
    text = re.sub(r"<!-- (\w+): scripts/readme.py -->.*?<!-- end of \1 -->", "", PAGE, flags=re.DOTALL)
    found = re.findall(r"(?<![\w.-])\d[\d.,]*\d|(?<![\w.-])\d(?!\w)", text)
    known = {
        PROJECT["requires-python"].removeprefix(">="),
        PROJECT["version"].rpartition(".")[0],
        str(OLDEST_OPSET),
        *(str(code.value) for code in Exit),
    }
    assert set(found) == known


def test_extras_are_those_of_the_package() -> None:
    """Those of users: the others are for who works on EdgeKit."""
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert named == set(PROJECT["optional-dependencies"]) - {"bench", "rivals", "docs", "dev"}
