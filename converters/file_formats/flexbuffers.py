"""Reads FlexBuffers: the map that TFLite's custom operators have as options; bounds-checked."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from edgekit.core.reasons import DamageError

Number = int | float | bool
Value = Number | str | tuple[Number, ...]

_WIDTHS = (1, 2, 4, 8)
# The types of the format: numbers, by the form of struct, those that are stored elsewhere, and vectors.
_FORMS = {1: "bhiq", 2: "BHIQ", 3: "?efd", 26: "BHIQ"}
_INDIRECT = {6: 1, 7: 2, 8: 3}
_STRING, _MAP, _VECTOR, _BOOL = 5, 9, 10, 26
_TYPED = {11: 1, 12: 2, 13: 3, 36: _BOOL}


def options(data: bytes) -> Mapping[str, Value]:
    """The map that a buffer holds; values that are neither numbers nor text nor lists are left out."""
    if len(data) < 3:
        raise DamageError("the options are no FlexBuffer")
    reader, width = _Reader(data), data[-1]
    if width not in _WIDTHS or data[-2] >> 2 != _MAP:
        raise DamageError("the options are no map of a FlexBuffer")
    return reader.map(reader.target(len(data) - 2 - width, width), 1 << (data[-2] & 3))


@dataclass(frozen=True)
class _Reader:
    data: bytes

    def number(self, at: int, form: str) -> Number:
        if at < 0 or at + struct.calcsize(form) > len(self.data):
            raise DamageError("an offset of the options leads outside of them")
        found: Number = struct.unpack_from("<" + form, self.data, at)[0]
        return found

    def unsigned(self, at: int, width: int) -> int:
        return int(self.number(at, "BHIQ"[_WIDTHS.index(width)]))

    def target(self, at: int, width: int) -> int:
        """Where an offset leads: offsets go back."""
        return at - self.unsigned(at, width)

    def size(self, at: int, width: int, each: int) -> int:
        """How many elements of so many bytes follow."""
        size = self.unsigned(at - width, width)
        if at + size * each > len(self.data):
            raise DamageError("an offset of the options leads outside of them")
        return size

    def map(self, at: int, width: int) -> dict[str, Value]:
        """The elements of a map, each so many bytes wide, then a byte a type; before them are the place and
        the width of the keys, and the size."""
        size = self.size(at, width, width + 1)
        keys, key_width = self.target(at - 3 * width, width), self.unsigned(at - 2 * width, width)
        if key_width not in _WIDTHS:
            raise DamageError("the keys of the options have no width")
        found = {}
        for i in range(size):
            value = self.value(at + i * width, width, self.unsigned(at + size * width + i, 1))
            if value is not None:
                found[self.key(self.target(keys + i * key_width, key_width))] = value
        return found

    def key(self, at: int) -> str:
        end = self.data.find(b"\0", at) if at >= 0 else -1
        if end < 0:
            raise DamageError("an offset of the options leads outside of them")
        return self.data[at:end].decode(errors="replace")

    def value(self, at: int, width: int, packed: int) -> Value | None:
        kind, inner = packed >> 2, 1 << (packed & 3)
        if kind == _STRING:
            start = self.target(at, width)
            return self.data[start : start + self.size(start, inner, 1)].decode(errors="replace")
        if kind == _VECTOR or kind in _TYPED or 16 <= kind <= 24:
            return self.vector(self.target(at, width), inner, kind)
        return self.scalar(at, width, packed)

    def vector(self, at: int, width: int, kind: int) -> tuple[Number, ...] | None:
        """A list of numbers: with a type each, of one type, or of a length that the type says."""
        if 16 <= kind <= 24:
            size, types = (kind - 16) // 3 + 2, [(kind - 16) % 3 + 1] * 4
        else:
            size = self.size(at, width, width + (kind == _VECTOR))
            types = [_TYPED.get(kind, 0)] * size
        if kind == _VECTOR:
            packed = [self.unsigned(at + size * width + i, 1) for i in range(size)]
        else:
            packed = [t << 2 for t in types]
        found = [self.scalar(at + i * width, width, packed[i]) for i in range(size)]
        numbers = tuple(v for v in found if v is not None)
        return numbers if len(numbers) == size else None

    def scalar(self, at: int, width: int, packed: int) -> Number | None:
        kind = packed >> 2
        if kind in _INDIRECT:
            at, width, kind = self.target(at, width), 1 << (packed & 3), _INDIRECT[kind]
        if kind not in _FORMS or (kind == 3 and width == 1):
            return None
        found = self.number(at, _FORMS[kind][_WIDTHS.index(width)])
        return bool(found) if kind == _BOOL else found
