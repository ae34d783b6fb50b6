"""Finds the packages, which setuptools cannot where `package-dir` maps folders, and follows links."""

import tomllib
from pathlib import Path
from typing import Any

from setuptools import Command, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).parent
FOLDERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]


def following_links(command: type[Command]) -> type[Command]:
    """The command, which copies what a link leads to: on Windows, git writes a file that holds the path."""
    copy_file = command.copy_file

    def copied(self: Command, source: str, *args: Any, **options: Any) -> Any:
        head = Path(source).read_bytes()[:100]
        if head.startswith(b"../") and (target := Path(source).parent / head.decode().strip()).is_file():
            source = str(target)
        return copy_file(self, source, *args, **options)

    return type(command.__name__, (command,), {"copy_file": copied})


setup(
    packages=sorted(
        ".".join((package, *path.parent.relative_to(ROOT / folder).parts))
        for package, folder in FOLDERS.items()
        for path in (ROOT / folder).rglob("__init__.py")
    ),
    cmdclass={"build_py": following_links(build_py), "sdist": following_links(sdist)},
)
