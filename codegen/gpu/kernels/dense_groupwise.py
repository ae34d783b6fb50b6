"""Fully connected layer of floats whose weights are integers, with a scale for each group of them.

A word has four weights of 8 bits, or eight of 4, which are unpacked as they are read. Words of neighbouring
outputs lie side by side, as neighbouring items read them. An item computes one output: of a single row, where
few rows leave nothing to share (matrix times vector), or of four rows, for which it unpacks weights once.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import F32, I32, U32, Expr, GpuKernel, function, number
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements
from edgekit.codegen.gpu.kernels import _floats
from edgekit.codegen.gpu.use import (
    CONSTANTS,
    ConstantBuffer,
    GpuCall,
    UnsupportedError,
    constant_of,
    groups_for,
    integer,
    integers,
)
from edgekit.core.ops import Call
from edgekit.core.types import Array, DType

CALLS = ("dense_groupwise", "dense_groupwise_symmetric")
_ROWS = 4  # that share what is unpacked


def use(call: Call) -> GpuCall:
    if call.types["T"] is not DType.F32:
        raise UnsupportedError(f"{call.kernel} of {call.types['T'].value}")
    rows, inputs, outputs, group = (integer(call, name) for name in ("rows", "inputs", "outputs", "group"))
    dtype = call.types["W"]
    bits, per = dtype.bits, 32 // dtype.bits
    if inputs % per or group % per:
        raise UnsupportedError(f"groups of {group} of {inputs} weights: {per} are a word")
    data, values = ConstantBuffer(), integers(call, "rows inputs outputs")
    data.add(_words(constant_of(call, 1), bits))
    has_zero = call.kernel == "dense_groupwise"
    floats = {"scale": 2, "bias": len(call.args) - 2} | ({"zero": 3} if has_zero else {})
    for name, i in floats.items():
        values[name] = data.add(constant_of(call, i).astype(np.float32).T) // 4
    ends, limits = _floats.limits_of(call)
    values |= {"words": inputs // per, "group": group // per} | ends
    shared = _ROWS if rows >= _ROWS else 1
    kernel = _kernel(bits, shared, has_zero, limits)
    return GpuCall(
        kernel,
        (0, CONSTANTS, len(call.args) - 1),
        values,
        groups_for(-(-rows // shared) * outputs),
        data.bytes,
    )


def _words(q: Array, bits: int) -> Array:
    """[words, outputs]: the first weight of a word is in its lowest bits."""
    per = 32 // bits
    parts = (q.astype(np.uint32) & np.uint32((1 << bits) - 1)).reshape(len(q), -1, per)
    words = np.zeros(parts.shape[:2], np.uint32)
    for j in range(per):
        words |= parts[:, :, j] << np.uint32(bits * j)
    return np.ascontiguousarray(words.T)


@cache
def _kernel(bits: int, shared: int, has_zero: bool, limits: _floats.Limits) -> GpuKernel:
    kind = "_zero" * has_zero + _floats.label(limits)
    k = KernelBuilder(f"dense_groupwise_s{bits}{kind}_x{shared}")
    x, w, y = elements(k, "x", DType.F32), k.buffer("w", U32), k.buffer("y", F32, writes=True)
    rows, inputs, outputs, words, group = k.constants("rows inputs outputs words group")
    scale, bias = k.constants("scale bias")
    zero = k.constant("zero") if has_zero else None

    def numbers(name: str) -> list[Expr]:
        return [k.var(name, number(0, F32)) for _ in range(shared)]

    first = k.let("first", k.item // outputs * shared)
    o = k.let("o", k.item % outputs)
    with k.when(first < rows):
        starts = [k.let("start", function("min", first + r, rows - 1) * inputs) for r in range(shared)]
        totals = numbers("total")
        with k.loop("g", 0, (words + group - 1) // group) as g:
            sums, plain = numbers("sum"), numbers("plain") if has_zero else []
            begin = k.let("begin", g * group)
            with k.loop("c", begin, function("min", begin + group, words)) as c:
                word = k.let("word", w[c * outputs + o])
                for j in range(32 // bits):
                    weight = k.let(
                        "weight", ((word << (32 - bits - bits * j)).bits(I32) >> (32 - bits)).to(F32)
                    )
                    for r, start in enumerate(starts):
                        value = k.let("value", x[start + c * (32 // bits) + j])
                        k.set(sums[r], sums[r] + value * weight)
                        if has_zero:
                            k.set(plain[r], plain[r] + value)
            factor = k.let("factor", w[scale + g * outputs + o].bits(F32))
            for r, total in enumerate(totals):
                part = sums[r]
                if zero is not None:
                    part = part - plain[r] * w[zero + g * outputs + o].bits(F32)
                k.set(total, total + factor * part)
        for r, total in enumerate(totals):
            with k.when(first + r < rows):
                result = total + w[bias + o].bits(F32)
                k.store(y, (first + r) * outputs + o, _floats.limited(k, result, limits))
    return k.done()
