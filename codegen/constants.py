"""The constants of a library: arrays in flash, or at places of a blob that runs are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from weakref import WeakValueDictionary

import numpy as np

from edgekit.codegen.kernels.pack import is_tiled, pack
from edgekit.codegen.printing.names import LONGEST, identifier, readable
from edgekit.core.types import Array, DType, Type, Value

BLOB_HEADER = 32  # bytes in front of the constants that a run is given


@dataclass(frozen=True)
class Constant:
    """An array in flash."""

    c: str
    name: str  # the edge it comes from
    dtype: DType
    data: Array  # flat, in the kernel's layout
    type: Type  # in the model
    layout: str = ""  # as the kernel's file states it; empty: as the tensor lies
    aligned: bool = False  # as tensors are: a kernel loads several elements at once
    offset: int = 0  # in the blob, where runs are given one
    note: str = ""  # what it is, where lowering made it of a tensor
    unpacked: Array = field(default_factory=lambda: np.empty(0))  # as the call has it
    groups: int = 1  # of the call


class _Owner(Protocol):
    """A program whose constants others share."""

    @property
    def name(self) -> str: ...

    @property
    def constants(self) -> tuple[Constant, ...]: ...


def padded(size: int, align: int) -> int:
    """Bytes that something takes where the next thing is aligned."""
    return size + -size % align


# Packed constants of programs that exist. A model is planned again with a change to one layer while its
# plan is at hand.
_PACKED: WeakValueDictionary[tuple[object, ...], Array] = WeakValueDictionary()


def _packed(tag: str, value: Value, groups: int) -> Array:
    assert value.data is not None
    key = (tag, groups, value.type.dtype, value.type.shape, value.digest)
    if (known := _PACKED.get(key)) is None:
        known = _PACKED[key] = pack(tag, value.data, groups)
        known.flags.writeable = False
    return known


class ConstantPool:
    """The constants that calls use, once per layout; equal data share an array."""

    def __init__(self, prefix: str, taken: set[str], beside: Sequence[_Owner], align: int) -> None:
        self.prefix = prefix
        self.align = align
        self.end = padded(BLOB_HEADER, align)  # of a blob of all constants
        for other in (c for p in beside for c in p.constants):
            self.end = max(self.end, other.offset + padded(max(other.data.nbytes, 1), align))
        self.taken = taken
        self.shared = {
            (c.dtype, c.data.tobytes()): (p.name, c) for p in reversed(beside) for c in p.constants
        }
        self.taken |= {c.c for _, c in self.shared.values()}
        self.borrowed: dict[str, dict[str, Constant]] = {}  # used, by program and name
        self.found: dict[tuple[DType, bytes], Constant] = {}
        self._by_layout: dict[tuple[str, str, int], tuple[DType, bytes]] = {}

    def get(self, name: str, value: Value, tag: str, groups: int, note: str = "") -> Constant:
        layout = (name, tag, groups)
        if layout not in self._by_layout:
            assert value.data is not None
            data = _packed(tag, value, groups) if tag else value.data.reshape(-1)
            dtype = DType.of(data.dtype)
            key = (dtype, data.tobytes())
            owner, other = self.shared.get(key, ("", None))
            if other and (other.aligned or not is_tiled(tag)):
                self.borrowed.setdefault(owner, {})[other.c] = other
                return other
            if key not in self.found:
                c = identifier(f"{self.prefix}_{readable(name)}", self.taken, "w", longest=LONGEST)
                at = self.end
                self.end += padded(max(data.nbytes, 1), self.align)
                self.found[key] = Constant(
                    c, name, dtype, data, value.type, tag, False, at, note, value.data, groups
                )
            if is_tiled(tag):
                self.found[key] = replace(self.found[key], aligned=True)
            self._by_layout[layout] = key
        return self.found[self._by_layout[layout]]
