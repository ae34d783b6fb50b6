"""What a kernel call becomes on a GPU: a kernel, its constants, and how many work-groups."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol, cast

import numpy as np

from edgekit.codegen.gpu.ast import GpuKernel
from edgekit.core.ops import Call, Param
from edgekit.core.reasons import OwnWordsError
from edgekit.core.types import Array

# What every device grants: buffers of a kernel, items of a work-group, bytes that these share.
MAX_BUFFERS, MAX_ITEMS, MAX_SHARED = 8, 128, 16384
CONSTANTS = -1  # in the place of an operand's index: the constants of the call


class UnsupportedError(OwnWordsError):
    """There is no kernel for such a call; the words say what is lacking."""


@dataclass(frozen=True)
class GpuCall:
    """A kernel for one call. For each of its buffers, `operands` has the index of the call's operand."""

    kernel: GpuKernel
    operands: tuple[int, ...]
    values: Mapping[str, float]  # of the kernel's constants
    groups: int
    data: bytes = b""  # the constants of the call, as the kernel reads them
    # The operand that is updated in place, such as a cache that gets a row: it is not among `operands`. The
    # result holds it before the kernel runs, which writes what changes and leaves all else as it is.
    updates: int | None = None


class Family(Protocol):
    """What a file of kernels/ defines."""

    CALLS: tuple[str, ...]  # the kernels of runtime_c that it stands for

    def use(self, call: Call) -> GpuCall: ...


def use_of(call: Call) -> GpuCall:
    """The kernel for a call; UnsupportedError where there is none."""
    family = _families().get(call.kernel)
    if family is None:
        raise UnsupportedError(
            "loops stay on the CPU" if call.kernel == "while" else f"no kernel {call.kernel}"
        )
    found = family.use(call)
    kernel = found.kernel
    names = {c.text for c in kernel.constants}
    assert names == found.values.keys(), f"{kernel.name}: {names ^ found.values.keys()}"
    assert len(found.operands) == len(kernel.buffers) <= MAX_BUFFERS, f"{kernel.name} has too many buffers"
    assert found.updates not in found.operands, f"{kernel.name} reads what it updates"
    assert kernel.group <= MAX_ITEMS, f"{kernel.name} has too many items in a group"
    shared = sum(memory.size * memory.kind.bytes for memory in kernel.shared)
    assert shared <= MAX_SHARED, f"the items of {kernel.name} share {shared} bytes"
    return found


@cache
def _families() -> Mapping[str, Family]:
    """The file for each kernel of runtime_c: what lies in the folder is known."""
    package = "edgekit.codegen.gpu.kernels"
    found: dict[str, Family] = {}
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if module.name.startswith("_"):
            continue
        family = cast(Family, importlib.import_module(f"{package}.{module.name}"))
        found |= dict.fromkeys(family.CALLS, family)
    return found


class ConstantBuffer:
    """Constants of a call, one behind the other; each starts at a multiple of 16 bytes."""

    def __init__(self) -> None:
        self.bytes = b""

    def add(self, array: Array) -> int:
        """Where it starts, in bytes."""
        at = len(self.bytes)
        raw = np.ascontiguousarray(array).tobytes()
        self.bytes += raw + b"\0" * (-len(raw) % 16)
        return at


def constant_of(call: Call, i: int) -> Array:
    """An operand that must be known."""
    data = call.args[i].value.data
    if data is None:
        raise UnsupportedError(f"computed operands of {call.kernel}")
    return data


def integer(call: Call, name: str) -> int:
    value = call.params[name]
    assert isinstance(value, int | np.integer), f"{name} is no integer"
    return int(value)


def integers(call: Call, names: str) -> dict[str, float]:
    """Parameters as constants of the same names."""
    return {name: integer(call, name) for name in names.split()}


def listed(call: Call, name: str) -> Sequence[int]:
    value = call.params[name]
    assert isinstance(value, tuple | list), f"{name} is no list"
    return [int(v) for v in value]


def numbered(call: Call, names: str) -> dict[str, float]:
    """Lists as constants name_0, name_1, ..."""
    return {f"{name}_{i}": v for name in names.split() for i, v in enumerate(listed(call, name))}


def real(call: Call, name: str) -> float:
    value: Param = call.params[name]
    assert isinstance(value, int | float | np.number), f"{name} is not a number"
    return float(value)


def groups_for(items: int, group: int = 64) -> int:
    """Work-groups for so many items."""
    return max(1, -(-items // group))
