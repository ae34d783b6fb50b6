"""MXNet's two files taken apart: the list of arrays in .params, and settings that are written as text."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TypeAlias

from edgekit.converters import files
from edgekit.core.builder import MAX_RANK
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType

Value: TypeAlias = "str | bool | int | float | tuple[Value, ...] | None"

_LIST = 0x112
# What opens an array says which version of MXNet wrote it; older ones begin with the number of dimensions.
_V1, _V2, _V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
_DENSE = 0
_DTYPES = (
    *(DType.F32, DType.F64, DType.F16, DType.U8, DType.S32, DType.S8, DType.S64, DType.BOOL, DType.S16),
    *(DType.U16, DType.U32, DType.U64, DType.BF16),
)
_BY_NAME = {str(d.numpy): d for d in _DTYPES}
_WORDS: dict[str, Value] = {"None": None, "True": True, "False": False, "true": True, "false": False}
_INTEGER = re.compile(r"[-+]?\d{1,18}L?")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?inf|nan")
_MAX_TEXT = 1 << 14


def weights(raw: bytes, where: str) -> dict[str, Array]:
    """The arrays of a file by name, without what says whether they are arguments or statistics."""
    cursor = _Cursor(memoryview(raw), where)
    if cursor.take("Q") != _LIST:
        raise EdgeKitError("E0401", "is no list of arrays of MXNet", where)
    cursor.take("Q")  # reserved
    arrays = [cursor.array() for _ in range(cursor.count(4))]
    names = [cursor.text() for _ in range(cursor.count(8))]
    if len(names) != len(arrays):
        raise EdgeKitError("E0401", f"has {len(arrays)} arrays and {len(names)} names", where)
    plain = [name.removeprefix("arg:").removeprefix("aux:") for name in names]
    if len(set(plain)) != len(plain):
        raise EdgeKitError("E0401", "two arrays have the same name", where)
    return dict(zip(plain, arrays, strict=True))


def dtype_named(name: Value) -> DType:
    """The type that an attribute names, or gives the number of."""
    if type(name) is int and 0 <= name < len(_DTYPES):
        return _DTYPES[name]
    if name not in _BY_NAME:
        raise EdgeKitError("E0204", f"elements of type {name} are not supported")
    return _BY_NAME[str(name)]


def value(text: str) -> Value:
    """What an attribute says: a number, a word, or a tuple, as Python writes them."""
    text = text.strip()
    if len(text) > _MAX_TEXT:
        raise EdgeKitError("E0402", f"a setting of {len(text)} characters is absurd")
    if text[:1] in ("(", "[") and text[-1] in (")", "]"):
        inside = text[1:-1].strip().removesuffix(",")
        if "(" in inside or "[" in inside:
            raise EdgeKitError("E0203", f"nested setting {text[:60]} is not supported")
        return tuple(value(part) for part in inside.split(",")) if inside else ()
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text.removesuffix("L"))
    return float(text) if _NUMBER.fullmatch(text) else text


@dataclass
class _Cursor:
    """A place in the bytes, which moves on with each reading."""

    raw: memoryview
    where: str
    at: int = 0

    def take(self, kind: str) -> int:
        """An integer, by its letter of the module struct."""
        (found,) = struct.unpack("<" + kind, self._bytes(struct.calcsize("<" + kind)))
        return int(found)

    def count(self, least: int) -> int:
        """How many things follow, each of that many bytes at least."""
        found = self.take("Q")
        if found * least > len(self.raw) - self.at:
            raise EdgeKitError("E0401", f"says that {found} more things follow byte {self.at}", self.where)
        return found

    def text(self) -> str:
        return bytes(self._bytes(self.count(1))).decode("utf-8", "replace")

    def array(self) -> Array:
        shape = self._shape()
        self.take("q")  # the device, and which of them
        code = self.take("i")
        if not 0 <= code < len(_DTYPES):
            raise EdgeKitError("E0204", f"elements of type {code} are not supported", self.where)
        dtype = _DTYPES[code]
        start = self.at
        made = files.array(self.raw, dtype, shape, self.where, offset=start)
        self._bytes(made.size * dtype.bytes)
        return made

    def _shape(self) -> list[int]:
        version = self.take("I")
        if version in (_V2, _V3) and self.take("i") != _DENSE:
            hint = "array.tostype('default') makes them dense"
            raise EdgeKitError("E0205", "sparse arrays are not supported", self.where, hint)
        rank = self.take("I") if version in (_V1, _V2, _V3) else version
        if rank > MAX_RANK or (rank == 0 and version != _V3):
            raise EdgeKitError("E0401", f"an array of {rank} dimensions at byte {self.at}", self.where)
        return [self.take("q" if version in (_V1, _V2, _V3) else "I") for _ in range(rank)]

    def _bytes(self, size: int) -> memoryview:
        if size > len(self.raw) - self.at:
            raise EdgeKitError("E0401", f"ends at byte {len(self.raw)}, within an array", self.where)
        self.at += size
        return self.raw[self.at - size : self.at]
