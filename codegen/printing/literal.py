"""Numbers as C text: every float is written here."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from edgekit.core.types import Array, DType


def number(value: object, ctype: str) -> str:
    """A number as a C constant of this type, exact."""
    if ctype in ("float", "double"):
        return _float(float(value), ctype == "float")  # type: ignore[arg-type]  # a number of any kind
    integer = int(value)  # type: ignore[call-overload]  # a number of any kind
    if ctype == "int64_t":
        return "(-9223372036854775807LL - 1)" if integer == -(2**63) else f"{integer}LL"
    if ctype == "uint64_t":
        return f"{integer}ULL"
    if ctype == "int32_t":
        return "(-2147483647 - 1)" if integer == -(2**31) else str(integer)
    return f"{integer}u" if ctype == "uint32_t" else str(integer)


def _float(value: float, single: bool) -> str:
    text = f"{value:.9g}" if single else f"{value:.17g}"
    suffix = "f" if single else ""
    if "." in text:  # all but round numbers: constants have millions of them
        return text + suffix
    if math.isnan(value):
        return f"EK_NAN_{'f32' if single else 'f64'}"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}EK_INF_{'f32' if single else 'f64'}"
    digits, e, exponent = text.partition("e")
    return f"{digits}.0{e}{exponent}{suffix}"


def elements(array: Array) -> Iterator[str]:
    """The elements of a constant, as they are stored: 16-bit and smaller floats as their bits."""
    dtype = DType.of(array.dtype)
    flat = np.ascontiguousarray(array).reshape(-1)
    if dtype.c in ("float", "double"):
        single = dtype.c == "float"
        for value in flat.tolist():
            yield _float(value, single)
    else:
        values = stored(flat).tolist()
        is_plain = dtype.bits < 32 or (dtype.c == "int32_t" and -(2**31) not in values)
        yield from map(str, values) if is_plain else (number(value, dtype.c) for value in values)


def stored(array: Array) -> Array:
    """The array as the plain numpy integers or floats that C stores."""
    dtype = DType.of(array.dtype)
    if dtype is DType.BOOL:
        return array.astype(np.uint8)
    if dtype in (DType.S4, DType.S2):
        return array.astype(np.int8)
    if dtype in (DType.U4, DType.U2):
        return array.astype(np.uint8)
    if dtype.is_float and dtype.bytes < 4:
        return array.view(np.uint16 if dtype.bytes == 2 else np.uint8)
    return array


def restored(array: Array, dtype: DType) -> Array:
    """The inverse of `stored`."""
    if dtype.is_float and dtype.bytes < 4:
        return array.view(dtype.numpy)
    return array.astype(dtype.numpy)


def crc_table() -> Iterator[str]:
    """What CRC-32, zlib's, is made of half a byte at a time."""
    for value in range(16):
        for _ in range(4):
            value = value >> 1 ^ (0xEDB88320 if value & 1 else 0)
        yield f"0x{value:08x}u"


def lines(items: Iterator[str], indent: str = "    ", width: int = 110) -> Iterator[str]:
    """Items with commas between them, filled into lines."""
    text = ", ".join(items)
    room = width - len(indent) - 2  # a comma ends each line, and one column stays empty
    start = 0
    while len(text) - start > room:
        end = text.rfind(", ", start, start + room + 2)
        end = end if end >= 0 else text.find(", ", start)
        if end < 0:
            break
        yield f"{indent}{text[start:end]},"
        start = end + 2
    if text:
        yield f"{indent}{text[start:]},"
