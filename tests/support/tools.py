"""What a test needs beside Python: programs, packages and reference files; without them it skips or fails.

A missing program or package skips the test with a message. Where EDGEKIT_REQUIRE_TOOLS=1 says that everything
is installed, as .ci/run does, it fails the test instead, so that no check is ever lost unnoticed. Reference
files in ../shared are not part of the project: without them their tests always skip.
"""

import importlib
import os
import platform
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}  # as Debian calls them
# Programs of the Python environment that no package brings.
_MADE_BY = {"qemu-aarch64-sme": "scripts/test"}


def require(tool: str) -> str:
    """Path of a program: one of this Python environment, or one that scripts/tools.txt names."""
    beside_python = Path(sys.executable).parent / tool
    found = str(beside_python) if beside_python.exists() else shutil.which(tool)
    if found is None:
        packages, is_here = _packages(tool)
        if not is_here:
            pytest.skip(f"{tool} is not for {platform.machine()} (Debian: {packages})")
        missing(tool, f"Debian: {packages}" if packages else _MADE_BY.get(tool, "pip install -e .[dev]"))
    return found


def require_module(name: str) -> ModuleType:
    """A Python package that one of the extras brings."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        missing(name, "pip install -e .[toolchain,emulate,torch,dask,bench,docs,dev]")


def require_shared(path: str = "") -> Path:
    """A file or folder of ../shared, which lies beside some checkouts."""
    if not (SHARED / path).exists():
        pytest.skip(f"needs ../shared/{path} beside the checkout")
    return SHARED / path


@cache
def debian_packages() -> Mapping[str, str]:
    """The packages that bring each program, from the table that scripts/test installs."""
    rows = (line.split(maxsplit=1) for line in (ROOT / "scripts/tools.txt").read_text().splitlines())
    return {row[0]: row[1] for row in rows if row and not row[0].startswith("#")}


def _packages(tool: str) -> tuple[str, bool]:
    """The packages that bring a program, and whether there are any for this machine: libc6-i386 [amd64]."""
    names, _, machine = debian_packages().get(tool, "").rstrip("]").partition(" [")
    is_named = machine.removeprefix("!") == _MACHINES.get(platform.machine(), "")
    return names, not machine or is_named != machine.startswith("!")


def missing(what: str, hint: str) -> NoReturn:
    """Skip the test, or fail it where everything must be there."""
    message = f"{what} is not installed ({hint})"
    if os.environ.get("EDGEKIT_REQUIRE_TOOLS") == "1":
        pytest.fail(f"{message}, and EDGEKIT_REQUIRE_TOOLS=1 requires it", pytrace=False)
    pytest.skip(message)
