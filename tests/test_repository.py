"""The files of the repository keep the rules that a machine can check."""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from support.tools import ROOT, require

SOURCES = {".py", ".c", ".h", ".j2", ".js", ".mjs", ".fbs", ".toml", ".sh", ""}
LINE_LIMIT = 600


@cache
def files() -> tuple[Path, ...]:
    """Text files that are in git or about to be; the links of the package lead to files of this list."""
    listing = subprocess.run(
        [
            require("git"),
            "-c",
            f"safe.directory={ROOT}",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    paths = [ROOT / name for name in sorted(listing.split("\0")) if name]
    return tuple(path for path in paths if path.is_file() and not path.is_symlink() and is_text(path))


def is_text(path: Path) -> bool:
    if "samples" in path.parts:  # what frameworks wrote: some of it has no zero byte, and is no text
        return False
    with path.open("rb") as file:
        return b"\0" not in file.read(8192)


def with_suffix(*suffixes: str) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in files() if path.suffix in suffixes]


def test_python_files_open_with_one_sentence() -> None:
    faults = {name: opening_fault((ROOT / name).read_text(encoding="utf-8")) for name in with_suffix(".py")}
    assert {name: fault for name, fault in faults.items() if fault} == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('"""Says what it is."""', None),
        ('"""Says what it is.\n\nAnd why. In more sentences."""', None),
        ('#!/usr/bin/env python3\n"""y = clamp(x @ w.T + b, lo, hi)"""', None),
        ("x = 1", "no docstring"),
        ('# A comment.\n"""Says what it is."""', "something stands before the docstring"),
        ('"""Says what\nit is."""', "the first sentence does not fit on one line"),
        ('"""Says what it is. And more."""', "more than one sentence on the first line"),
        ('"""Title case"""', "no sentence"),
    ],
)
def test_faults_of_an_opening_are_seen(text: str, fault: str | None) -> None:
    assert opening_fault(text) == fault


def opening_fault(text: str) -> str | None:
    """What is wrong with the first line of a Python file, if anything; a formula counts as a sentence."""
    sentence, _, rest = (ast.get_docstring(ast.parse(text)) or "").partition("\n")
    if not sentence:
        return "no docstring"
    if not re.sub(r"\A#!.*\n", "", text).startswith('"""'):
        return "something stands before the docstring"
    if rest and not rest.startswith("\n"):
        return "the first sentence does not fit on one line"
    if re.search(r"[a-z)]\. [A-Z]", sentence):
        return "more than one sentence on the first line"
    return None if sentence.endswith((".", "?")) or "=" in sentence else "no sentence"


def test_no_file_is_too_long() -> None:
    code = (path for path in files() if path.suffix in SOURCES and path.name != "LICENSE")
    lengths = {path: path.read_bytes().count(b"\n") for path in code if "golden" not in path.parts}
    assert not {str(path): lines for path, lines in lengths.items() if lines > LINE_LIMIT}


def test_no_path_of_one_machine() -> None:
    machine = re.compile(r"(?<![\w./-])/(?:root|home/\w+|Users/\w+|work)/")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if machine.search(line)
    ]
    assert not found


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "--quiet", "--output-format=concise"],
        ["ruff", "format", "--check", "--quiet"],
        ["mypy", "--no-error-summary"],
    ],
    ids=["ruff check", "ruff format", "mypy --strict"],
)
def test_python_is_clean(command: list[str]) -> None:
    passes([require(command[0]), *command[1:]])


def test_c_is_formatted() -> None:
    program = require("clang-format")
    if names := with_suffix(".c", ".h"):
        passes([program, "--dry-run", "--Werror", *names])


def passes(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        said = (done.stdout + done.stderr).splitlines()
        more = [f"... and {len(said) - 100} more lines"] if len(said) > 100 else []
        pytest.fail("\n".join([*said[:100], *more]), pytrace=False)
