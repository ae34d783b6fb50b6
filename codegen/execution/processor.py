"""What the processor of this machine can do, as far as EDGEKIT_CPU shows it, and the best target for it."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from edgekit.core import suggest
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Target

VARIABLE = "EDGEKIT_CPU"
_BASE = "x86-64"


def flags() -> frozenset[str]:
    """Its features, as Linux names them; nothing where that is not said. EDGEKIT_CPU=avx2 hides what target
    x86-64-avx2 does not ask for, so that other programs run as they do on a processor without it."""
    shown = os.environ.get(VARIABLE)
    return _flags() & _level(shown) if shown else _flags()


def native() -> Target:
    """The target with the most features of this processor whose programs run on it; where no target asks for
    any, host."""
    own = (t for t in map(targets.load, targets.names()) if t.runner == "native" and not t.gpu)
    return max((t for t in own if flags().issuperset(t.cpu_flags)), key=lambda t: len(t.cpu_flags))


def load(name: str) -> Target:
    """The target of this name, which may be native."""
    return native() if name == targets.NATIVE else targets.load(name)


@cache
def levels() -> tuple[str, ...]:
    """What EDGEKIT_CPU may be: the targets for x86-64, without that word."""
    return tuple(n.removeprefix(f"{_BASE}-") for n in targets.names() if n.startswith(f"{_BASE}-"))


@cache
def _level(name: str) -> frozenset[str]:
    if name not in levels():
        raise EdgeKitError("E0106", f"{VARIABLE} is {name}", hint=suggest.hint(name, levels()))
    return frozenset(targets.load(f"{_BASE}-{name}").cpu_flags) | frozenset(targets.load(_BASE).cpu_flags)


@cache
def _flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return frozenset()
    lines = (line for line in text.splitlines() if line.startswith("flags"))
    return frozenset(next(lines, "").partition(":")[2].split())
