"""The container GGUF: settings by name, then type, shape and place of each tensor, then the tensors."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.gguf.blocks import BLOCKS, UNREAD, Block
from edgekit.converters.gguf.stored import StoredBlocks
from edgekit.core.builder import absurd
from edgekit.core.errors import EdgeKitError

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_ALIGNMENT = 32
_MAX_ALIGNMENT = 1 << 20
_MAX_ENTRIES = 1 << 16  # settings, and tensors
_MAX_ITEMS = 1 << 21  # of an array, such as merges
_MAX_NAME = 1 << 10  # bytes
_COMPLETE = "is the download complete?"
_STRING, _ARRAY = 8, 9
# Types of settings by their number.
_NUMBERS: Mapping[int, str] = {
    0: "<u1",
    1: "<i1",
    2: "<u2",
    3: "<i2",
    4: "<u4",
    5: "<i4",
    6: "<f4",
    7: "?",
    10: "<u8",
    11: "<i8",
    12: "<f8",
}


@dataclass(frozen=True)
class GgufFile:
    settings: Record
    tensors: Mapping[str, StoredBlocks]


class _Cursor:
    """Reads forward, and never past the end."""

    def __init__(self, raw: bytes, file: str) -> None:
        self.raw, self.file, self.at = memoryview(raw), file, 0

    def take(self, count: int) -> memoryview:
        end = self.at + count
        if end > len(self.raw):
            message = f"{self.file} ends in the midst of what describes its tensors"
            raise EdgeKitError("E0401", message, hint=_COMPLETE)
        taken, self.at = self.raw[self.at : end], end
        return taken

    def number(self, code: str) -> Any:
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def count(self, what: str, most: int) -> int:
        """A number of things that follow."""
        found: int = self.number("Q")
        if found > most:
            raise EdgeKitError("E0402", f"{found} {what} are absurd: at most {most} are read", self.file)
        return found

    def text(self, most: int | None = None) -> str:
        size = self.number("Q")
        if most is not None and size > most:
            raise EdgeKitError("E0402", f"a name of {size} bytes is absurd", self.file)
        try:
            return str(self.take(size), "utf-8")
        except UnicodeDecodeError:
            raise EdgeKitError("E0401", f"the text before byte {self.at} is not UTF-8", self.file) from None


def parse(raw: bytes, file: str) -> GgufFile:
    cursor = _Cursor(raw, file)
    cursor.take(len(MAGIC))
    version = cursor.number("I")
    if version not in _VERSIONS:
        is_big = version.to_bytes(4, "little") in (v.to_bytes(4, "big") for v in _VERSIONS)
        what = "in the byte order of big-endian machines" if is_big else f"of version {version}"
        hint = "gguf-convert-endian of the package gguf converts it" if is_big else "convert the model again"
        raise EdgeKitError("E0205", f"GGUF {what} is not read", file, hint)
    tensors = cursor.count("tensors", _MAX_ENTRIES)
    fields = dict(_unique(cursor, cursor.count("settings", _MAX_ENTRIES), _setting, "setting"))
    settings = Record(fields, file)
    return GgufFile(settings, dict(_placed(cursor, tensors, _alignment(settings))))


def _unique(
    cursor: _Cursor, count: int, read: Callable[[_Cursor, str], Any], what: str
) -> Iterator[tuple[str, Any]]:
    """So many named things, no two of one name."""
    seen: set[str] = set()
    for _ in range(count):
        name = cursor.text(_MAX_NAME)
        if name in seen:
            raise EdgeKitError("E0401", f"the {what} {name:.80} is there twice", cursor.file)
        seen.add(name)
        yield name, read(cursor, name)


def _setting(cursor: _Cursor, name: str) -> Any:
    kind = cursor.number("I")
    if kind != _ARRAY:
        return cursor.text() if kind == _STRING else _numbers(cursor, kind, 1, name)[0]
    kind, count = cursor.number("I"), cursor.count(f"items of {name:.80}", _MAX_ITEMS)
    if kind == _ARRAY:
        raise EdgeKitError("E0205", f"the setting {name:.80} holds arrays in an array", cursor.file)
    return [cursor.text() for _ in range(count)] if kind == _STRING else _numbers(cursor, kind, count, name)


def _numbers(cursor: _Cursor, kind: int, count: int, name: str) -> list[Any]:
    if kind not in _NUMBERS:
        raise EdgeKitError("E0401", f"the setting {name:.80} is of the unknown type {kind}", cursor.file)
    dtype = np.dtype(_NUMBERS[kind])
    raw = cursor.take(count * dtype.itemsize)
    if dtype.kind == "b":
        return [byte != 0 for byte in raw]
    found: list[Any] = np.frombuffer(raw, dtype).tolist()
    return found


def _alignment(settings: Record) -> int:
    found = settings.integer("general.alignment", _ALIGNMENT)
    if not 0 < found <= _MAX_ALIGNMENT or found & (found - 1):
        raise EdgeKitError("E0401", f"an alignment of {found} bytes is no power of two", settings.where)
    return found


def _entry(cursor: _Cursor, name: str) -> tuple[Block, tuple[int, ...], int]:
    """Type, shape and place of a tensor. Files have the dimension that is contiguous first."""
    where = f"tensor {name:.80} of {cursor.file}"
    rank = cursor.number("I")
    if rank > 4:
        raise EdgeKitError("E0402", f"{rank} dimensions are absurd", where)
    shape = tuple(cursor.number("Q") for _ in range(rank))[::-1]
    kind, offset = cursor.number("I"), cursor.number("Q")
    if kind not in BLOCKS:
        message = f"data type {UNREAD.get(kind, kind)} is not read"
        read = ", ".join(block.name for block in BLOCKS.values())
        hint = f"llama-quantize --allow-requantize makes another type of it: {read} are read"
        raise EdgeKitError("E0204", message, where, hint)
    block = BLOCKS[kind]
    if absurd(shape):
        raise EdgeKitError("E0402", f"shape {list(shape)[:8]} is absurd", where)
    if not shape or shape[-1] % block.size:
        raise EdgeKitError("E0401", f"{list(shape)} is not in blocks of {block.size} numbers", where)
    return block, shape, offset


def _placed(cursor: _Cursor, count: int, alignment: int) -> Iterator[tuple[str, StoredBlocks]]:
    """The tensors, which begin at multiples of the alignment, and share no byte."""
    entries = dict(_unique(cursor, count, _entry, "tensor"))
    start = -(-cursor.at // alignment) * alignment
    end = 0
    for name, (block, shape, offset) in sorted(entries.items(), key=lambda item: item[1][2]):
        where = f"tensor {name:.80} of {cursor.file}"
        size = math.prod(shape) // block.size * block.bytes
        if offset % alignment or (offset < end and size):
            what = "within another tensor" if offset < end else f"at no multiple of {alignment}"
            raise EdgeKitError("E0401", f"begins {what}, at byte {offset}", where)
        if start + offset + size > len(cursor.raw):
            message = f"takes {size} bytes from {start + offset} on, there are {len(cursor.raw)}"
            raise EdgeKitError("E0401", message, where, _COMPLETE)
        end = max(end, offset + size)
        yield name, StoredBlocks(cursor.raw[start + offset : start + offset + size], block, shape)
