"""Protocol buffers without their schema: fields by number, as the writer's published .proto numbers them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_MASK = (1 << 64) - 1
Content = int | memoryview


@dataclass(frozen=True)
class Message:
    """One message: raw bytes, taken apart when a field is asked for. A field that is not there is empty; of
    a single field the last occurrence counts, as the format has it."""

    raw: memoryview
    where: str = "the file"

    @cached_property
    def fields(self) -> Mapping[int, Sequence[tuple[int, Content]]]:
        """Field number -> occurrences as (wire type, number or bytes)."""
        found: dict[int, list[tuple[int, Content]]] = {}
        at = 0
        while at < len(self.raw):
            key, at = self._varint(at)
            kind = key & 7
            content: Content
            if kind == _VARINT:
                content, at = self._varint(at)
            elif kind in (_EIGHT, _FOUR):
                content, at = self._bytes(at, 8 if kind == _EIGHT else 4)
            elif kind == _BYTES:
                size, at = self._varint(at)
                content, at = self._bytes(at, size)
            else:
                raise self._damaged(at)
            if key >> 3 == 0:
                raise self._damaged(at)
            found.setdefault(key >> 3, []).append((kind, content))
        return found

    def integer(self, field: int, default: int = 0) -> int:
        """An int32, int64, enum or bool; negative numbers are 64 bits of two's complement."""
        found = self.integers(field)
        return found[-1] if found else default

    def integers(self, field: int) -> list[int]:
        """A repeated integer, packed or not."""
        found: list[int] = []
        for kind, content in self.fields.get(field, ()):
            if isinstance(content, int):
                found.append(content)
            elif kind == _BYTES:
                packed, at = Message(content, self.where), 0
                while at < len(content):
                    value, at = packed._varint(at)
                    found.append(value)
            else:
                raise self._wrong(field)
        return [v - (1 << 64) if v >> 63 else v for v in found]

    def fixed(self, field: int) -> int:
        """A fixed32 or fixed64."""
        contents = self.fields.get(field)
        if not contents:
            return 0
        kind, content = contents[-1]
        if isinstance(content, int) or kind == _BYTES:
            raise self._wrong(field)
        return int.from_bytes(content, "little")

    def number(self, field: int, default: float = 0.0) -> float:
        """A float or a double."""
        contents = self.fields.get(field)
        if not contents:
            return default
        kind, content = contents[-1]
        if isinstance(content, int) or kind == _BYTES:
            raise self._wrong(field)
        return float(struct.unpack("<f" if kind == _FOUR else "<d", content)[0])

    def numbers(self, field: int, dtype: str = "<f4") -> Array:
        """A repeated float ("<f4") or double ("<f8"), packed or not."""
        width = np.dtype(dtype).itemsize
        parts = []
        for kind, content in self.fields.get(field, ()):
            if isinstance(content, int) or len(content) % width or kind == (_EIGHT if width == 4 else _FOUR):
                raise self._wrong(field)
            parts.append(np.frombuffer(content, dtype))
        return np.concatenate(parts) if parts else np.zeros(0, dtype)

    def data(self, field: int) -> memoryview:
        """Bytes."""
        found = list(self.contents(field))
        return found[-1] if found else memoryview(b"")

    def text(self, field: int, default: str = "") -> str:
        found = self.texts(field)
        return found[-1] if found else default

    def texts(self, field: int) -> list[str]:
        try:
            return [bytes(content).decode() for content in self.contents(field)]
        except UnicodeDecodeError:
            raise EdgeKitError("E0401", f"field {field} is no text", self.where) from None

    def message(self, field: int) -> Message:
        """A message of its own; empty where it is not there."""
        return Message(self.data(field), self.where)

    def messages(self, field: int) -> list[Message]:
        return [Message(content, self.where) for content in self.contents(field)]

    def contents(self, field: int) -> Iterator[memoryview]:
        """Each occurrence of bytes."""
        for kind, content in self.fields.get(field, ()):
            if isinstance(content, int) or kind != _BYTES:
                raise self._wrong(field)
            yield content

    def entries(self, field: int) -> Mapping[str, Message]:
        """A map from text to messages, which is stored as messages of both."""
        return {entry.text(1): entry.message(2) for entry in self.messages(field)}

    def __contains__(self, field: int) -> bool:
        return field in self.fields

    def _varint(self, at: int) -> tuple[int, int]:
        value = shift = 0
        while at < len(self.raw) and shift < 70:
            byte = self.raw[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & _MASK, at
            shift += 7
        raise self._damaged(at)

    def _bytes(self, at: int, size: int) -> tuple[memoryview, int]:
        if at + size > len(self.raw):
            raise self._damaged(at)
        return self.raw[at : at + size], at + size

    def _damaged(self, at: int) -> EdgeKitError:
        return EdgeKitError(
            "E0401", f"protocol buffer is damaged at byte {at} of {len(self.raw)}", self.where
        )

    def _wrong(self, field: int) -> EdgeKitError:
        return EdgeKitError("E0401", f"field {field} is of another type", self.where)


def message(raw: bytes, where: str) -> Message:
    """The message that bytes are; `where` says to people what they should be."""
    return Message(memoryview(raw), where)
