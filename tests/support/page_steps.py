"""Steps that a page shows with the text of each file, and a copy of the repository in which they are done."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

from support.tools import ROOT, require

_INCLUDE = re.compile(r"^#include", re.MULTILINE)


def section(page: str, heading: str) -> str:
    """What stands below a heading of second level."""
    found = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"no heading {heading!r}"
    return found[1]


def files(text: str) -> dict[str, str]:
    """Path -> text of each file that the steps show: the path is the last one named before the block."""
    found: dict[str, str] = {}
    parts = re.split(r"^( *)```\w+\n(.*?)^ *```$", text, flags=re.MULTILINE | re.DOTALL)
    for prose, block in zip(parts[0::3], parts[2::3], strict=False):
        path = re.findall(r"`([\w/-]+/[\w.-]+\.\w+)`", prose)[-1]
        assert path not in found, f"{path} is shown twice"
        found[path] = textwrap.dedent(block)
    return found


def copied(folder: Path) -> Path:
    """A copy of everything that is in git or about to be, and of its bytecode, so that processes compile only
    what the steps change. Python knows bytecode by the time of its source, which is copied, too."""
    command = [require("git"), "-c", f"safe.directory={ROOT}", "ls-files", "-z", "-co", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if os.path.lexists(ROOT / name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    for cache in {(ROOT / name).parent / "__pycache__" for name in names if name.endswith(".py")}:
        if cache.is_dir():
            unfinished = shutil.ignore_patterns("*.pyc.*")  # of another process
            shutil.copytree(cache, folder / cache.relative_to(ROOT), ignore=unfinished)
    return folder


def follow(steps: Mapping[str, str], folder: Path) -> None:
    """Write the files of the steps; a comment with @as goes to those at the head of a kernel's file."""
    for path, text in steps.items():
        if re.fullmatch(r"/\*((?!\*/).)*@as ((?!\*/).)*\*/\n", text, re.DOTALL):
            old = (folder / path).read_text(encoding="utf-8")
            text = _INCLUDE.sub(lambda found, more=text: more + found[0], old, count=1)
        else:
            assert not (folder / path).exists(), f"{path} is there already: choose another example"
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def python(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """In a process that sees the copy instead of what is installed."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    everything = own | {"PYTHONPATH": f"{folder}{os.pathsep}{folder / 'tests'}"} | dict(environment or {})
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=everything)


def pytest_in(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """pytest in the copy, quietly."""
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)
    return python(folder, *words, environment=environment)


def rules(steps: Mapping[str, str], folder: Path) -> None:
    """The files keep the rules that pre-commit checks."""
    sources = [name for name in steps if name.endswith(".py")]
    headers = [name for name in steps if name.endswith((".c", ".h"))]
    for command in (
        ["ruff", "check", "--no-cache", *sources],
        ["ruff", "format", "--no-cache", "--check", *sources],
        ["clang-format", "--dry-run", "--Werror", *headers],
    ):
        done = subprocess.run([require(command[0]), *command[1:]], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
