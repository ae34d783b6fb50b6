"""y = (x - mean) / sqrt(variance + epsilon) * scale + bias, over the last dimension; also without mean, bias.

On quantized x, scale and bias stay reals: they become integers together with the scale of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core import fixed
from edgekit.core.layouts import Layout, plain
from edgekit.core.ops import ELEMENT, Arg, Call, Op, OpInLayout, Step, require
from edgekit.core.ops._integer import constant, quant_of
from edgekit.core.ops._layout import stored
from edgekit.core.ops._map import real_type
from edgekit.core.ops._order import is_narrow, row_sums, term_by_term
from edgekit.core.types import Array, DType, Type, Value


@dataclass(frozen=True)
class LayerNorm(Op):
    """Operands: x [..., n], scale [n], bias [n]."""

    epsilon: float

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, scale, bias = ins
        require(
            x.rank >= 1 and scale.shape == bias.shape == x.shape[-1:],
            f"takes x[..., n], scale[n], bias[n], got {x}, {scale}, {bias}",
        )
        _check_types(*ins)
        return (x,)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, scale, bias = ins
        if is_narrow(x):
            return (_rows_in_c(x, self.epsilon, scale, bias),)
        d = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(d).mean(axis=-1, keepdims=True)
        return ((d / np.sqrt(variance + x.dtype.type(self.epsilon)) * scale + bias).astype(x.dtype),)

    def in_c(self, *ins: Array) -> tuple[Array, ...]:
        x, scale, bias = ins
        return (_rows_in_c(x, self.epsilon, scale, bias),)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        return _integers(args, ins, outs[0], self.epsilon, centre=True)

    def has_integers(self, ins: Sequence[Value]) -> bool:
        return _has_integers(ins)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        return super().work(ins, outs) + 8 * ELEMENT * ins[0].size + term_by_term(ins[0], ins[0].shape[-1])

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        return _rows("layer_norm", ins, outs, self.epsilon)

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        x, *vectors = ins
        if at != 0 or not x.ends_alike:
            return None
        return stored(self, [x, *(plain(v.value_shape) for v in vectors)], [x])


@dataclass(frozen=True)
class RmsNorm(Op):
    """y = x / sqrt(mean of x x + epsilon) * scale. Operands: x [..., n], scale [n]."""

    epsilon: float

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, scale = ins
        require(x.rank >= 1 and scale.shape == x.shape[-1:], f"takes x[..., n], scale[n], got {x}, {scale}")
        _check_types(*ins)
        return (x,)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, scale = ins
        if is_narrow(x):
            return (_rows_in_c(x, self.epsilon, scale),)
        square = np.square(x).mean(axis=-1, keepdims=True)
        return ((x / np.sqrt(square + x.dtype.type(self.epsilon)) * scale).astype(x.dtype),)

    def in_c(self, *ins: Array) -> tuple[Array, ...]:
        x, scale = ins
        return (_rows_in_c(x, self.epsilon, scale),)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        return _integers(args, ins, outs[0], self.epsilon, centre=False)

    def has_integers(self, ins: Sequence[Value]) -> bool:
        return _has_integers(ins)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        return super().work(ins, outs) + 8 * ELEMENT * ins[0].size + term_by_term(ins[0], ins[0].shape[-1])

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        return _rows("rms_norm", ins, outs, self.epsilon)

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        x, *vectors = ins
        if at != 0 or not x.ends_alike:
            return None
        return stored(self, [x, *(plain(v.value_shape) for v in vectors)], [x])


def _check_types(x: Type, *vectors: Type) -> None:
    require(
        real_type(x.dtype) or (x.dtype is DType.S8 and x.quant is not None),
        f"is not defined on {x.dtype.value}",
    )
    wanted = DType.F32 if x.quant is not None else x.dtype
    found = ", ".join(map(str, vectors))
    require(all(v.dtype is wanted for v in vectors), f"operands differ in type: {x}, {found}")


def _rows_in_c(x: Array, epsilon: float, scale: Array, bias: Array | None = None) -> Array:
    """Rows of floats in the steps of the kernels, computed in float32; without bias, not centred."""
    wide = x.astype(np.float32)
    n = np.float32(x.shape[-1])
    with np.errstate(all="ignore"):
        d = wide - row_sums(wide) / n if bias is not None else wide
        inverse = np.float32(1) / np.sqrt(row_sums(d * d) / n + np.float32(epsilon))
        y = d * inverse * scale.astype(np.float32)
        return (y if bias is None else y + bias.astype(np.float32)).astype(x.dtype)


def _has_integers(ins: Sequence[Value]) -> bool:
    """Scale and bias become integers once and for all."""
    x, *vectors = ins
    return (
        x.data is None
        and 0 < x.type.shape[-1] <= fixed.MAX_NORMED
        and all(v.data is not None for v in vectors)
    )


@dataclass(frozen=True)
class _Rule:
    """A normalization of integers, as fixed.py defines it."""

    digits: int
    epsilon: int
    factors: Array  # of each element of a row
    constants: Array
    shift: int


def _rule(x: Type, out: Type, vectors: Sequence[Array], epsilon: float, *, centre: bool) -> _Rule:
    n = x.shape[-1]
    scale, bias = vectors if centre else (*vectors, np.zeros(n))
    digits = fixed.norm_digits(n, centre=centre)
    addend = fixed.norm_epsilon(epsilon, n, quant_of(x).scale[0])
    return _Rule(digits, addend, *fixed.norm_factors(scale, bias, digits, quant_of(out)))


def _integers(
    args: Sequence[Array], ins: Sequence[Type], out: Type, epsilon: float, *, centre: bool
) -> tuple[Array, ...]:
    rule = _rule(ins[0], out, args[1:], epsilon, centre=centre)
    u = args[0].astype(np.int64) - quant_of(ins[0]).zero[0]
    z = fixed.normalized(u, rule.epsilon, rule.digits, centre=centre)
    y = (z * rule.factors + rule.constants) >> rule.shift
    return (y.clip(*fixed.int_range(out.dtype)).astype(out.dtype.numpy),)


def _rows(kernel: str, ins: Sequence[Arg], outs: Sequence[Arg], epsilon: float) -> list[Step]:
    x = ins[0].type
    n = x.shape[-1]
    if x.quant is not None:
        return [_integer_rows(ins, outs[0], epsilon, centre=kernel == "layer_norm")]
    params = {"rows": x.size // n, "n": n, "epsilon": epsilon}
    return [Call(kernel=kernel, types={"T": x.dtype}, args=(*ins, *outs), params=params, inplace=(0,))]


def _integer_rows(ins: Sequence[Arg], y: Arg, epsilon: float, *, centre: bool) -> Call:
    """The kernel call on quantized rows."""
    x, *others = ins
    vectors = [v.value.data for v in others if v.value.data is not None]
    require(len(vectors) == len(others), "scale and bias of quantized rows should be constants")
    rule = _rule(x.type, y.type, vectors, epsilon, centre=centre)
    n = x.type.shape[-1]
    low, high = fixed.int_range(y.type.dtype)
    tables = (
        constant(f"{y.name}#seed", fixed.ROOT_SEED, "first guesses of 1 / sqrt(x)"),
        constant(f"{y.name}#factors", rule.factors.astype(np.int16), "the scales, in that of the result"),
        constant(
            f"{y.name}#constants",
            rule.constants.astype(np.int32),
            "the biases and the zero point, see #factors",
        ),
    )
    params = {"rows": x.type.size // n, "n": n, "centre": int(centre), "x_zero": quant_of(x.type).zero[0]}
    params |= {"epsilon": rule.epsilon, "digits": rule.digits, "shift": rule.shift, "lo": low, "hi": high}
    return Call("norm_s8", {}, (x, *tables, y), params, label="norm_s8", inplace=(0,))
