"""Reads TFLite flatbuffers: tables and vectors by the field numbers of the public schema; bounds-checked."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array


class DamagedError(EdgeKitError):
    """An offset that leads outside of the file."""

    def __init__(self) -> None:
        super().__init__("E0401", "the TFLite file is damaged: an offset leads outside of it")


@dataclass(frozen=True)
class Table:
    """A flatbuffer table in `data` at `at`."""

    data: bytes
    at: int

    def _unpack(self, form: str, at: int) -> int | float:
        if at < 0 or at + struct.calcsize(form) > len(self.data):
            raise DamagedError
        return struct.unpack_from(form, self.data, at)[0]  # type: ignore[no-any-return]  # a number, as the format says

    def _field(self, number: int) -> int:
        """The position of a field; 0 where it is absent."""
        vtable = self.at - int(self._unpack("<i", self.at))
        size = int(self._unpack("<H", vtable))
        slot = 4 + 2 * number
        offset = int(self._unpack("<H", vtable + slot)) if slot < size else 0
        return self.at + offset if offset else 0

    def number(self, field: int, form: str, default: float = 0) -> int | float:
        at = self._field(field)
        return self._unpack("<" + form, at) if at else default

    def integer(self, field: int, form: str = "i", default: int = 0) -> int:
        return int(self.number(field, form, default))

    def table(self, field: int) -> Table | None:
        at = self._field(field)
        return Table(self.data, at + int(self._unpack("<I", at))) if at else None

    def _vector(self, field: int) -> tuple[int, int]:
        """(start, length) of a vector."""
        at = self._field(field)
        if not at:
            return 0, 0
        start = at + int(self._unpack("<I", at))
        return start + 4, int(self._unpack("<I", start))

    def tables(self, field: int) -> Iterator[Table]:
        start, length = self._vector(field)
        for at in range(start, start + 4 * length, 4):
            yield Table(self.data, at + int(self._unpack("<I", at)))

    def array(self, field: int, dtype: str) -> Array:
        """A vector of numbers, without a copy."""
        start, length = self._vector(field)
        if start + length * np.dtype(dtype).itemsize > len(self.data):
            raise DamagedError
        return np.frombuffer(self.data, np.dtype(dtype), length, start)

    def text(self, field: int) -> str:
        return self.array(field, "u1").tobytes().decode(errors="replace")


def stored(buffer: Table) -> Array:
    """The bytes of a buffer; those of large models, and of some tools' small ones, lie behind the tables."""
    start, size = buffer.integer(1, "Q"), buffer.integer(2, "Q")
    if start <= 1:  # 1 is what writers put before they know
        return buffer.array(0, "u1")
    if start + size > len(buffer.data):
        raise DamagedError
    return np.frombuffer(buffer.data, np.uint8, size, start)


def root(data: bytes) -> Table:
    """The Model table; refuses what is no TFLite file."""
    if len(data) < 8 or data[4:8] != b"TFL3":
        raise EdgeKitError("E0401", "this is no TFLite file (no TFL3 mark)")
    return Table(data, struct.unpack_from("<I", data)[0])
