"""Snappy: a block of bytes as literals and copies of what came before."""

from __future__ import annotations

from edgekit.converters.file_formats.varint import varint
from edgekit.core.errors import EdgeKitError

_MAX_SIZE = 1 << 26
_MAX_GROWTH = 64  # a copy of 64 bytes takes three


def expanded(raw: bytes | memoryview, where: str) -> bytes:
    """The bytes of a block, as many as it says."""
    size, at = varint(raw, 0, where)
    if size > _MAX_SIZE or size > _MAX_GROWTH * len(raw):
        raise EdgeKitError("E0402", f"{len(raw)} compressed bytes say that they are {size}", where)
    made = bytearray()
    while at < len(raw):
        tag = raw[at]
        kind, code = tag & 3, tag >> 2
        more = (max(code - 59, 0), 1, 2, 4)[kind]
        operand = int.from_bytes(raw[at + 1 : at + 1 + more], "little")
        at += 1 + more
        if kind == 0:
            length = (operand if more else code) + 1
            if at + length > len(raw):
                raise _damaged(where)
            made += raw[at : at + length]
            at += length
        else:
            length, distance = code + 1, operand
            if kind == 1:
                length, distance = (code & 7) + 4, operand | code >> 3 << 8
            if at > len(raw) or not 0 < distance <= len(made):
                raise _damaged(where)
            stretch = bytes(made[len(made) - distance :][:length])
            made += (stretch * -(-length // len(stretch)))[:length]
        if len(made) > size:
            raise _damaged(where)
    if len(made) != size:
        raise _damaged(where)
    return bytes(made)


def _damaged(where: str) -> EdgeKitError:
    return EdgeKitError("E0401", "compressed bytes are damaged", where)
