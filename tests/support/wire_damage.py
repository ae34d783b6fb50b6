"""Seeded damage to Protocol Buffers without their schema: fields are dropped, repeated, moved or changed."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

from support.mutants import FLOATS, NUMBERS

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_FIELD = 1 << 16  # of numbers that formats give to fields; what is above is no message
Field = tuple[int, int, bytes]  # number, wire type, payload
Leaf = Callable[[bytes, Random], bytes]  # damages bytes that are no message


def damaged_message(raw: bytes, rng: Random, leaf: Leaf) -> bytes | None:
    """The message with one field damaged, at any depth; None where the bytes are no message."""
    fields = parsed(raw)
    if not fields:
        return None
    i, j = rng.randrange(len(fields)), rng.randrange(len(fields))
    number, kind, payload = fields[i]
    inside = kind == _BYTES and rng.random() < 0.85
    if inside and (deeper := damaged_message(payload, rng, leaf)) is not None:
        fields[i] = number, kind, deeper
        return written(fields)
    match rng.randrange(16):
        case 0:
            del fields[i]
        case 1:
            fields.insert(j, fields[i])
        case 2:
            fields[i], fields[j] = fields[j], fields[i]
        case 3:
            fields[i] = rng.choice([number + 1, max(1, number - 1), fields[j][0], 99]), kind, payload
        case 4:  # the content of another field, whatever its kind
            fields[i] = number, fields[j][1], fields[j][2]
        case _:
            fields[i] = number, kind, _payload(kind, payload, rng, leaf)
    return written(fields)


def _payload(kind: int, payload: bytes, rng: Random, leaf: Leaf) -> bytes:
    if kind == _VARINT:
        return _varint(rng.choice(NUMBERS) & 0xFFFF_FFFF_FFFF_FFFF)
    if kind == _FIXED32:
        return struct.pack("<f", rng.choice(FLOATS))
    if kind == _FIXED64:
        return struct.pack("<d", rng.choice(FLOATS))
    return leaf(payload, rng)


def parsed(raw: bytes) -> list[Field] | None:
    """The fields of a message; None where the bytes are none."""
    fields: list[Field] = []
    at = 0
    while at < len(raw):
        tag = _read_varint(raw, at)
        if tag is None:
            return None
        key, start = tag
        number, kind = key >> 3, key & 7
        if not 0 < number < _MAX_FIELD:
            return None
        if kind == _VARINT:
            value = _read_varint(raw, start)
            if value is None:
                return None
            at = value[1]
        elif kind == _FIXED64:
            at = start + 8
        elif kind == _FIXED32:
            at = start + 4
        elif kind == _BYTES:
            size = _read_varint(raw, start)
            if size is None:
                return None
            start, at = size[1], size[1] + size[0]
        else:
            return None
        if at > len(raw):
            return None
        fields.append((number, kind, raw[start:at]))
    return fields


def written(fields: list[Field]) -> bytes:
    """A message of these fields."""
    parts = []
    for number, kind, payload in fields:
        parts.append(_varint(number << 3 | kind))
        if kind == _BYTES:
            parts.append(_varint(len(payload)))
        parts.append(payload)
    return b"".join(parts)


def _read_varint(raw: bytes, at: int) -> tuple[int, int] | None:
    """A number and where it ends."""
    value = 0
    for i in range(10):
        if at + i >= len(raw):
            return None
        byte = raw[at + i]
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value, at + i + 1
    return None


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
