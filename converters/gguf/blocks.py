"""Block types of GGUF: real = scale * integer - minimum, with scales and minima of groups within a block.

Each type is a record of bytes and what unpacks it, named as in ggml. Sums and products are in float32, in the
order of ggml: numbers are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgekit.core.types import Array, DType

Parts = Array  # structured: the fields of each block
# integers [blocks, size]; scales and minima, or no minima, [blocks, groups]
Unpacked = tuple[Array, Array, Array | None]
_NIBBLES, _PAIRS = (0, 4), (0, 2, 4, 6)
_NONLINEAR = np.array(
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.int8
)  # what the nibbles of IQ4_NL and IQ4_XS stand for
_FP4 = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.int8)  # of E2M1, doubled


@dataclass(frozen=True)
class Block:
    """`size` numbers in so many bytes: floats of `dtype`, or what `unpack` makes of `fields`. Where a group
    has no minimum, its integers have `bits`."""

    name: str
    size: int
    bytes: int
    dtype: DType = DType.F32
    fields: np.dtype[Any] | None = None
    unpack: Callable[[Parts], Unpacked] | None = None
    bits: int = 8


def _planes(data: Array, shifts: tuple[int, ...], width: int) -> Array:
    """Integers of a few bits: `width` bytes hold the lowest ones of `width` numbers, then the next."""
    planes = data.reshape(len(data), -1, 1, width) >> np.array(shifts, np.uint8).reshape(1, 1, -1, 1)
    return (planes & np.uint8((1 << 8 // len(shifts)) - 1)).reshape(len(data), -1).astype(np.int8)


def _floats(data: Array) -> Array:
    """A number for each block."""
    return data.astype(np.float32).reshape(len(data), -1)


def _fifth_bits(high: Array) -> Array:
    return (np.unpackbits(high, axis=1, bitorder="little") << 4).astype(np.int8)


def _q4_0(b: Parts) -> Unpacked:
    return _planes(b["qs"], _NIBBLES, 16) - 8, _floats(b["d"]), None


def _q4_1(b: Parts) -> Unpacked:
    return _planes(b["qs"], _NIBBLES, 16), _floats(b["d"]), -_floats(b["m"])


def _q5_0(b: Parts) -> Unpacked:
    return (_planes(b["qs"], _NIBBLES, 16) | _fifth_bits(b["qh"])) - 16, _floats(b["d"]), None


def _q5_1(b: Parts) -> Unpacked:
    return _planes(b["qs"], _NIBBLES, 16) | _fifth_bits(b["qh"]), _floats(b["d"]), -_floats(b["m"])


def _q8(b: Parts) -> Unpacked:
    return b["qs"], _floats(b["d"]), None


def _q2_k(b: Parts) -> Unpacked:
    scales, minima = (_floats(nibble) for nibble in (b["scales"] & 15, b["scales"] >> 4))
    return _planes(b["qs"], _PAIRS, 32), _floats(b["d"]) * scales, _floats(b["dmin"]) * minima


def _q3_k(b: Parts) -> Unpacked:
    low = _planes(b["scales"][:, :8], _NIBBLES, 8)
    scales = (low | _planes(b["scales"][:, 8:], _PAIRS, 4) << 4) - 32
    high = np.unpackbits(b["hmask"][:, None, :], axis=1, bitorder="little").reshape(len(b), -1)
    integers = (_planes(b["qs"], _PAIRS, 32) | (high << 2).astype(np.int8)) - 4
    return integers, _floats(b["d"]) * _floats(scales), None


def _of_six_bits(b: Parts) -> tuple[Array, Array]:
    """Scales and minima of 8 groups in 12 bytes."""
    first, second, third = b["scales"][:, :4], b["scales"][:, 4:8], b["scales"][:, 8:]
    scales = np.concatenate([first & 63, third & 15 | first >> 6 << 4], axis=1)
    minima = np.concatenate([second & 63, third >> 4 | second >> 6 << 4], axis=1)
    return _floats(b["d"]) * _floats(scales), _floats(b["dmin"]) * _floats(minima)


def _q4_k(b: Parts) -> Unpacked:
    return _planes(b["qs"], _NIBBLES, 32), *_of_six_bits(b)


def _q5_k(b: Parts) -> Unpacked:
    high = np.unpackbits(b["qh"][:, None, :], axis=1, bitorder="little").reshape(len(b), -1)
    return _planes(b["qs"], _NIBBLES, 32) | (high << 4).astype(np.int8), *_of_six_bits(b)


def _q6_k(b: Parts) -> Unpacked:
    low, high = _planes(b["ql"], _NIBBLES, 64), _planes(b["qh"], _PAIRS, 32)
    return (low | high << 4) - 32, _floats(b["d"]) * _floats(b["scales"]), None


def _tq1_0(b: Parts) -> Unpacked:
    """Ternary digits: a byte is a fraction of 5 of them, or of 4 at the end."""
    parts = []
    for data, digits in ((b["qs"][:, :32], 5), (b["qs"][:, 32:], 5), (b["qh"], 4)):
        powers = 3 ** np.arange(digits, dtype=np.uint8).reshape(1, -1, 1)
        turned = (data[:, None, :] * powers).astype(np.uint16)
        parts.append((turned * 3 >> 8).reshape(len(b), -1))
    return np.concatenate(parts, axis=1).astype(np.int8) - 1, _floats(b["d"]), None


def _tq2_0(b: Parts) -> Unpacked:
    return _planes(b["qs"], _PAIRS, 32) - 1, _floats(b["d"]), None


def _iq4_nl(b: Parts) -> Unpacked:
    return _NONLINEAR[_planes(b["qs"], _NIBBLES, 16)], _floats(b["d"]), None


def _iq4_xs(b: Parts) -> Unpacked:
    low = (b["scales_l"][:, :, None] >> np.array(_NIBBLES, np.uint8)).reshape(len(b), -1) & 15
    high = b["scales_h"].reshape(-1, 1) >> np.arange(0, 16, 2, dtype=np.uint16) & 3
    scales = (low | high << 4).astype(np.int8) - 32
    return _NONLINEAR[_planes(b["qs"], _NIBBLES, 16)], _floats(b["d"]) * _floats(scales), None


def _mxfp4(b: Parts) -> Unpacked:
    exponent = b["e"].astype(np.int32).reshape(-1, 1) - 128  # with the half that doubled integers need
    return _FP4[_planes(b["qs"], _NIBBLES, 16)], np.ldexp(np.float32(1), exponent), None


def _block(name: str, size: int, unpack: Callable[[Parts], Unpacked], fields: str, bits: int = 8) -> Block:
    """`fields` are names and types, as numpy has them."""
    record = np.dtype([(field.split(":")[0], field.split(":")[1]) for field in fields.split()])
    return Block(name, size, record.itemsize, DType.F32, record, unpack, bits)


BLOCKS: Mapping[int, Block] = {
    0: Block("F32", 1, 4),
    1: Block("F16", 1, 2, DType.F16),
    30: Block("BF16", 1, 2, DType.BF16),
    2: _block("Q4_0", 32, _q4_0, "d:<f2 qs:16u1", bits=4),
    3: _block("Q4_1", 32, _q4_1, "d:<f2 m:<f2 qs:16u1"),
    6: _block("Q5_0", 32, _q5_0, "d:<f2 qh:4u1 qs:16u1"),
    7: _block("Q5_1", 32, _q5_1, "d:<f2 m:<f2 qh:4u1 qs:16u1"),
    8: _block("Q8_0", 32, _q8, "d:<f2 qs:32i1"),
    10: _block("Q2_K", 256, _q2_k, "scales:16u1 qs:64u1 d:<f2 dmin:<f2"),
    11: _block("Q3_K", 256, _q3_k, "hmask:32u1 qs:64u1 scales:12u1 d:<f2", bits=4),
    12: _block("Q4_K", 256, _q4_k, "d:<f2 dmin:<f2 scales:12u1 qs:128u1"),
    13: _block("Q5_K", 256, _q5_k, "d:<f2 dmin:<f2 scales:12u1 qh:32u1 qs:128u1"),
    14: _block("Q6_K", 256, _q6_k, "ql:128u1 qh:64u1 scales:16i1 d:<f2"),
    15: _block("Q8_K", 256, _q8, "d:<f4 qs:256i1 bsums:16<i2"),
    20: _block("IQ4_NL", 32, _iq4_nl, "d:<f2 qs:16u1"),
    23: _block("IQ4_XS", 256, _iq4_xs, "d:<f2 scales_h:<u2 scales_l:4u1 qs:128u1"),
    34: _block("TQ1_0", 256, _tq1_0, "qs:48u1 qh:4u1 d:<f2", bits=4),
    35: _block("TQ2_0", 256, _tq2_0, "qs:64u1 d:<f2", bits=4),
    39: _block("MXFP4", 32, _mxfp4, "e:u1 qs:16u1"),
}
# Types that are known by name alone: tables of grids, or another purpose.
UNREAD: Mapping[int, str] = {
    9: "Q8_1",
    16: "IQ2_XXS",
    17: "IQ2_XS",
    18: "IQ3_XXS",
    19: "IQ1_S",
    21: "IQ3_S",
    22: "IQ2_S",
    24: "I8",
    25: "I16",
    26: "I32",
    27: "I64",
    28: "F64",
    29: "IQ1_M",
    40: "NVFP4",
    41: "Q1_0",
}
