"""Numbers as C text: every float is written here."""

from __future__ import annotations

import re
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
    suffix = "f" if single else ""
    if np.isnan(value):
        return f"EK_NAN_{'f32' if single else 'f64'}"
    if np.isinf(value):
        return f"{'-' if value < 0 else ''}EK_INF_{'f32' if single else 'f64'}"
    text = f"{value:.9g}" if single else f"{value:.17g}"
    if not re.search(r"[.e]", text):
        text += ".0"
    return re.sub(r"^(-?\d+)e", r"\1.0e", text) + suffix


def elements(array: Array) -> Iterator[str]:
    """The elements of a constant, as they are stored: 16-bit and smaller floats as their bits."""
    dtype = DType.of(array.dtype)
    flat = np.ascontiguousarray(array).reshape(-1)
    if dtype.c in ("float", "double"):
        single = dtype.c == "float"
        for value in flat.tolist():
            yield _float(value, single)
    else:
        for value in stored(flat).tolist():
            yield number(value, dtype.c)


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


def lines(items: Iterator[str], indent: str = "    ", width: int = 110) -> Iterator[str]:
    """Items with commas between them, filled into lines."""
    line = indent
    for item in items:
        if len(line) + len(item) + 2 > width and line.strip():
            yield line.rstrip()
            line = indent
        line += item + ", "
    if line.strip():
        yield line.rstrip()
