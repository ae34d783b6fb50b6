"""Reals to integers: by the least real for which each integer is the result, so that no division rounds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import I32, Expr, GpuKernel, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each, stored
from edgekit.codegen.gpu.use import (
    CONSTANTS,
    ConstantBuffer,
    GpuCall,
    UnsupportedError,
    groups_for,
    integer,
    integers,
    real,
)
from edgekit.core.fixed import round_half_away
from edgekit.core.ops import Call
from edgekit.core.types import Array, DType

CALLS = ("quantize",)
_ROUND: dict[str, Callable[[Array], Array]] = {"quantize": np.rint, "quantize_tfl": round_half_away}


def use(call: Call) -> GpuCall:
    of_y = call.args[-1].type.dtype
    if of_y not in (DType.S8, DType.U8) or call.label not in _ROUND:
        raise UnsupportedError(f"quantization to {of_y.value} by {call.label}")
    data = ConstantBuffer()
    data.add(_starts(call))
    values = integers(call, "n lo")
    return GpuCall(
        _kernel(call.args[0].type.dtype, of_y),
        (0, CONSTANTS, 1),
        values,
        groups_for(-(-int(values["n"]) // 4)),
        data.bytes,
    )


def _starts(call: Call) -> Array:
    """The least float that becomes lo + 1, that for lo + 2, and so on: 255 of them, infinite at last."""
    scale, rounded = np.float32(real(call, "scale")), _ROUND[call.label]
    zero, lo, hi = (integer(call, name) for name in ("zero", "lo", "hi"))
    wanted = np.arange(lo + 1, lo + 256)

    def result(ordered: Array) -> Array:
        with np.errstate(all="ignore"):
            r = rounded(_float(ordered) / scale) + np.float32(zero)
            return np.where(r <= lo, lo, np.where(r >= hi, hi, r))

    low = np.full(255, _INFINITE * -1 - 1, np.int64)  # just below minus infinity; of which nothing is asked
    high = np.full(255, _INFINITE, np.int64)
    while (high - low > 1).any():
        middle = (low + high) // 2
        reached = (middle >= -_INFINITE) & (result(np.maximum(middle, -_INFINITE)) >= wanted)
        high, low = np.where(reached, middle, high), np.where(reached, low, middle)
    return np.where(wanted <= hi, _float(high), np.float32(np.inf)).astype(np.float32)


_INFINITE = 0x7F800000


def _float(ordered: Array) -> Array:
    """The float of this number, where floats are counted from zero on in both directions."""
    bits = np.where(ordered < 0, np.abs(ordered) | 0x80000000, ordered).astype(np.uint32)
    found: Array = bits.view(np.float32)
    return found


@cache
def _kernel(of_x: DType, of_y: DType) -> GpuKernel:
    k = KernelBuilder(f"quantize_{of_x.value}_{of_y.value}")
    x, starts = elements(k, "x", of_x), elements(k, "starts", DType.F32)
    y = k.buffer("y", stored(of_y), writes=True)
    n, lo = k.constants("n lo")

    def result(i: Expr) -> Expr:
        value = k.let("value", x[i])
        reached = k.var("reached", number(0, I32))
        for step in (128, 64, 32, 16, 8, 4, 2, 1):
            further = value >= starts[reached + (step - 1)]
            k.set(reached, reached + select(further, number(step, I32), number(0, I32)))
        bits = value.bits(I32) & 0x7FFFFFFF
        return select(bits > _INFINITE, number(0, I32), lo + reached)  # not a number

    for_each(k, y, of_y, n, result)
    return k.done()
