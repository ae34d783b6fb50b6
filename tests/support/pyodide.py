"""Pyodide for tests, where there is a network or it was brought before."""

import subprocess
from functools import cache
from pathlib import Path

from support.tools import missing, require

from scripts import pyodide as scripts


@cache
def pyodide() -> Path:
    require("npm")
    try:
        return scripts.pyodide()
    except subprocess.CalledProcessError:
        missing("Pyodide", "scripts/pyodide.py could not bring it: is there a network?")
