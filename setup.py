"""Finds the packages, which setuptools cannot where `package-dir` maps folders, and follows links."""

import tomllib
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).parent
FOLDERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]


class Follow:
    """Copies what a link leads to. On Windows, git writes it as a file that holds the path."""

    def copy_file(self, source: str, *args: Any, **options: Any) -> Any:
        head = Path(source).read_bytes()[:100]
        if head.startswith(b"../") and (target := Path(source).parent / head.decode().strip()).is_file():
            source = str(target)
        return super().copy_file(source, *args, **options)  # type: ignore[misc]


class Build(Follow, build_py):  # type: ignore[misc]
    pass


class Source(Follow, sdist):  # type: ignore[misc]
    pass


setup(
    packages=sorted(
        ".".join((package, *path.parent.relative_to(ROOT / folder).parts))
        for package, folder in FOLDERS.items()
        for path in (ROOT / folder).rglob("__init__.py")
    ),
    cmdclass={"build_py": Build, "sdist": Source},
)
