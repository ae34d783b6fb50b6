"""Values of attributes and constants as TensorFlow writes them: AttrValue and TensorProto."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from edgekit.converters import files
from edgekit.converters.file_formats.protobuf import Message
from edgekit.converters.inputs import Dims
from edgekit.converters.tensorflow.messages import REFERENCE, TYPE_CODES
from edgekit.core.builder import absurd
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType

_TYPES = {
    1: DType.F32,
    2: DType.F64,
    3: DType.S32,
    4: DType.U8,
    5: DType.S16,
    6: DType.S8,
    9: DType.S64,
    10: DType.BOOL,
    14: DType.BF16,
    17: DType.U16,
    19: DType.F16,
    22: DType.U32,
    23: DType.U64,
}
STRING, RESOURCE, COMPLEX = (TYPE_CODES[name] for name in ("STRING", "RESOURCE", "COMPLEX64"))
_MAX_GROWTH = 1 << 24  # elements of a constant that repeats one number


@dataclass(frozen=True)
class TypeCode:
    """An element type by its number; many attributes name one that nothing depends on."""

    code: int

    @property
    def dtype(self) -> DType:
        if self.code not in _TYPES:
            names = (name.lower() for name, code in TYPE_CODES.items() if code == self.code)
            kind = next(names, f"number {self.code}")
            raise EdgeKitError("E0204", f"elements of type {kind} are not supported")
        return _TYPES[self.code]


@dataclass(frozen=True)
class FunctionName:
    """A function that an operator runs."""

    name: str


def type_code(code: int) -> TypeCode:
    return TypeCode(code - REFERENCE if code > REFERENCE else code)


def value(attribute: Message) -> Any:
    """What an attribute says: text, a number, a type, a shape, a constant, a function, or a tuple of such."""
    if 1 in attribute:
        listed = attribute.message(1)
        for field, read in _MANY.items():
            if field in listed:
                return tuple(read(listed, field))
        return ()
    for field, one in _ONE.items():
        if field in attribute:
            return one(attribute)
    raise EdgeKitError("E0401", "an attribute has no value", attribute.where)


def shape(stored: Message) -> Dims | None:
    """Sizes, None for each that is open; None where even their number is."""
    if stored.integer(3):
        return None
    sizes = [dim.integer(1) for dim in stored.messages(2)]
    return tuple(None if size < 0 else size for size in sizes)


def static_shape(stored: Message) -> tuple[int, ...] | None:
    """Sizes; None where one is open."""
    dims = shape(stored)
    return None if dims is None or None in dims else tuple(n for n in dims if n is not None)


def tensor(stored: Message, where: str) -> Array | tuple[str, ...]:
    """A constant; texts are a tuple of them, whatever their shape."""
    code = type_code(stored.integer(1))
    sizes = static_shape(stored.message(2))
    if sizes is None:
        raise EdgeKitError("E0401", "a constant has an open shape", where)
    if code.code == STRING:
        return tuple(bytes(data).decode(errors="replace") for data in stored.contents(8))
    if code.code == COMPLEX:
        pairs = stored.data(4) if 4 in stored else stored.numbers(9).tobytes()
        parts = files.array(pairs, DType.F32, (*sizes, 2), where, exact=True)
        return np.ascontiguousarray(parts).view(np.complex64)[..., 0]
    dtype = code.dtype
    if 4 in stored:
        return files.array(stored.data(4), dtype, sizes, where, exact=True)
    found = _numbers(stored, dtype)
    count = prod(sizes)
    if absurd(sizes) or (count > _MAX_GROWTH and count > found.size):
        raise EdgeKitError("E0402", f"shape {list(sizes)[:8]} is absurd", where)
    if found.size > count:
        raise EdgeKitError("E0401", f"{found.size} numbers for the shape {list(sizes)[:8]}", where)
    whole = np.zeros(count, dtype.numpy)
    whole[: found.size] = found
    if found.size:  # the last one stands for all that follow
        whole[found.size :] = found[-1]
    return whole.reshape(sizes)


def _numbers(stored: Message, dtype: DType) -> Array:
    """The numbers of a constant one by one, in the field of their type."""
    if dtype is DType.F32:
        return stored.numbers(5)
    if dtype is DType.F64:
        return stored.numbers(6, "<f8")
    field = _INTEGERS.get(dtype, 7)
    found = np.array([v & ((1 << 64) - 1) for v in stored.integers(field)], np.uint64)
    if dtype in (DType.F16, DType.BF16):
        return found.astype(np.uint16).view(dtype.numpy)
    return found != 0 if dtype is DType.BOOL else found.astype(dtype.numpy)


_INTEGERS: Mapping[DType, int] = {
    DType.S64: 10,
    DType.BOOL: 11,
    DType.F16: 13,
    DType.BF16: 13,
    DType.U32: 16,
    DType.U64: 17,
}


def _text(raw: memoryview) -> str:
    return bytes(raw).decode(errors="replace")


_ONE: Mapping[int, Callable[[Message], Any]] = {
    2: lambda a: _text(a.data(2)),
    3: lambda a: a.integer(3),
    4: lambda a: a.number(4),
    5: lambda a: bool(a.integer(5)),
    6: lambda a: type_code(a.integer(6)),
    7: lambda a: shape(a.message(7)),
    10: lambda a: FunctionName(a.message(10).text(1)),
}
_MANY: Mapping[int, Callable[[Message, int], list[Any]]] = {
    2: lambda a, field: [_text(raw) for raw in a.contents(field)],
    3: lambda a, field: a.integers(field),
    4: lambda a, field: [float(v) for v in a.numbers(field)],
    5: lambda a, field: [bool(v) for v in a.integers(field)],
    6: lambda a, field: [type_code(v) for v in a.integers(field)],
    7: lambda a, field: [shape(s) for s in a.messages(field)],
    9: lambda a, field: [FunctionName(f.text(1)) for f in a.messages(field)],
}
