"""Pyodide and its compiler for tests, where there is a network or they were brought before."""

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

from support.tools import missing, require

from scripts import pyodide as scripts


@cache
def pyodide() -> Path:
    return _brought(scripts.pyodide, "Pyodide")


@cache
def clang() -> Path:
    return _brought(scripts.clang, "Clang for WebAssembly")


def _brought(bring: Callable[[], Path], name: str) -> Path:
    require("npm")
    try:
        return bring()
    except subprocess.CalledProcessError:
        missing(name, "scripts/pyodide.py could not bring it: is there a network?")
