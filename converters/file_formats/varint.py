"""Varints of LevelDB and Snappy: seven bits a byte, the lowest first."""

from __future__ import annotations

from edgekit.core.errors import EdgeKitError


def varint(raw: bytes | memoryview, at: int, where: str) -> tuple[int, int]:
    """The number, and where it ends."""
    value = 0
    for i, byte in enumerate(raw[at : at + 10]):
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value, at + i + 1
    raise EdgeKitError("E0401", "a varint is damaged", where)
