"""Layers with weights: y = clamp(f(x, w) + b, lo, hi), where f is linear in x and in w.

x and w may have different formats: floats of 32 bits take weights of 16, or of 8 with scales; plain integers
of 32 bits take weights of 8 or 16, and quantized tensors of 8 or 16 bits those of 8 or 4. Sums of 16-bit
floats are computed in float32, in the order of the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any, ClassVar

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import Call, Op, Param, require
from edgekit.core.ops._integer import BIAS, acc_bits, constant, requantize_sums
from edgekit.core.reasons import OperandError
from edgekit.core.types import Array, DType, Type, Value
from edgekit.core.value_ranges import Known, Range


class Linear(Op):
    """Operands: x [..., I], w [O, ..., I / groups], b [O]; the result is [..., O]. Between the first and the
    last dimension of w are its taps, over which f adds up."""

    lo: float
    hi: float
    groups: int = 1
    dtype: DType | None = None  # of quantized results; None: that of x

    computed_once: ClassVar[bool] = False  # LiteRT's rule for fully connected layers: one rounding

    @property
    def skips_taps(self) -> bool:
        """May a sum leave some weights out, because its window leaves the image?"""
        return False

    def is_depthwise(self, w: Type) -> bool:
        """Has each output one input of its own?"""
        return self.groups > 1 and w.shape[-1] == 1

    def has_integers(self, ins: Sequence[Value]) -> bool:
        """Weights and bias become integers once and for all."""
        x, *rest = ins
        return x.data is None and all(value.data is not None for value in rest)

    def result_dtype(self, x: Type, w: Type) -> DType:
        """The format of results; TypeError where x and w do not go together."""
        narrower = {
            DType.F32: (DType.S8,) if w.quant else (DType.F16, DType.BF16),
            DType.S32: () if w.quant else (DType.S8, DType.S16),
            DType.S8: (DType.S4,) if w.quant else (),
            DType.S16: (DType.S8, DType.S4) if w.quant else (),
        }
        if w.dtype is not x.dtype and w.dtype not in narrower.get(x.dtype, ()):
            raise OperandError(f"input {x} and weights {w} differ in type")
        around_zero = w.quant is None or (w.quant.axis in (None, 0) and not any(w.quant.zero))
        if not around_zero and x.quant is None:
            raise OperandError(f"weights {w} need scales of outputs, without zero points")
        require(self.dtype is None or x.quant is not None, "a format for results is for quantized tensors")
        return self.dtype or x.dtype

    def on_reals(self, args: Sequence[Array], w: Type) -> tuple[Array, ...]:
        """The results for real x and integer weights that have scales."""
        return self.eval(args[0], real_weights(args[1], w), *args[2:])

    def finished(self, sums: Array, ins: Sequence[Type], out: Type, bits: int = 31) -> Array:
        """The results that belong to the sums f(x, w) + b, one for each output in the last dimension. `bits`
        of those of quantized tensors."""
        if out.quant is None:
            return clamped(sums, self.lo, self.hi).astype(out.dtype.numpy)
        return requantize_sums(sums, ins, out, self.lo, self.hi, bits=bits, dense=self.computed_once)

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        x, w, b = ins
        if w.data is None or b.data is None or not (x.type.dtype.is_float or x.type.quant):
            return None
        weights = w.data if x.type.quant else real_weights(w.data, w.type)
        ends = np.stack(self._extremes(x, weights)) + b.data.astype(np.float64)
        bits = acc_bits(x.type, w.data, b.data) if x.type.quant else 31
        results = self.finished(ends, [v.type for v in ins], outs[0], bits)
        return [(results[0], results[1])]

    def _extremes(self, x: Known, w: Array) -> tuple[Array, Array]:
        """The least and the largest that f(x, w) can be."""
        if x.is_anything and x.type.dtype.is_float:  # as it is behind most layers: zero filters say something
            reads = (w != 0).any(axis=tuple(range(1, w.ndim)))
            return np.where(reads, -np.inf, 0), np.where(reads, np.inf, 0)
        outputs, inputs = w.shape[0] // self.groups, w.shape[-1]
        weights = w.astype(np.float64).reshape(self.groups, outputs, -1, inputs)
        positive, negative = np.maximum(weights, 0).sum(axis=2), np.minimum(weights, 0).sum(axis=2)
        least, most = (
            end.astype(np.float64).reshape(self.groups, 1, inputs) - x.zero for end in (x.lo, x.hi)
        )
        if self.skips_taps:
            least, most = np.minimum(least, 0), np.maximum(most, 0)
        return _sum(positive, least) + _sum(negative, most), _sum(positive, most) + _sum(negative, least)


def real_weights(w: Array, type: Type) -> Array:
    """Weights as the reals that they stand for."""
    if type.quant is None:
        return w
    real: Array = w.astype(np.float32) * _scales(type)
    return real


def _scales(w: Type) -> Array:
    """The scales of outputs, along the first dimension of weights."""
    assert w.quant is not None, f"{w} has no scales"
    scales = np.broadcast_to(np.asarray(w.quant.scale, np.float32), w.shape[:1])
    return scales.reshape(-1, *(1,) * (w.rank - 1))


def float_call(call: Call) -> Call:
    """The call of a layer on plain numbers; where its weights are integers with scales, they are applied to
    sums, and the bias is in units of them."""
    x, w, b, y = call.args
    if w.type.quant is None:
        return call
    if b.value.data is None:
        raise EdgeKitError("E0207", "a bias that is computed at run time goes with weights of floats", b.name)
    scales = _scales(w.type).reshape(-1)
    in_units = bias_in_units(b.value.data, w.type)
    if in_units is None:
        message = "a bias is too large for the scale of its weights"
        raise EdgeKitError("E0207", message, b.name, hint="--wide-weights")
    scale = constant(f"{y.name}#scale", scales.copy(), "the scales of the weights")
    bias = constant(f"{y.name}#bias", in_units, BIAS)
    args = (x, w, bias, scale, y)
    return replace(call, kernel=f"{call.kernel}_scaled", args=args)


def bias_in_units(bias: Array, w: Type) -> Array | None:
    """A bias in units of its weights' scales; none where that is beyond what float32 can hold."""
    with np.errstate(over="ignore"):
        units = (bias.astype(np.float64) / _scales(w).reshape(-1)).astype(np.float32)
    return units if np.isfinite(units).all() or not np.isfinite(bias).all() else None


