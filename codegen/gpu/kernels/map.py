"""Elementwise operators: the formula of the operator's file."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import F32, I32, Expr, GpuKernel, Kind, number
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each, per_item, stored
from edgekit.codegen.gpu.formula import formula
from edgekit.codegen.gpu.kernels import _strided, _wide_integers
from edgekit.codegen.gpu.use import GpuCall, groups_for
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("map1", "map2", "map2_nd", "map3", "map3_nd")


def use(call: Call) -> GpuCall:
    if any(arg.type.dtype is DType.S64 for arg in call.args):
        return _wide_integers.use(call)
    arity = int(call.kernel[3])
    letters = "abc"[:arity]
    values = _strided.values(call, letters)
    n = _strided.size(values)
    types = tuple(arg.type.dtype for arg in call.args)
    kernel = _kernel(call.label, call.expr, types)
    groups = groups_for(-(-n // per_item(types[-1])))
    return GpuCall(kernel, tuple(range(arity + 1)), values | {"n": n}, groups)


@cache
def _kernel(label: str, text: str, types: tuple[DType, ...]) -> GpuKernel:
    *of_operands, of_y = types
    k = KernelBuilder("_".join([label, *dict.fromkeys(t.value for t in types)]), is_exact=True)
    letters = "abc"[: len(of_operands)]
    operands = [elements(k, name, dtype) for name, dtype in zip(letters, of_operands, strict=True)]
    y = k.buffer("y", stored(of_y), writes=True)
    kind: Kind = F32 if of_operands[-1].is_float else I32

    def result(i: Expr) -> Expr:
        places = _strided.sources(k, i, letters)
        read = {c: k.let("read", x[at]) for c, x, at in zip(letters, operands, places, strict=True)}
        for c, dtype in zip(letters, of_operands, strict=True):
            if dtype is DType.BOOL:
                read[c] = read[c].ne(number(0, I32))
        return formula(k, text, kind, read)

    for_each(k, y, of_y, k.constant("n"), result)
    return k.done()
