"""The weights that runs are given by a pointer: one blob of all constants of a library, behind a header."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator

from edgekit.codegen.constants import BLOB_HEADER, Constant, padded
from edgekit.codegen.printing.literal import stored
from edgekit.codegen.program import Program

MAGIC = int.from_bytes(b"EKWB", "little")
FORMAT = 1  # raised when an older library would read a blob wrongly
CRC_AT = 20  # bytes of the header in front of the checksum, which is of all others


def blob(program: Program) -> bytes:
    """The file: header and constants, each aligned as tensors are. All numbers are little-endian."""
    content = bytearray(size(program))
    for constant in constants(program):
        data = stored(constant.data).tobytes()
        content[constant.offset : constant.offset + len(data)] = data
    head = (MAGIC, FORMAT, int(interface(program), 16), len(content), program.target.align)
    struct.pack_into("<5I", content, 0, *head)
    struct.pack_into("<I", content, CRC_AT, checksum(content))
    return bytes(content)


def checksum(content: bytes | bytearray) -> int:
    """The CRC-32 of a blob, but for the bytes that hold it."""
    return zlib.crc32(content[CRC_AT + 4 :], zlib.crc32(content[:CRC_AT]))


def size(program: Program) -> int:
    """Bytes of the blob."""
    ends = (constant.offset + max(constant.data.nbytes, 1) for constant in constants(program))
    return padded(max(ends, default=BLOB_HEADER), program.target.align)


def constants(program: Program) -> Iterator[Constant]:
    """Those of all entries, which share the blob."""
    for entry in (program, *program.entries):
        yield from entry.constants


def interface(program: Program) -> str:
    """A hash of all that the code takes for granted of its weights: where constants lie and in which layouts,
    and the scales, zero points, shifts and other parameters that are in the code."""
    found = [_of_entry(entry) for entry in (program, *program.entries)]
    return hashlib.sha256(repr((FORMAT, program.target.align, found)).encode()).hexdigest()[:8]


def _of_entry(program: Program) -> tuple[object, ...]:
    places = [(c.dtype.value, c.data.size, c.layout, c.offset) for c in program.constants]
    ports = [(port.c, port.type, port.offset) for port in (*program.inputs, *program.outputs)]
    calls = [
        (
            line.kernel.function,
            line.kernel.interface,
            [(field.name, str(value)) for field, value in line.params],
            [(o.pointer, o.place.kind, o.place.offset, o.named and o.named.offset) for o in line.operands],
            [(test.place.kind, test.place.offset) for test in line.tests],
        )
        for line in program.lines
    ]
    states = [(state.c, state.type, state.start, state.starts) for state in program.states]
    return program.name, program.arena.size, places, ports, states, calls
