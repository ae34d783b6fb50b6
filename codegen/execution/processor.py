"""What the processor of this machine can do, as far as EDGEKIT_CPU shows it, and the best target for it."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path

from edgekit.core import suggest
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Target

VARIABLE = "EDGEKIT_CPU"
_BASE = "x86-64"
_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}
_AVX2 = 40  # as Windows counts features; what target x86-64-avx2 asks for besides, AVX2 of Intel and AMD has


def system() -> str:
    """The system of this machine, as target files name it."""
    return _SYSTEMS.get(sys.platform, sys.platform)


def flags() -> frozenset[str]:
    """Its features, as its system names them; nothing where that is not said. EDGEKIT_CPU=avx2 hides what
    target x86-64-avx2 does not ask for, so that other programs run as they do on a processor without it."""
    shown = os.environ.get(VARIABLE)
    return _flags() & _level(shown) if shown else _flags()


def runs(target: Target) -> bool:
    """Does this processor itself run programs of a target that say what they need?"""
    return target.system in ("", system()) and flags().issuperset(target.cpu_flags)


def native() -> Target:
    """The target with the most features of this processor whose programs run on it, of equal ones that for
    its system, and not for a kind of it. Where no target asks for any, host."""
    every = (t for t in map(targets.load, targets.names()) if not t.gpu)
    own = (t for t in every if (t.system or t.runner == "native") and runs(t))
    return max(own, key=lambda t: (len(t.cpu_flags), bool(t.system), t.core == t.name))


def load(name: str) -> Target:
    """The target of this name, which may be native."""
    return native() if name == targets.NATIVE else targets.load(name)


@cache
def levels() -> tuple[str, ...]:
    """What EDGEKIT_CPU may be: x86-64, which has SSE2 alone, and targets for more, without that word."""
    return tuple(name.removeprefix(f"{_BASE}-") for name in targets.names() if name.startswith(_BASE))


@cache
def _level(name: str) -> frozenset[str]:
    if name not in levels():
        raise EdgeKitError("E0106", f"{VARIABLE} is {name}", hint=suggest.hint(name, levels()))
    target = targets.load(_BASE if name == _BASE else f"{_BASE}-{name}")
    return frozenset((*target.cpu_flags, *targets.load(_BASE).cpu_flags))


@cache
def _flags() -> frozenset[str]:
    match system():
        case "linux":
            return features(_text(Path("/proc/cpuinfo")))
        case "macos":
            return settings_of_macos(_said("sysctl", "hw.optional", "machdep.cpu"))
        case "windows":
            return of_windows(platform.machine())
    return frozenset()


def features(cpuinfo: str) -> frozenset[str]:
    """What all processors of a machine have, as Linux says it: x86 `flags`, ARM `Features`, RISC-V `isa`."""
    found = []
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            found.append(frozenset(value.split()))
        elif name.strip() == "isa":
            found.append(_extensions(value.strip()))
    return frozenset.intersection(*found) if found else frozenset()


def _extensions(isa: str) -> frozenset[str]:
    """Of RISC-V: rv64imafdcv_zicsr is rv64, the letters, and zicsr. Kernels that name the modes s and u in it
    are older than vectors 1.0: their v is a draft."""
    first, *names = isa.split("_")
    letters = set(first[4:])
    return frozenset((first[:4], *names, *(letters - {"v"} if "u" in letters else letters)))


def settings_of_macos(said: str) -> frozenset[str]:
    """What sysctl says that is there: hw.optional.arm.FEAT_DotProd: 1, machdep.cpu.features: SSE2 FMA"""
    found: set[str] = set()
    for line in said.splitlines():
        name, _, value = line.partition(": ")
        if name.endswith("features"):
            found |= set(value.lower().split())
        elif value.strip() == "1":
            found.add(name.rpartition(".")[2])
    return frozenset(found)


def of_windows(machine: str) -> frozenset[str]:
    if machine.upper() != "AMD64":
        return frozenset(("asimd",) if machine.upper() == "ARM64" else ())
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 - mypy knows no windll on other systems
    more = targets.load(f"{_BASE}-avx2").cpu_flags if kernel.IsProcessorFeaturePresent(_AVX2) else ()
    return frozenset((*targets.load(_BASE).cpu_flags, *more))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
