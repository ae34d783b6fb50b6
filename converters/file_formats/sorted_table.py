"""Sorted string tables of LevelDB: blocks of keys and values, and an index of the blocks."""

from __future__ import annotations

from collections.abc import Iterator

from edgekit.converters.file_formats.crc32c import masked
from edgekit.converters.file_formats.snappy import expanded
from edgekit.converters.file_formats.varint import varint
from edgekit.core.errors import EdgeKitError

_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
_FOOTER = 48
_TRAILER = 5  # of a block: how it is compressed, and its CRC
_MAX_ENTRIES = 1 << 20
_MAX_KEY = 1 << 12


def entries(raw: bytes, where: str) -> Iterator[tuple[bytes, bytes]]:
    """All keys with their values, in order."""
    if len(raw) < _FOOTER or raw[-8:] != _MAGIC:
        raise EdgeKitError("E0401", "is no table of LevelDB", where, "is the file complete?")
    at = len(raw) - _FOOTER
    for _ in range(2):  # the place of an index that nothing needs here
        _, at = varint(raw, at, where)
    count, seen = 0, set()
    for _, handle in _of_block(_block(raw, *_handle(raw[at:], where), where), where):
        place = _handle(handle, where)
        if place in seen:
            raise EdgeKitError("E0401", "a block of the table is there twice", where)
        seen.add(place)
        for entry in _of_block(_block(raw, *place, where), where):
            count += 1
            if count > _MAX_ENTRIES:
                raise EdgeKitError("E0402", f"more than {_MAX_ENTRIES} entries are absurd", where)
            yield entry


def _handle(raw: bytes, where: str) -> tuple[int, int]:
    """Where a block begins, and how long it is."""
    start, at = varint(raw, 0, where)
    return start, varint(raw, at, where)[0]


def _block(raw: bytes, start: int, size: int, where: str) -> bytes:
    end = start + size
    if end + _TRAILER > len(raw) - _FOOTER:
        raise EdgeKitError("E0401", f"a block of {size} bytes from {start} on goes beyond the table", where)
    stored = int.from_bytes(raw[end + 1 : end + _TRAILER], "little")
    if masked(raw[start : end + 1]) != stored:
        raise EdgeKitError("E0401", "a block of the table is damaged: its checksum differs", where)
    if raw[end] not in (0, 1):
        raise EdgeKitError("E0205", f"tables compressed by method {raw[end]} are not supported", where)
    return expanded(raw[start:end], where) if raw[end] else raw[start:end]


def _of_block(block: bytes, where: str) -> Iterator[tuple[bytes, bytes]]:
    """Each key without what it has in common with the one before."""
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 * (restarts + 1)
    if len(block) < 4 or end < 0:
        raise EdgeKitError("E0401", "a block of the table is damaged", where)
    key, at = b"", 0
    while at < end:
        shared, at = varint(block, at, where)
        own, at = varint(block, at, where)
        size, at = varint(block, at, where)
        if shared > len(key) or shared + own > _MAX_KEY or at + own + size > end:
            raise EdgeKitError("E0401", "an entry of the table is damaged", where)
        key = key[:shared] + block[at : at + own]
        yield key, block[at + own : at + own + size]
        at += own + size
