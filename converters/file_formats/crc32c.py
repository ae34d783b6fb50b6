"""CRC-32C (Castagnoli), as LevelDB masks it: many stretches of bytes side by side, then joined."""

from __future__ import annotations

from functools import cache

import numpy as np

from edgekit.core.types import Array

_POLYNOMIAL = 0x82F63B78
_LANES = 1 << 10
_MASK = 0xA282EAD8


def masked(data: bytes | memoryview) -> int:
    """As LevelDB stores it beside the data: rotated, plus a constant."""
    found = crc32c(data)
    return ((found >> 15 | found << 17) + _MASK) & 0xFFFFFFFF


def crc32c(data: bytes | memoryview) -> int:
    raw = np.frombuffer(data, np.uint8)
    length = raw.size // _LANES
    registers = np.zeros(_LANES, np.uint32)
    registers[0] = 0xFFFFFFFF
    lanes = raw[: length * _LANES].reshape(_LANES, length)
    for column in lanes.T:
        registers = _step(registers, column)
    joined = _joined(registers, length)
    for byte in raw[length * _LANES :]:
        joined = _step(joined, byte)
    return int(joined) ^ 0xFFFFFFFF


def _step(register: Array, byte: Array) -> Array:
    made: Array = _table()[(register ^ byte) & 0xFF] ^ (register >> 8)
    return made


@cache
def _table() -> Array:
    made = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        made = np.where(made & 1, made >> 1 ^ np.uint32(_POLYNOMIAL), made >> 1)
    return made


def _joined(registers: Array, length: int) -> Array:
    """One register of stretches that lie behind each other: the register of the first goes through as many
    zeros as the second has bytes, which is a linear map of its bits."""
    zeros = _power(_zero_byte(), length)
    while registers.size > 1:
        registers = _applied(zeros, registers[::2]) ^ registers[1::2]
        zeros = _applied(zeros, zeros)
    (last,) = registers
    return np.asarray(last)


def _zero_byte() -> Array:
    """The map of a zero byte: what becomes of each bit."""
    return _step(np.uint32(1) << np.arange(32, dtype=np.uint32), np.zeros(32, np.uint8))


def _power(matrix: Array, exponent: int) -> Array:
    made = np.uint32(1) << np.arange(32, dtype=np.uint32)
    while exponent:
        made = _applied(matrix, made) if exponent & 1 else made
        matrix, exponent = _applied(matrix, matrix), exponent >> 1
    return made


def _applied(matrix: Array, registers: Array) -> Array:
    bits = registers[..., None] >> np.arange(32, dtype=np.uint32) & 1
    made: Array = np.bitwise_xor.reduce(np.where(bits, matrix, np.uint32(0)), axis=-1)
    return made
