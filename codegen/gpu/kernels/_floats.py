"""What layers of floats have in common: types, limits of the result, weights and biases as data."""

from __future__ import annotations

from math import isinf

import numpy as np

from edgekit.codegen.gpu.ast import F32, U32, Expr, function
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import is_half
from edgekit.codegen.gpu.use import ConstantBuffer, UnsupportedError, constant_of, real
from edgekit.core.ops import Call
from edgekit.core.types import Array, DType

Limits = tuple[bool, bool]  # is there a lower one, an upper one?
Types = tuple[DType, DType]  # of tensors, of weights


def float_type(call: Call) -> DType:
    """Of the operands; sums are float32."""
    dtype = call.types["T"]
    if dtype is not DType.F32 and not is_half(dtype):
        raise UnsupportedError(f"{call.kernel} of {dtype.value}")
    return dtype


def weight_type(call: Call) -> DType:
    """How weights are stored."""
    return call.types["W"] if is_half(call.types["W"]) else DType.F32


def named(types: Types) -> str:
    """In the name of a kernel: of tensors, and of weights if that is another one."""
    return "_".join(dict.fromkeys(t.value for t in types))


def limits_of(call: Call) -> tuple[dict[str, float], Limits]:
    """Those limits of the result that there are, as constants."""
    ends = {name: real(call, name) for name in ("lo", "hi")}
    return {n: v for n, v in ends.items() if not isinf(v)}, (not isinf(ends["lo"]), not isinf(ends["hi"]))


def with_bias(call: Call, w: Array, unit: int) -> tuple[bytes, int]:
    """The weights and the bias as data, and where that is, in units of so many bytes."""
    data = ConstantBuffer()
    data.add(w)
    bias = data.add(constant_of(call, 2).astype(np.float32)) // unit
    return data.bytes, bias


def limited(k: KernelBuilder, y: Expr, limits: Limits) -> Expr:
    for name, end, is_given in zip(("lo", "hi"), ("max", "min"), limits, strict=True):
        if is_given:
            y = function(end, y, k.constant(name, F32))
    return y


def rounded(product: Expr, nothing: Expr) -> Expr:
    """A product that no compiler fuses with a sum: it cannot know that `nothing`, a word of memory, is 0."""
    return (product.bits(U32) ^ nothing).bits(F32)


def nearest(whole: Expr) -> Expr:
    """The nearest float to a large integer: languages promise one of both neighbours."""
    return (whole >> 12).to(F32) * 4096 + (whole & 4095).to(F32)


def label(limits: Limits) -> str:
    """Of a kernel with such limits."""
    return "".join(f"_{name}" for name, is_given in zip(("lo", "hi"), limits, strict=True) if is_given)
