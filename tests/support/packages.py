"""Wheels and sdists of the checkout, built from copies of it: building leaves files behind."""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from support.tools import ROOT

_SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
# What an sdist is made of; links in edgekit/ lead to the examples and a page.
_FOLDERS = (*_SETUPTOOLS["package-dir"].values(), "examples")
_FILES = (
    "pyproject.toml",
    "MANIFEST.in",
    "README.md",
    "LICENSE",
    "setup.py",
    "scripts/build_backend.py",
    "docs/errors.md",
)


def copied(folder: Path, *, links: bool = True) -> Path:
    """A copy of what git would give, on Windows without links: a file with a path stands in their place."""
    for name in _FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for name in _FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignored)
    for path in (folder / "edgekit").iterdir():
        if path.is_symlink() and not links:
            target = path.readlink()
            path.unlink()
            path.write_text(target.as_posix())
    return folder


def built(
    source: Path, folder: Path, *, umask: int = -1, environment: Mapping[str, str] | None = None
) -> None:
    """Build the wheel and the sdist into a folder."""
    arguments = ("-m", "build", "--no-isolation", "--wheel", "--sdist", "--outdir", str(folder), str(source))
    python(*arguments, umask=umask, environment=environment)


def built_elsewhere(place: Path, folder: Path) -> None:
    """The same from another folder, without links, at another time, for a user whose files are private."""
    source = copied(place / "source", links=False)
    for path in [source, *source.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o700)
            os.utime(path, (1_000_000_000, 1_000_000_000))
    built(source, folder, umask=0o077, environment={"TZ": "Asia/Tokyo", "LC_ALL": "C"})


def python(*arguments: str, umask: int = -1, environment: Mapping[str, str] | None = None) -> None:
    variables = {**os.environ, **(environment or {})}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, umask=umask, env=variables)
    assert done.returncode == 0, done.stdout + done.stderr
