"""Finds the packages: setuptools cannot where `package-dir` maps folders."""

import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
FOLDERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]

setup(
    packages=sorted(
        ".".join((package, *path.parent.relative_to(ROOT / folder).parts))
        for package, folder in FOLDERS.items()
        for path in (ROOT / folder).rglob("__init__.py")
    )
)
