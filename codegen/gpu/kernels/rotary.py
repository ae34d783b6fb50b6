"""Rotary position embedding: pairs of numbers, one of each half of a head, turned by angles."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import F32, GpuKernel
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.use import GpuCall, UnsupportedError, groups_for, integer, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("rotary",)


def use(call: Call) -> GpuCall:
    if call.types["T"] is not DType.F32:
        raise UnsupportedError(f"{call.kernel} of {call.types['T'].value}")
    values = integers(call, "positions repeat second") | {"width": integer(call, "half")}
    values["pairs"] = call.args[0].type.size // 2
    return GpuCall(_kernel(), (0, 1, 2, 3), values, groups_for(int(values["pairs"])))


@cache
def _kernel() -> GpuKernel:
    k = KernelBuilder("rotary", is_exact=True)
    x, cosine, sine = (k.buffer(name, F32) for name in ("x", "cosine", "sine"))
    y = k.buffer("y", F32, writes=True)
    pairs, positions, repeat, width, second = k.constants("pairs positions repeat width second")
    with k.when(k.item < pairs):
        head, i = k.let("head", k.item // width), k.let("i", k.item % width)
        at = k.let("at", head // repeat % positions * (width + second) + i)
        left = k.let("left", head * width * 2 + i)
        right = k.let("right", left + width)
        a, b = k.let("a", x[left]), k.let("b", x[right])
        k.store(y, left, a * cosine[at] - b * sine[at])
        k.store(y, right, b * cosine[at + second] + a * sine[at + second])
    return k.done()
