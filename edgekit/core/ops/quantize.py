"""Between reals and integers: y = clamp(round(x / s) + z), y = s (x - z), and from one scale to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core import fixed
from edgekit.core.layouts import Layout
from edgekit.core.ops import Arg, Call, Op, OpInLayout, Step, require
from edgekit.core.ops._bounds import at_corners
from edgekit.core.ops._integer import quant_of, single_rule
from edgekit.core.ops._integer_maps import rescaled, table_call
from edgekit.core.ops._layout import stored
from edgekit.core.types import Array, DType, Quant, Type
from edgekit.core.value_ranges import Known, Pairs, Range, channels, together

# v + 0.5 may round up where v is just below a half.
_AWAY = "ek_trunc_f32(v) + (ek_fabs_f32(v - ek_trunc_f32(v)) < 0.5f ? 0.0f : v < 0.0f ? -1.0f : 1.0f)"


@dataclass(frozen=True)
class Quantize(Op):
    """The result's type says scale and zero point. Halves go to the even integer, or away from zero where
    TFLite's rules hold."""

    dtype: DType = DType.S8

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(x.dtype is DType.F32, f"takes float32, got {x}")
        return (replace(x, dtype=self.dtype),)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        quant = quant_of(outs[0])
        low, high = fixed.int_range(self.dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # NaN may be signaling
            scaled = args[0] / np.float32(quant.scale[0])
        rounded = np.rint(scaled) if quant.rounding == "E" else fixed.round_half_away(scaled)
        return (np.nan_to_num(rounded + quant.zero[0]).clip(low, high).astype(self.dtype.numpy),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        quant = quant_of(y.type)
        low, high = fixed.int_range(self.dtype)
        even = quant.rounding == "E"
        return [
            Call(
                kernel="quantize",
                types={"Y": self.dtype},
                args=(x, y),
                params={
                    "n": x.type.size,
                    "scale": quant.scale[0],
                    "zero": quant.zero[0],
                    "lo": low,
                    "hi": high,
                },
                label="quantize" if even else "quantize_tfl",
                expr="ek_round_even_f32(v)" if even else _AWAY,
            )
        ]

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        return stored(self, [ins[0]], [ins[0]])

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        return at_corners(self, ins, outs)

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        return [together(channels(out))]


@dataclass(frozen=True)
class Dequantize(Op):
    """The operand's type says scale and zero point."""

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(x.dtype.is_integer, f"takes integers, got {x}")
        return (Type(DType.F32, x.shape),)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        quant = quant_of(ins[0])
        difference = (args[0].astype(np.int32) - quant.zero[0]).astype(np.float32)
        return (np.float32(quant.scale[0]) * difference,)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        quant = quant_of(x.type)
        params = {"n": x.type.size, "scale": quant.scale[0], "zero": quant.zero[0]}
        return [Call("dequantize", {"A": x.type.dtype}, (x, y), params, label="dequantize")]

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        return stored(self, [ins[0]], [ins[0]])

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        return at_corners(self, ins, outs)

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        return [together(channels(out))]


@dataclass(frozen=True)
class Requantize(Op):
    """Integers of one scale as integers of another, and maybe of another width."""

    dtype: DType = DType.S8

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        narrow = x.dtype.is_integer and x.dtype.bits in (8, 16)
        require(narrow and self.dtype.bits in (8, 16), f"takes and makes 8 or 16 bits, got {x}")
        return (replace(x.real, dtype=self.dtype),)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        x, y = quant_of(ins[0]), quant_of(outs[0])
        low, high = fixed.int_range(self.dtype)
        centre = args[0].astype(np.int64) - x.zero[0]
        ratio = fixed.ratio(x, Quant((1.0,), (0,)), y)
        return (fixed.requantize(centre, ratio, y, low, high).astype(self.dtype.numpy),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        if x.type.dtype is DType.S8 and self.dtype is DType.S8:
            return [table_call(rescaled(x.type, y.type), x, y)]
        low, high = fixed.int_range(self.dtype)
        ratio = fixed.ratio(quant_of(x.type), Quant((1.0,), (0,)), quant_of(y.type))
        rule = single_rule(ratio, quant_of(y.type), 17)
        params = {"n": x.type.size, "x_zero": quant_of(x.type).zero[0], "zero": quant_of(y.type).zero[0]}
        return [
            Call(
                kernel="requantize",
                types={"A": x.type.dtype, "Y": self.dtype},
                args=(x, y),
                params={**params, "lo": low, "hi": high, **rule.params},
                expr=rule.expr,
                rule=rule.name,
            )
        ]

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        return stored(self, [ins[0]], [ins[0]])

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        return at_corners(self, ins, outs)

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        return [together(channels(out))]
