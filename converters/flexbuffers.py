"""Reads FlexBuffers: the map of numbers that TFLite's custom operators have as options; bounds-checked."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from edgekit.reasons import DamageError

Number = int | float | bool

# The types of the format that are numbers, by the form of struct, and those that are stored elsewhere.
_FORMS = {1: "bhiq", 2: "BHIQ", 3: "?efd", 26: "BHIQ"}
_INDIRECT = {6: 1, 7: 2, 8: 3}
_MAP, _BOOL = 9, 26


def numbers(data: bytes) -> Mapping[str, Number]:
    """The map that a buffer holds; values that are no numbers are left out."""
    if len(data) < 3:
        raise DamageError("the options are no FlexBuffer")
    reader, width = _Reader(data), data[-1]
    if width not in (1, 2, 4, 8) or data[-2] >> 2 != _MAP:
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
        return int(self.number(at, {1: "B", 2: "H", 4: "I", 8: "Q"}[width]))

    def target(self, at: int, width: int) -> int:
        """Where an offset leads: offsets go back."""
        return at - self.unsigned(at, width)

    def map(self, at: int, width: int) -> dict[str, Number]:
        """The elements of a map, each so many bytes wide, then a byte a type; before them are the place and
        the width of the keys, and the size."""
        size = self.unsigned(at - width, width)
        keys, key_width = self.target(at - 3 * width, width), self.unsigned(at - 2 * width, width)
        if key_width not in (1, 2, 4, 8) or at + size * (width + 1) > len(self.data):
            raise DamageError("an offset of the options leads outside of them")
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

    def value(self, at: int, width: int, packed: int) -> Number | None:
        kind = packed >> 2
        if kind in _INDIRECT:
            at, width, kind = self.target(at, width), 1 << (packed & 3), _INDIRECT[kind]
        if kind not in _FORMS or (kind == 3 and width == 1):
            return None
        found = self.number(at, _FORMS[kind][(1, 2, 4, 8).index(width)])
        return bool(found) if kind == _BOOL else found