def wrapping(dtype: DType) -> DType:
    """The type to add up in: integers as unsigned, which wrap to the bits that signed ones must not in C."""
    return DType(f"u{dtype.bits}") if dtype.is_integer else dtype


def letters(*ins: Type) -> dict[str, DType]:
    """The types that kernels of layers on plain numbers are made for. Integers are added up as unsigned ones,
    which wrap; weights that are narrower than these keep their sign."""
    x, w, b = ins
    types = {"T": wrapping(x.dtype), "W": w.dtype, "B": wrapping(b.dtype)}
    return types | {"W": types["T"]} if w.dtype is x.dtype else types


def wide_type(dtype: np.dtype[Any]) -> type:
    """The type in which `eval` adds up products."""
    if not DType.of(dtype).is_float:
        return np.int64
    return np.float64 if dtype == np.float64 else np.float32


def limits(dtype: DType, lo: float, hi: float) -> dict[str, Param]:
    """The limits of a result as kernels take them. Integers are computed as unsigned, and have none."""
    return {"lo": lo, "hi": hi} if dtype.is_float else {"lo": 0, "hi": (1 << max(dtype.bits, 32)) - 1}


def _sum(weights: Array, x: Array) -> Array:
    """Sums over the inputs; 0 times infinity is 0."""
    total: Array = (weights * np.where(weights == 0, 0, x)).sum(axis=2)
    return total.reshape(-1)


def clamped(sums: Array, lo: float, hi: float) -> Array:
    """Within lo and hi; a zero keeps its sign, and NaN stays."""
    if (lo, hi) == (-inf, inf):
        return sums
    kind = sums.dtype.type
    result: Array = np.where(sums < kind(lo), kind(lo), np.where(sums > kind(hi), kind(hi), sums))
    return result
