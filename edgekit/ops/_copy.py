"""Data movement: calls of the strided copy kernel, which moves elements of 1, 2, 4 or 8 bytes."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.ir import DType
from edgekit.ops import Arg, Call
from edgekit.ops._strided import Strides, loops

_WORD = {1: DType.U8, 2: DType.U16, 4: DType.U32, 8: DType.U64}


def word(dtype: DType) -> DType:
    """The unsigned integer that moves an element of `dtype`."""
    return _WORD[dtype.bytes]


def copy(
    x: Arg,
    y: Arg,
    shape: Sequence[int],
    x_strides: Strides,
    y_strides: Strides,
    x_start: int = 0,
    y_start: int = 0,
) -> list[Call]:
    """y[y_start + i . y_strides] = x[x_start + i . x_strides] for every index i of `shape`."""
    return [
        Call(
            kernel="copy",
            types={"T": word(x.type.dtype)},
            args=(x, y),
            params={"n": n, "x": xs, "y": ys, "x0": x_start + x0, "y0": y_start + y0},
        )
        for n, (xs, ys), (x0, y0) in loops(shape, x_strides, y_strides)
    ]
