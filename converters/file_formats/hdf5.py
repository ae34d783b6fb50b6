"""HDF5 as Keras writes it: groups, contiguous arrays and small attributes, read within bounds.

Files that h5py writes without being asked for more are of the oldest form, which this is: superblock 0,
object headers 1, groups as B-trees of symbol tables. Whatever else the format knows is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

from edgekit.converters import files
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType

SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DATASPACE, _DATATYPE, _LAYOUT, _ATTRIBUTE, _CONTINUATION, _SYMBOLS = 0x1, 0x3, 0x8, 0xC, 0x10, 0x11
_COMPACT, _CONTIGUOUS = 0, 1
_INTEGER, _FLOAT, _STRING, _ENUM, _LISTS = 0, 1, 3, 8, 9  # classes of types
_FLOATS = {2: DType.F16, 4: DType.F32, 8: DType.F64}
_INTEGERS = {
    1: (DType.U8, DType.S8),
    2: (DType.U16, DType.S16),
    4: (DType.U32, DType.S32),
    8: (DType.U64, DType.S64),
}
_NOWHERE = (1 << 64) - 1
_MAX_PARTS = 1 << 16  # pieces of one header, or nodes of one group
_RESAVE = "load the model with Keras 3 and save it again"


@dataclass(frozen=True)
class Hdf5:
    """The bytes of a file, and what it is, for errors."""

    raw: bytes = field(repr=False)
    where: str

    @cached_property
    def root(self) -> Item:
        if not self.raw.startswith(SIGNATURE):
            raise self.damaged("is no HDF5")
        version, sizes = self.raw[8:9], self.raw[13:15]
        if version not in (b"\0", b"\1") or sizes != b"\x08\x08":
            raise EdgeKitError("E0205", "is of a form of HDF5 that Keras does not write", self.where, _RESAVE)
        at = 24 if version == b"\0" else 28
        base, _, _, _, _, header = self.take("<6Q", at)
        if base:
            raise EdgeKitError("E0205", "begins within another file", self.where, _RESAVE)
        return self.item(header)

    def item(self, at: int) -> Item:
        """The group or array there, always the same: what was read of it is kept."""
        return self._items.setdefault(at, Item(self, at))

    @cached_property
    def _items(self) -> dict[int, Item]:
        return {}

    def take(self, form: str, at: int) -> tuple[Any, ...]:
        """Fields, by their letters of the module struct."""
        return struct.unpack(form, self.piece(at, struct.calcsize(form)))

    def piece(self, at: int, size: int) -> bytes:
        if at < 0 or size < 0 or at + size > len(self.raw):
            raise self.damaged(f"is damaged: {size} bytes at {at} of {len(self.raw)}")
        return self.raw[at : at + size]

    def text(self, at: int, limit: int) -> str:
        """A name that ends with a zero."""
        return self.piece(at, min(limit, len(self.raw) - at)).partition(b"\0")[0].decode("utf-8", "replace")

    def heap_object(self, collection: int, index: int) -> bytes:
        """One of the strings that are kept together, apart from those who use them."""
        signature, _, size = self.take("<4sIQ", collection)
        if signature != b"GCOL":
            raise self.damaged("is damaged: a string is nowhere")
        at, end = collection + 16, collection + size
        while at + 16 <= end:
            number, _, _, length = self.take("<HHIQ", at)
            if number == index:
                return self.piece(at + 16, length)
            if number == 0:
                break
            at += 16 + -(-length // 8) * 8
        raise self.damaged("is damaged: a string is nowhere")

    def damaged(self, text: str) -> EdgeKitError:
        return EdgeKitError("E0401", text, self.where, "is the file complete?")


@dataclass(frozen=True)
class Item:
    """A group or an array, by the place of its header."""

    file: Hdf5
    at: int

    @cached_property
    def messages(self) -> list[tuple[int, memoryview]]:
        """What the header says, as (kind, content)."""
        version, _, count, _, size = self.file.take("<BBHII", self.at)
        if version != 1:
            raise EdgeKitError("E0205", f"has headers of version {version}", self.file.where, _RESAVE)
        found: list[tuple[int, memoryview]] = []
        blocks = [(self.at + 16, size)]
        seen = 0
        while blocks and len(found) < count:
            at, size = blocks.pop(0)
            block, place = memoryview(self.file.piece(at, size)), 0
            while place + 8 <= size and len(found) < count:
                kind, length = struct.unpack_from("<HH", block, place)
                content = block[place + 8 : place + 8 + length]
                place += 8 + length
                found.append((kind, content))
                if kind == _CONTINUATION:
                    seen += 1
                    start, length = self._unpack("<QQ", content)
                    blocks.append((start, length))
                    if seen > _MAX_PARTS:
                        raise self.file.damaged("has a header without end")
        return found

    @cached_property
    def members(self) -> Mapping[str, int]:
        """Names in a group, and the places of their headers; nothing is in what is no group."""
        found: dict[str, int] = {}
        seen = 0
        for content in self._all(_SYMBOLS):
            tree, heap = self._unpack("<QQ", content)
            signature, _, size, _, names = self.file.take("<4sIQQQ", heap)
            if signature != b"HEAP":
                raise self.file.damaged("is damaged: a group has no names")
            for leaf in self._leaves(tree):
                _, _, count = self.file.take("<4sHH", leaf)
                seen += count
                if seen > _MAX_PARTS:
                    raise EdgeKitError("E0402", "has a group without end", self.file.where)
                for i in range(count):
                    name, header, kind = self.file.take("<QQI", leaf + 8 + 40 * i)
                    if kind > 1:
                        raise EdgeKitError("E0404", "holds a link to somewhere else", self.file.where)
                    if name < size:
                        found[self.file.text(names + name, size - name)] = header
        return found

    def get(self, path: str) -> Item | None:
        """What is there under a path of names with / between, if anything."""
        item = self
        for name in path.split("/"):
            place = item.members.get(name)
            if place is None:
                return None
            item = self.file.item(place)
        return item

    def array(self) -> Array:
        """The elements of an array that lies in one piece."""
        shape, dtype = _dims(self._one(_DATASPACE)), self._dtype(self._one(_DATATYPE))
        layout = self._one(_LAYOUT)
        version, kind = bytes(layout[:2]).ljust(2, b"\0")
        if version != 3 or kind not in (_COMPACT, _CONTIGUOUS):
            raise EdgeKitError("E0205", "holds arrays in chunks, or packed", self.file.where, _RESAVE)
        if kind == _COMPACT:
            (size,) = self._unpack("<H", layout[2:])
            return files.array(layout[4 : 4 + size], dtype, shape, self.file.where)
        at, _ = self._unpack("<QQ", layout[2:])
        if at == _NOWHERE:
            raise self.file.damaged("has an array that was never written")
        return files.array(self.file.raw, dtype, shape, self.file.where, offset=at)

    def texts(self, name: str) -> list[str] | None:
        """The strings of an attribute, or nothing where it is not there."""
        for content in self._all(_ATTRIBUTE):
            parts = self._attribute(content)
            if parts is not None and parts[0] == name:
                return self._strings(*parts[1:])
        return None

    def _attribute(self, content: memoryview) -> tuple[str, memoryview, memoryview, memoryview] | None:
        """Name, type, space and data; of the first version, each fills eights of bytes."""
        version, _, *sizes = self._unpack("<BBHHH", content)
        if version not in (1, 2, 3):
            return None
        at = 8 if version < 3 else 9
        parts = []
        for size in sizes:
            parts.append(content[at : at + size])
            at += -(-size // 8) * 8 if version == 1 else size
        name = bytes(parts[0]).partition(b"\0")[0].decode("utf-8", "replace")
        return name, parts[1], parts[2], content[at:]

    def _strings(self, type: memoryview, space: memoryview, data: memoryview) -> list[str]:
        kind, _, _, _, size = self._unpack("<BBBBI", type)
        count = prod(_dims(space))
        if kind & 15 not in (_STRING, _LISTS) or count * size > len(data):
            return []
        found = []
        for i in range(count):
            raw = bytes(data[i * size : (i + 1) * size])
            if kind & 15 == _LISTS:
                length, place, index = self._unpack("<IQI", memoryview(raw))
                raw = self.file.heap_object(place, index)[:length]
            found.append(raw.rstrip(b"\0").decode("utf-8", "replace"))
        return found

    def _dtype(self, content: memoryview) -> DType:
        kind, bits, _, _, size = self._unpack("<BBBBI", content)
        if bits & 1:
            raise EdgeKitError("E0204", "numbers with the large end first are not supported", self.file.where)
        if kind & 15 == _ENUM and size == 1:
            return DType.BOOL
        if kind & 15 == _FLOAT and size in _FLOATS:
            return _FLOATS[size]
        if kind & 15 == _INTEGER and size in _INTEGERS:
            return _INTEGERS[size][bits >> 3 & 1]
        raise EdgeKitError("E0204", f"elements of class {kind & 15} are not supported", self.file.where)

    def _leaves(self, root: int) -> Iterator[int]:
        """The symbol tables below a node of a B-tree, in order."""
        nodes, seen = [root], 0
        while nodes:
            at = nodes.pop()
            seen += 1
            signature = self.file.piece(at, 4)
            if signature not in (b"TREE", b"SNOD") or seen > _MAX_PARTS:
                raise self.file.damaged("is damaged: a group has no members")
            if signature == b"SNOD":
                yield at
                continue
            _, _, count = self.file.take("<BBH", at + 4)
            links = self.file.take(f"<{2 * count + 1}Q", at + 24)
            nodes += reversed(links[1::2])

    def _all(self, wanted: int) -> Iterator[memoryview]:
        return (content for kind, content in self.messages if kind == wanted)

    def _one(self, wanted: int) -> memoryview:
        content = next(self._all(wanted), None)
        if content is None:
            raise self.file.damaged("has an array that says too little of itself")
        return content

    def _unpack(self, form: str, content: memoryview) -> tuple[Any, ...]:
        if len(content) < struct.calcsize(form):
            raise self.file.damaged("is damaged: a header ends too soon")
        return struct.unpack_from(form, content)


def _dims(space: memoryview) -> list[int]:
    version, rank = bytes(space[:2]).ljust(2, b"\0")
    start = 8 if version == 1 else 4
    if version not in (1, 2) or len(space) < start + 8 * rank:
        raise EdgeKitError("E0401", f"a shape of version {version} with {rank} dimensions is damaged")
    return list(struct.unpack_from(f"<{rank}Q", space, start))
