"""Mel filter banks in integers, from the energy of frequencies to features, as TFLite Micro computes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from edgekit.core.ops import ITERATION, Arg, Call, Op, Step, require
from edgekit.core.ops._integer import constant
from edgekit.core.ops._map import Unary
from edgekit.core.types import Array, DType, Type

GAINS = 125  # entries of a table of gains: for 0, 1 and 2, then four for each power of two
_WHOLE = 2**31  # attributes are below


@dataclass(frozen=True)
class FilterBank(Op):
    """Triangles over energies: channel c sums x times `weights` over band c + 1 and x times `unweights` over
    band c. Band b is `widths[b]` frequencies from `starts[b]` on, with weights from `weight_starts[b]` on.
    Operands: x u32, weights and unweights s16. The result has 64 bits."""

    starts: tuple[int, ...]
    weight_starts: tuple[int, ...]
    widths: tuple[int, ...]

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, weights, unweights = ins
        require(x.rank == 1 and x.dtype is DType.U32, f"takes energies of u32, got {x}")
        for w in (weights, unweights):
            require(
                w.rank == 1 and w.dtype is DType.S16 and w.quant is None, f"takes weights of s16, got {w}"
            )
        lengths = {len(self.starts), len(self.weight_starts), len(self.widths)}
        require(
            len(lengths) == 1 and len(self.starts) > 1, "takes two bands or more, each with three numbers"
        )
        size = min(weights.shape[0], unweights.shape[0])
        for band, (start, first, width) in enumerate(self._bands()):
            inside = start + width <= x.shape[0] and first + width <= size
            require(min(start, first, width) >= 0 and (inside or not width), f"band {band} is outside of {x}")
            require(max(start, first, width) < 2**15, f"band {band} is too far away for 16 bits")
        return (Type(DType.U64, (len(self.starts) - 1,)),)

    def _bands(self) -> list[tuple[int, int, int]]:
        return list(zip(self.starts, self.weight_starts, self.widths, strict=True))

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, weights, unweights = (a.astype(np.int64).astype(np.uint64) for a in ins)
        y = np.zeros(len(self.starts), np.uint64)
        for band, (start, first, width) in enumerate(self._bands()):
            energies, own = x[start : start + width], slice(first, first + width)
            y[band : band + 1] += (weights[own] * energies).sum(dtype=np.uint64)
            y[band + 1 : band + 2] += (unweights[own] * energies).sum(dtype=np.uint64)
        return (y[1:],)

    def macs(self, *ins: Type) -> int:
        return 2 * sum(self.widths)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (y,) = outs
        bands = constant(
            f"{y.name}#bands", np.array(self._bands(), np.int16), "where each filter lies, and its weights"
        )
        params = {"channels": y.type.size}
        return [Call("filter_bank", {}, (*ins, bands, y), params, macs=self.macs())]


@dataclass(frozen=True)
class RoundedSqrt(Unary):
    """The square root of u64 as u32, rounded; at most 65535 for x below 2^32, and 2^32 - 1 for others."""

    c_int = "ek_rounded_sqrt_u64(a)"

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        return ITERATION * ins[0].size

    def result(self, *ins: DType) -> DType:
        require(ins[0] is DType.U64, f"takes u64, got {ins[0].value}")
        return DType.U32

    def compute(self, *ins: Array) -> Array:
        (x,) = ins
        return np.array([_rounded_sqrt(int(v)) for v in x.ravel()], np.uint32).reshape(x.shape)


@dataclass(frozen=True)
class SpectralSubtraction(Op):
    """Results: the estimate of noise in each channel, smoothed over time, and x less that, or as much of x as
    is to remain. Operands: x and the estimate before, u32. Factors are in units of 2^-bits; channels of odd
    number have other ones. The estimate has `smoothing_bits` more bits than x."""

    smoothing: int
    one_minus_smoothing: int
    alternate_smoothing: int
    alternate_one_minus_smoothing: int
    smoothing_bits: int
    min_signal_remaining: int
    bits: int
    clamping: bool

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, noise = ins
        require(x.rank == 1 and x.dtype is DType.U32, f"takes channels of u32, got {x}")
        require(noise == x, f"takes an estimate {x}, got {noise}")
        for name, value in asdict(self).items():
            require(0 <= value < _WHOLE, f"{name} {value} is outside of 31 bits")
        require(self.smoothing_bits < 32 and self.bits < 64, "shifts by more bits than there are")
        return x, x

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, noise = (a.astype(np.uint64) for a in ins)
        odd = np.arange(len(x)) % 2 == 1
        keep = np.where(odd, self.alternate_one_minus_smoothing, self.one_minus_smoothing).astype(np.uint64)
        take = np.where(odd, self.alternate_smoothing, self.smoothing).astype(np.uint64)
        scaled = _low(x << np.uint64(self.smoothing_bits))
        noise = _low((scaled * take + noise * keep) >> np.uint64(self.bits))
        known = np.minimum(noise, scaled)
        least = _low((x * np.uint64(self.min_signal_remaining)) >> np.uint64(self.bits))
        y = np.maximum((scaled - known) >> np.uint64(self.smoothing_bits), least)
        return (known if self.clamping else noise).astype(np.uint32), y.astype(np.uint32)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        params = asdict(self) | {"n": ins[0].type.size, "clamping": int(self.clamping)}
        # The first result may lie where the estimate was: it is a state.
        return [Call("spectral_subtraction", {}, (*ins, *outs), params, results=2, inplace=(1,))]


@dataclass(frozen=True)
class Pcan(Op):
    """Per-channel amplitude normalization (PCAN): y = shrink((x gain(noise)) >> snr_shift). Operands: x and
    noise u32, and the gains: quadratic polynomials, one from each power of two to the next."""

    snr_shift: int

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, noise, gains = ins
        require(x.rank == 1 and x.dtype is DType.U32, f"takes channels of u32, got {x}")
        require(noise == x, f"takes noise {x}, got {noise}")
        fits = gains.rank == 1 and gains.dtype is DType.S16 and gains.quant is None and gains.size >= GAINS
        require(fits, f"takes {GAINS} gains of s16, got {gains}")
        require(0 <= self.snr_shift < 64, f"shifts by {self.snr_shift} bits")
        return (x,)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, noise, gains = ins
        gain = _gain(noise.astype(np.int64), gains.astype(np.int64))
        snr = _low((x.astype(np.uint64) * gain) >> np.uint64(self.snr_shift))
        # x^2 / 4 below 2, x - 1 above: 12 bits of fraction go in, 6 come out.
        y = np.where(snr < 2 << 12, (snr * snr) >> np.uint64(20), (snr >> np.uint64(6)) - np.uint64(64))
        return (y.astype(np.uint32),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        params = {"n": ins[0].type.size, "snr_shift": self.snr_shift}
        return [Call("pcan", {}, (*ins, *outs), params, inplace=(0, 1))]


@dataclass(frozen=True)
class FilterBankLog(Op):
    """y = scale ln(x 2^bits), as int16 and at most 32767; 0 where x 2^bits, of 32 bits, is 0 or 1."""

    scale: int
    bits: int

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(x.dtype is DType.U32, f"takes u32, got {x}")
        require(0 <= self.bits < 32, f"shifts by {self.bits} bits")
        require(0 <= self.scale < _WHOLE, f"scale {self.scale} is outside of 31 bits")
        return (Type(DType.S16, x.shape),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x = (ins[0].astype(np.int64) << self.bits) & 0xFFFFFFFF
        floor = np.frexp(np.maximum(x, 1).astype(np.float64))[1] - 1
        # The logarithm is linear from one power of two to the next, but for a table, interpolated.
        fraction = np.where(floor < 16, (x << 16) >> floor, x >> (floor - 16).clip(0)) - (1 << 16)
        table, segment = log2_table().astype(np.int64), (fraction >> 9).clip(0, 127)
        step = table[segment + 1] - table[segment]
        log2 = (floor << 16) + fraction + table[segment] + ((step * (fraction & 511)) >> 16)
        natural = (round(math.log(2) * 65536) * log2 + (1 << 15)) >> 16
        y = ((self.scale * natural + (1 << 15)) & 0xFFFFFFFF) >> 16
        return (np.where(x > 1, y.clip(0, 2**15 - 1), 0).astype(np.int16),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        params = {"n": ins[0].type.size, "scale": self.scale, "bits": self.bits}
        table = constant("log2#table", log2_table(), "what binary logarithms have beside a line")
        return [Call("filter_bank_log", {}, (*ins, table, *outs), params)] if params["n"] else []


def log2_table() -> Array:
    """log2(1 + k / 128) - k / 128 in units of 2^-16, for k = 0 to 128."""
    x = np.arange(129) / 128
    return np.rint((np.log2(1 + x) - x) * 65536).astype(np.uint16)


def _rounded_sqrt(x: int) -> int:
    root = math.isqrt(x)
    most = 2**16 - 1 if x < 2**32 else 2**32 - 1
    return min(root + (x - root * root > root), most)


def _gain(noise: Array, gains: Array) -> Array:
    """The gains for this noise, as unsigned numbers of 64 bits."""
    bits = np.frexp(noise.astype(np.float64))[1]  # those that the number has
    at = np.where(noise <= 2, 0, 4 * bits - 6)
    fraction = np.where(bits < 11, noise << (11 - bits).clip(0), noise >> (bits - 11).clip(0)) & 1023
    slope = ((gains[at + 2] * fraction) >> 5) + (gains[at + 1] << 5)
    steep = (((slope * fraction) + (1 << 14)).astype(np.int32).astype(np.int64) >> 15) + gains[at]
    y = np.where(noise <= 2, gains[noise.clip(0, 2)], steep.astype(np.int16).astype(np.int64))
    return _low(y.astype(np.uint64))


def _low(x: Array) -> Array:
    """The low 32 bits."""
    low: Array = x & np.uint64(0xFFFFFFFF)
    return low
