"""Products of computed matrices, floats and int8; dot products of rows are the case of one stride."""

from __future__ import annotations

from functools import cache
from math import prod

from edgekit.codegen.gpu.ast import F32, I32, Expr, GpuKernel, number
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, per_item, stored
from edgekit.codegen.gpu.kernels import _floats, _rule
from edgekit.codegen.gpu.kernels._split_k import Part, Split, for_each_sum, shortest_split
from edgekit.codegen.gpu.use import (
    GpuCall,
    UnsupportedError,
    integer,
    integers,
    listed,
    numbered,
)
from edgekit.core.ops import Call
from edgekit.core.ops._strided import RANK, contiguous
from edgekit.core.types import DType

CALLS = ("matmul", "matmul_nt", "matmul_s8", "matmul_nt_s8")
_PLACES = "a0 b0 rows inner columns a_row"


def use(call: Call) -> GpuCall:
    is_int = call.kernel.endswith("_s8")
    dtype = DType.S8 if is_int else _floats.float_type(call)
    values = numbered(call, "n a_n b_n") | integers(call, _PLACES)
    b_row = integer(call, "b_row")
    if "_nt" in call.kernel:
        values |= {"a_inner": 1, "b_inner": 1, "b_column": b_row}
    else:
        values |= {"b_inner": b_row} | integers(call, "a_inner b_column")
    n, size = listed(call, "n"), integer(call, "rows") * integer(call, "columns")
    dense = [step * size for step in contiguous(n)]
    if integer(call, "y0") or any(
        step != own for count, step, own in zip(n, dense, listed(call, "y_n"), strict=True) if count > 1
    ):
        raise UnsupportedError(f"{call.kernel} into a part of a tensor")
    values |= {"results": prod(n) * size}
    if is_int:
        values |= integers(call, f"a_zero b_zero {_rule.SINGLE}")
    rule, words = _rule.rule_of(call) if is_int else "", -(-prod(n) * size // per_item(dtype))

    def split_so(split: Split) -> GpuCall:
        return GpuCall(_kernel(dtype, rule, split), (0, 1, 2), values, split.groups(words))

    return shortest_split(1, integer(call, "inner"), split_so)


@cache
def _kernel(dtype: DType, rule: str, split: Split) -> GpuKernel:
    k = KernelBuilder(f"matmul_{rule or dtype.value}{split.label}")
    a, b = elements(k, "a", dtype), elements(k, "b", dtype)
    y = k.buffer("y", stored(dtype), writes=True)
    rows, inner, columns, a_row, a_inner, b_inner, b_column = k.constants(
        "rows inner columns a_row a_inner b_inner b_column"
    )

    def partial(part: Part, i: Expr) -> Expr:
        row = k.let("row", i // columns)
        of_a = k.constant("a0") + (row % rows) * a_row
        of_b = k.constant("b0") + (i % columns) * b_column
        rest = k.let("rest", row // rows)
        for d in reversed(range(RANK)):
            n = k.constant(f"n_{d}")
            at = k.let("at", rest % n)
            rest = k.let("rest", rest // n)
            of_a, of_b = of_a + at * k.constant(f"a_n_{d}"), of_b + at * k.constant(f"b_n_{d}")
        of_a, of_b = k.let("of_a", of_a), k.let("of_b", of_b)
        acc = k.var("sum", number(0, I32 if rule else F32))
        with k.loop("c", part.channel, inner, split.channels) as c:
            left, right = a[of_a + c * a_inner], b[of_b + c * b_inner]
            if rule:
                left, right = left - k.constant("a_zero"), right - k.constant("b_zero")
            k.set(acc, acc + left * right)
        return acc

    def result(_: Expr, acc: Expr) -> Expr:
        return _rule.single(k, rule, acc) if rule else acc

    for_each_sum(k, split, y, dtype, k.constant("results"), partial, result)
    return k.done()
