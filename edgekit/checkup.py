"""What is installed here: Python, packages, compilers, and what each target can do with them."""

from __future__ import annotations

import platform
import re
import subprocess
import tempfile
from dataclasses import dataclass
from importlib import metadata

import edgekit
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution.runner import NATIVE, here, why_not_verified
from edgekit.core import distribution
from edgekit.core import target as target_files
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Target

_REQUIREMENT = re.compile(r"([\w.-]+)(?:.*extra == ['\"](\w+)['\"])?")
# Tools for changing EdgeKit: its users do without them.
_EXTRAS_FOR_DEVELOPERS = {"dev", "bench"}


@dataclass(frozen=True)
class InstalledPackage:
    """A Python package that EdgeKit uses."""

    name: str
    version: str  # empty where it is not installed
    extra: str  # the extra that brings it, empty for those that every installation has


@dataclass(frozen=True)
class TargetStatus:
    """What can be done for a target on this machine; C is written for all of them, everywhere."""

    name: str
    compiler: str  # empty: none, the C cannot be compiled and measured here
    compiler_version: str
    runs_here: bool  # and so can be verified
    emulator: str  # what runs its programs here; empty where this machine does it itself
    hint: str


@dataclass(frozen=True)
class Checkup:
    """The state of an installation."""

    edgekit: str
    python: str
    machine: str
    packages: tuple[InstalledPackage, ...]
    targets: tuple[TargetStatus, ...]


def doctor() -> Checkup:
    """Look at this machine."""
    return Checkup(
        edgekit=edgekit.__version__,
        python=platform.python_version(),
        machine=f"{platform.system()} {platform.machine()}",
        packages=tuple(_packages()),
        targets=tuple(_status(target_files.load(name)) for name in target_files.names()),
    )


def _packages() -> list[InstalledPackage]:
    """The requirements that the installed EdgeKit states."""
    found = []
    for requirement in metadata.requires(distribution.NAME) or ():
        match = _REQUIREMENT.match(requirement)
        assert match, f"requirement {requirement!r} has no name"
        if match[2] not in _EXTRAS_FOR_DEVELOPERS:
            found.append(InstalledPackage(match[1], _version(match[1]), match[2] or ""))
    return found


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _status(target: Target) -> TargetStatus:
    try:
        compiler = toolchain.find(target)
    except EdgeKitError as error:
        return TargetStatus(target.name, "", "", False, "", error.hint)
    reason, runs_by = why_not_verified(target), here(target).runner
    emulator = "" if reason or runs_by == NATIVE else runs_by
    return TargetStatus(
        target.name,
        compiler.name,
        _first_line(compiler),
        not reason,
        emulator,
        reason,
    )


def _first_line(compiler: toolchain.Compiler) -> str:
    """What a compiler says of itself."""
    said = subprocess.run(
        [*compiler.argv, "--version"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tempfile.gettempdir(),
    )
    return said.stdout.partition("\n")[0]
