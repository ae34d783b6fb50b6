"""Data movement: calls of the strided copy kernel."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.core.ops import Arg, Call
from edgekit.core.ops._strided import Strides, loops
from edgekit.core.types import DType

# One copy kernel serves all types that C stores alike. Never another C type of the same size: that would
# break the aliasing rules, and compilers act on them once the kernel is inlined.
_STORED_AS = {d.c: d for d in reversed(DType)} | {
    "ek_f16": DType.U16,
    "ek_bf16": DType.U16,
    "uint8_t": DType.U8,
}


def stored_as(dtype: DType) -> DType:
    """The type as which elements of `dtype` are moved."""
    return _STORED_AS[dtype.c]


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
            types={"T": stored_as(x.type.dtype)},
            args=(x, y),
            params={"n": n, "x": xs, "y": ys, "x0": x_start + x0, "y0": y_start + y0},
        )
        for n, (xs, ys), (x0, y0) in loops(shape, x_strides, y_strides)
    ]
