"""Audio front ends in integers, from samples to the energy of frequencies, as TFLite Micro computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core.ops import Arg, Call, Op, Step, require
from edgekit.core.ops._map import Map
from edgekit.core.types import Array, DType, Type


@dataclass(frozen=True)
class Window(Map):
    """y = (x w) >> shift, saturated, on int16."""

    arity = 3
    c_int = "ek_saturate_s16(ek_shr_s32(a * b, c))"

    def result(self, *ins: DType) -> DType:
        require(set(ins) == {DType.S16}, f"takes int16, got {', '.join(d.value for d in ins)}")
        return DType.S16

    def compute(self, *ins: Array) -> Array:
        x, w, shift = (a.astype(np.int64) for a in ins)
        return ((x * w) >> np.where(shift < 0, 31, shift.clip(0, 31))).clip(-(2**15), 2**15 - 1)


@dataclass(frozen=True)
class FftAutoScale(Op):
    """x times the largest power of two that leaves the largest sample in 16 bits, and the exponent of that.

    The largest sample is found as TFLite Micro finds it: after a sample of -32768, the search begins anew
    with the samples behind it, and what is then too large wraps."""

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(x.dtype is DType.S16 and x.quant is None, f"takes int16, got {x}")
        return x, Type(DType.S32, ())

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        largest = _largest(x.astype(np.int64).ravel())
        bits = 0 if largest <= 0 else 15 - int(largest).bit_length()
        return (x.astype(np.int64) << bits).astype(np.int16), np.asarray(bits, np.int32)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), params = ins, {"n": ins[0].type.size}
        return [Call("fft_auto_scale", {}, (x, *outs), params, results=2, inplace=(0,))]


@dataclass(frozen=True)
class SpectrumEnergy(Op):
    """re^2 + im^2 of the frequencies `start` to before `end` of a spectrum of pairs; 0 for others."""

    start: int
    end: int

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(x.rank == 1 and x.dtype is DType.S16 and x.quant is None, f"takes pairs of int16, got {x}")
        n = x.shape[0] // 2
        require(x.shape[0] % 2 == 0, f"takes pairs, got {x}")
        require(0 <= self.start <= self.end <= n, f"no frequencies {self.start} to {self.end} among {n}")
        return (Type(DType.U32, (n,)),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        y = np.square(x.astype(np.int64)).reshape(-1, 2).sum(axis=1)
        y[: self.start] = y[self.end :] = 0
        return (y.astype(np.uint32),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        n = outs[0].type.size
        params = {"n": n, "start": self.start, "end": self.end}
        return [Call("spectrum_energy", {}, (*ins, *outs), params)] if n else []


def _largest(x: Array) -> int:
    """What TFLite Micro takes as the largest sample."""
    if not len(x):
        return 0
    if x.min() > -(2**15):
        return int(np.abs(x).max())
    found = 0
    for value in x.tolist():
        if value > found:
            found = value
        elif -value > found:
            found = -value if value > -(2**15) else value
    return found
