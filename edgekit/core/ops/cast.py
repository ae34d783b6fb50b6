"""y = x as another element type: converted (Cast), or its bits read anew (BitCast)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core.layouts import Layout
from edgekit.core.ops import Arg, Op, OpInLayout, Step, View, require
from edgekit.core.ops._layout import stored
from edgekit.core.ops._map import Unary, compute_type
from edgekit.core.types import Array, DType, Type, finfo

_FLOAT8 = (DType.F8E4M3FN, DType.F8E4M3FNUZ, DType.F8E5M2, DType.F8E5M2FNUZ)
_SUB_BYTE = (DType.S4, DType.U4, DType.S2, DType.U2)
ROUND_MODES = ("up", "down", "nearest")


@dataclass(frozen=True)
class Cast(Unary):
    """Integers lose their high bits. Floats lose their fraction, then saturate at 32 bits (at 64 where the
    result has more than s32 can hold) and lose the high bits beyond the result; NaN becomes 0. Floats of 8
    bits come from float32. `saturate` is for the float8 types, `round_mode` for f8e8m0 alone, as in ONNX."""

    to: DType
    saturate: bool = True
    round_mode: str = "up"

    def result(self, *ins: DType) -> DType:
        return self.to

    def formula(self, *ins: DType) -> str:
        source = compute_type(ins[0])
        real = "a" if source is DType.F32 else "(float)a"
        if self.to in _FLOAT8:
            return f"ek_f32_to_{self.to.value}({real}, {int(self.saturate)})"
        if self.to is DType.F8E8M0:
            return f"ek_f32_to_f8e8m0({real}, {int(self.saturate)}, EK_ROUND_{self.round_mode.upper()})"
        if self.to is DType.F4E2M1:
            return f"ek_f32_to_f4e2m1({real})"
        if self.to is DType.F16 and source is DType.F64:
            return "ek_f16_to_f32(ek_f64_to_f16(a))"  # rounded once
        if self.to.is_float:
            return real if self.to is not DType.F64 else "a" if source is DType.F64 else "(double)a"
        if self.to is DType.BOOL or not source.is_float:
            return "a"  # storing does it
        return f"ek_{source.value}_to_{_whole(self.to).value}(a)"

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return (self.compute(*ins),)

    def compute(self, *ins: Array) -> Array:
        (x,) = ins
        source = DType.of(x.dtype)
        if source.is_float and x.dtype.itemsize < 4:
            x = x.astype(np.float32)
        if self.to in _FLOAT8 and self.saturate:
            most = float(finfo(self.to.numpy).max)
            return np.clip(x.astype(np.float32), -most, most).astype(self.to.numpy)
        if self.to is DType.F8E8M0:
            return _to_power_of_two(x.astype(np.float32), self.saturate, self.round_mode)
        if self.to in (DType.F16, DType.BF16) and source.is_float:
            return _narrowed(x, self.to)
        if self.to.bytes < 4 and self.to is not DType.F16 and self.to.is_float:
            return x.astype(np.float32).astype(self.to.numpy)
        if self.to.is_integer and source.is_float:
            whole = _truncate(x, _whole(self.to))
            x = (
                np.where(x < 0, _truncate(x, DType.S64).astype(whole.dtype), whole)
                if self.to is DType.U64
                else whole
            )
        if self.to in _SUB_BYTE:
            x = x.astype(np.int64) & (1 << self.to.bits) - 1
            x = np.where(x >> self.to.bits - 1 & self.to.is_signed, x - (1 << self.to.bits), x).astype(
                np.int8
            )
        return x.astype(self.to.numpy)

    @property
    def label(self) -> str:
        if self.to is DType.F8E8M0:
            return f"cast_{self.round_mode}" + ("" if self.saturate else "_free")
        return "cast" if self.saturate or self.to not in _FLOAT8 else "cast_free"

    def changes_nothing(self, *ins: Type) -> bool:
        return True


@dataclass(frozen=True)
class BitCast(Op):
    """Quantized integers become plain ones, or the other way round: the type of the result says which."""

    to: DType

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(_bits(x.dtype) == _bits(self.to), f"{x} and {self.to.value} differ in bits")
        require(not {x.dtype, self.to} & {DType.S4, DType.S2}, f"{x} is stored with copies of its sign")
        return (replace(x, dtype=self.to),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        return (ins[0].view(self.to.numpy),)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        return self.eval(*args)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        return [View(outs[0], ins[0])]

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        return stored(self, ins, ins)

    def changes_nothing(self, *ins: Type) -> bool:
        return True


def _narrowed(x: Array, to: DType) -> Array:
    """Rounded to nearest even. NaN becomes quiet and keeps its sign and the leading bits of what it says."""
    y = (x if to is DType.F16 else x.astype(np.float32)).astype(to.numpy)
    u = x.astype(np.float32).view(np.uint32)
    nan = u >> 16 | 0x40 if to is DType.BF16 else u >> 16 & 0x8000 | 0x7E00 | u >> 13 & 0x3FF
    return np.where(np.isnan(x), nan, y.view(np.uint16)).astype(np.uint16).view(to.numpy)


def _whole(to: DType) -> DType:
    """The integer type to which C converts floats on the way to `to`."""
    return {DType.U32: DType.S64, DType.S64: DType.S64, DType.U64: DType.U64}.get(to, DType.S32)


def _truncate(x: Array, to: DType) -> Array:
    """Without fraction, saturated; NaN becomes 0."""
    info = np.iinfo(to.numpy)
    whole = np.trunc(np.where(np.isnan(x), 0, x))
    low, high = whole <= float(info.min), whole >= float(info.max)  # the float nearest to max may be max + 1
    inside = np.where(low | high, 0, whole).astype(to.numpy)
    return np.where(low, to.numpy.type(info.min), np.where(high, to.numpy.type(info.max), inside))


def _to_power_of_two(x: Array, saturate: bool, mode: str) -> Array:
    """The sign is not looked at; codes are biased exponents from 2^-127 to 2^127, FF is NaN."""
    magnitude = x.view(np.uint32) & 0x7FFFFFFF
    exponent, fraction = magnitude >> 23, magnitude & 0x7FFFFF
    fraction = np.where(exponent == 0, magnitude << 1 & 0x7FFFFF, fraction)  # its first bit is the leading 1
    limit = {"up": 1, "nearest": 0x400000, "down": 0x800000}[mode]
    code = exponent + (fraction >= limit)
    code = np.where(magnitude < 0x400000, 0 if saturate else 0xFF, code)
    code = np.where(magnitude > 0x7F000000, 0xFE if saturate else 0xFF, code)
    code = np.where(magnitude > 0x7F800000, 0xFF, code)
    return code.astype(np.uint8).view(DType.F8E8M0.numpy)


def _bits(dtype: DType) -> int:
    return 4 if dtype is DType.F4E2M1 else dtype.bits
