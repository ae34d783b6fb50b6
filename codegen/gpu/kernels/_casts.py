"""Casts of integers from and to 64 bits, which devices have as two words."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import I32, U32, GpuKernel
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, store_index
from edgekit.codegen.gpu.kernels import _strided
from edgekit.codegen.gpu.use import GpuCall, UnsupportedError, groups_for
from edgekit.core.ops import Call
from edgekit.core.types import DType

_FITS = (DType.S32, DType.S8, DType.U8, DType.BOOL)  # in an index


def use(call: Call) -> GpuCall:
    of_x, of_y = call.args[0].type.dtype, call.args[-1].type.dtype
    shrinks = (of_x, of_y) == (DType.S64, DType.S32)
    if call.label != "cast" or not (shrinks or (of_x in _FITS and of_y is DType.S64)):
        raise UnsupportedError("integers of 64 bits")
    values = _strided.values(call, "a")
    n = _strided.size(values)
    return GpuCall(_shrinks() if shrinks else _widens(of_x), (0, 1), values | {"n": n}, groups_for(n))


@cache
def _shrinks() -> GpuKernel:
    """What has no place is cut off, as in C."""
    k = KernelBuilder("cast_s64_s32")
    x, y = k.buffer("x", I32), k.buffer("y", I32, writes=True)
    with k.when(k.item < k.constant("n")):
        (at,) = _strided.sources(k, k.item, "a")
        k.store(y, k.item, x[at * 2])
    return k.done()


@cache
def _widens(dtype: DType) -> GpuKernel:
    k = KernelBuilder(f"cast_{dtype.value}_s64")
    x, y = elements(k, "x", dtype), k.buffer("y", U32, writes=True)
    with k.when(k.item < k.constant("n")):
        (at,) = _strided.sources(k, k.item, "a")
        store_index(k, y, k.item, k.let("value", x[at]))
    return k.done()
