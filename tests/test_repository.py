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
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    paths = [ROOT / name for name in sorted(listing.split("\0")) if name]
    return tuple(path for path in paths if path.is_file() and not path.is_symlink() and is_text(path))


def is_text(path: Path) -> bool:
    with path.open("rb") as file:
        return b"\0" not in file.read(8192)


def with_suffix(*suffixes: str) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in files() if path.suffix in suffixes]


@pytest.mark.parametrize("name", with_suffix(".py"))
def test_python_file_opens_with_one_sentence(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    first = re.sub(r"\A#!.*\n", "", text).partition("\n")[0]
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring, "the first line says what the file is"
    assert first.startswith('"""'), "nothing but #! stands before the docstring"
    sentence, _, rest = docstring.partition("\n")
    assert not rest or rest.startswith("\n"), "the first sentence fits on one line, an empty line follows"
    assert sentence.endswith((".", "?")) or "=" in sentence, (
        "a sentence ends with a point, unless it is a formula"
    )
    assert not re.search(r"[a-z)]\. [A-Z]", sentence), "one sentence, the others go below"


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
