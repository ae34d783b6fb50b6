"""Fast Fourier transforms (FFT) in fixed point, rounded as KISS FFT and TFLite Micro do, or in float32.

Complex numbers are pairs: the last dimension holds real and imaginary parts in turn. Integers are divided by
the radix before each stage, so that transforms are divided by their length; floats are not. What overflows
wraps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from edgekit.core.ops import ELEMENT, Arg, Call, Op, Param, Step, require
from edgekit.core.ops._integer import constant
from edgekit.core.types import Array, DType, Type

Complex: TypeAlias = tuple[Array, Array]

MAX_POINTS = 1 << 15
MAX_STAGES = 16  # the kernel has room for so many
# In what C computes products of each type.
_PRODUCTS = {DType.S16: DType.S32, DType.S32: DType.S64, DType.F32: DType.F32}
_TURNS = "cosines and sines of the angles that pairs are turned by"


@dataclass(frozen=True)
class Fft(Op):
    """The complex transform of `points`; x may have fewer elements than pairs have, the others are 0.
    `inverse`: with the other sign of the exponent; floats are divided by nothing, either."""

    points: int
    inverse: bool = False

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        _check(x, self.points)
        require(prod(stages(self.points)) == self.points, f"{self.points} is no product of 2, 3 and 5")
        require(x.shape[-1] <= 2 * self.points, f"{x} has more than {self.points} complex numbers")
        return (Type(x.dtype, (*x.shape[:-1], 2 * self.points)),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        missing = 2 * self.points - x.shape[-1]
        y = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)])
        radices = stages(self.points)
        # The order of the elements: decimation in time reverses the digits of their places.
        places = np.arange(self.points).reshape(radices[::-1]).transpose().reshape(-1)
        rules, twiddles = _Rules(DType.of(x.dtype)), twiddle(self.points, self.inverse, DType.of(x.dtype))
        z = rules.split(y)
        z = z[0][..., places], z[1][..., places]
        apart, size = self.points, 1
        for radix in reversed(radices):
            apart //= radix
            z = self._stage(z, rules, twiddles, radix, apart, size)
            size *= radix
        return (rules.joined(z),)

    def _stage(
        self, z: Complex, rules: _Rules, twiddles: Complex, radix: int, apart: int, size: int
    ) -> Complex:
        """Transforms of `radix` times `size` points from those of `size`, `apart` of them side by side."""
        shape = z[0].shape
        re, im = (part.reshape(*shape[:-1], apart, radix, size) for part in z)
        lanes = [rules.divided((re[..., q, :], im[..., q, :]), radix) for q in range(radix)]
        at = np.arange(size) * apart

        def turn(q: int) -> Complex:
            return twiddles[0][q * at], twiddles[1][q * at]

        def root(q: int) -> Complex:
            return twiddles[0][q * size * apart], twiddles[1][q * size * apart]

        turned = [lanes[0], *(rules.times(lane, turn(q)) for q, lane in enumerate(lanes[1:], 1))]
        if radix == 4:
            made = _fourth(turned, rules, -1 if self.inverse else 1)
        else:
            made = {2: _second, 3: _third, 5: _fifth}[radix](turned, rules, root)
        return (
            np.stack([m[0] for m in made], -2).reshape(shape),
            np.stack([m[1] for m in made], -2).reshape(shape),
        )

    def macs(self, *ins: Type) -> int:
        """Four for each product with a power of the root of 1."""
        (x,) = ins
        return 4 * prod(x.shape[:-1]) * sum(self.points // r * (r - 1) for r in stages(self.points))

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Stage by stage, in several passes each."""
        return super().work(ins, outs) + 8 * ELEMENT * (self.macs(*ins) + ins[0].size)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        dtype, radices = x.type.dtype, stages(self.points)
        params: dict[str, Param] = {
            "rows": y.type.size // (2 * self.points),
            "inputs": x.type.shape[-1],
            "points": self.points,
            "inverse": int(self.inverse),
            "stages": len(radices),
            "radix": [*radices, *(1,) * (MAX_STAGES - len(radices))],
        }
        name = f"fft#{dtype.value}_{self.points}_{int(self.inverse)}"
        table = constant(name, _Rules(dtype).joined(twiddle(self.points, self.inverse, dtype)), _TURNS)
        types = {"T": dtype, "S": _PRODUCTS[dtype]}
        macs = self.macs(x.type)
        return [Call("fft", types, (x, table, y), params, macs=macs)]


@dataclass(frozen=True)
class RfftSplit(Op):
    """The transform of 2 n real numbers, which are n complex ones for Fft before: y [.., 2 n + 2], the
    frequencies 0 to n."""

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(x.rank >= 1 and x.shape[-1] % 2 == 0, f"takes pairs, got {x}")
        _check(x, x.shape[-1] // 2)
        return (Type(x.dtype, (*x.shape[:-1], x.shape[-1] + 2)),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        rules, n = _Rules(DType.of(x.dtype)), x.shape[-1] // 2
        z = rules.split(x)
        back = np.arange(n // 2, 0, -1)
        front = n - back  # what each one meets
        re, im = np.zeros((2, *x.shape[:-1], n + 1), z[0].dtype)
        first = rules.divided((z[0][..., 0], z[1][..., 0]), 2)
        re[..., 0], re[..., n] = first[0] + first[1], first[0] - first[1]
        a = rules.divided((z[0][..., back], z[1][..., back]), 2)
        b = rules.divided((z[0][..., front], rules.wrapped(-z[1][..., front])), 2)
        total, rest = rules.sum(a, b), rules.difference(a, b)
        turned = rules.times(rest, _at(half_turns(n, False, DType.of(x.dtype)), back - 1))
        re[..., back], im[..., back] = rules.half(total[0] + turned[0]), rules.half(total[1] + turned[1])
        re[..., front], im[..., front] = rules.half(total[0] - turned[0]), rules.half(turned[1] - total[1])
        return (rules.joined((re, im)),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        return _passed("rfft_split", ins, outs, False, self.macs(ins[0].type))

    def macs(self, *ins: Type) -> int:
        return _passed_macs(ins[0].shape[-1], ins[0])


@dataclass(frozen=True)
class IrfftMerge(Op):
    """What an inverse Fft of n complex numbers takes for the 2 n real ones whose frequencies 0 to n are x."""

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(x.rank >= 1 and x.shape[-1] % 2 == 0 and x.shape[-1] > 2, f"takes frequencies, got {x}")
        _check(x, x.shape[-1] // 2 - 1)
        return (Type(x.dtype, (*x.shape[:-1], x.shape[-1] - 2)),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        rules, n = _Rules(DType.of(x.dtype)), x.shape[-1] // 2 - 1
        z = rules.split(x)
        back = np.arange(n // 2, 0, -1)
        front = n - back
        re, im = np.zeros((2, *x.shape[:-1], n), z[0].dtype)
        ends = z[0][..., 0] + z[0][..., n], z[0][..., 0] - z[0][..., n]
        re[..., 0], im[..., 0] = rules.divided((rules.wrapped(ends[0]), rules.wrapped(ends[1])), 2)
        a = rules.divided((z[0][..., back], z[1][..., back]), 2)
        b = rules.divided((z[0][..., front], rules.wrapped(-z[1][..., front])), 2)
        even, rest = rules.sum(a, b), rules.difference(a, b)
        odd = rules.times(rest, _at(half_turns(n, True, DType.of(x.dtype)), back - 1))
        re[..., back], im[..., back] = rules.sum(even, odd)
        re[..., front], im[..., front] = even[0] - odd[0], odd[1] - even[1]
        return (rules.joined((re, im)),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        return _passed("irfft_merge", ins, outs, True, self.macs(ins[0].type))

    def macs(self, *ins: Type) -> int:
        return _passed_macs(ins[0].shape[-1] - 2, ins[0])


def stages(points: int) -> tuple[int, ...]:
    """The radix of each stage, first to last: fours, then twos, threes and fives, as far as they go."""
    found = []
    for radix in (4, 2, 3, 5):
        while points % radix == 0 and points > 1:
            found.append(radix)
            points //= radix
    return tuple(found)


def twiddle(points: int, inverse: bool, dtype: DType) -> Complex:
    """exp(-2 pi i k / points) for all k < points, with + if inverse."""
    phases = [(2 if inverse else -2) * math.pi * k / points for k in range(points)]
    return _circle(phases, dtype)


def half_turns(points: int, inverse: bool, dtype: DType) -> Complex:
    """exp(-pi i (k / points + 1/2)) for 1 <= k <= points / 2, with + if inverse."""
    sign = math.pi if inverse else -math.pi
    return _circle([sign * (k / points + 0.5) for k in range(1, points // 2 + 1)], dtype)


def _circle(phases: Sequence[float], dtype: DType) -> Complex:
    cosines = np.array([math.cos(phase) for phase in phases])
    sines = np.array([math.sin(phase) for phase in phases])
    if dtype.is_float:
        return cosines.astype(dtype.numpy), sines.astype(dtype.numpy)
    one = np.iinfo(dtype.numpy).max
    return np.floor(0.5 + one * cosines).astype(np.int64), np.floor(0.5 + one * sines).astype(np.int64)


@dataclass(frozen=True)
class _Rules:
    """The arithmetic of a type: integers are computed in 64 bits, and wrap where they are stored."""

    dtype: DType

    def split(self, x: Array) -> Complex:
        wide = x if self.dtype.is_float else x.astype(np.int64)
        return wide[..., 0::2], wide[..., 1::2]

    def joined(self, z: Complex) -> Array:
        y = np.stack(z, -1).astype(self.dtype.numpy)
        return y.reshape(*y.shape[:-2], 2 * y.shape[-2])

    def wrapped(self, x: Array) -> Array:
        return x if self.dtype.is_float else x.astype(self.dtype.numpy).astype(np.int64)

    def rounded(self, x: Array) -> Array:
        """A product as a number of the type."""
        if self.dtype.is_float:
            return x
        bits = self.dtype.bits - 1
        return self.wrapped((x + (1 << (bits - 1))) >> bits)

    def times(self, a: Complex, b: Complex) -> Complex:
        return self.rounded(a[0] * b[0] - a[1] * b[1]), self.rounded(a[0] * b[1] + a[1] * b[0])

    def scaled(self, a: Array, by: Array) -> Array:
        return self.rounded(a * by)

    def divided(self, a: Complex, by: int) -> Complex:
        if self.dtype.is_float:
            return a
        share = int(np.iinfo(self.dtype.numpy).max) // by
        return self.rounded(a[0] * share), self.rounded(a[1] * share)

    def sum(self, a: Complex, b: Complex) -> Complex:
        return self.wrapped(a[0] + b[0]), self.wrapped(a[1] + b[1])

    def difference(self, a: Complex, b: Complex) -> Complex:
        return self.wrapped(a[0] - b[0]), self.wrapped(a[1] - b[1])

    def half(self, x: Array) -> Array:
        if self.dtype.is_float:
            return x * np.float32(0.5)
        return (self.wrapped(x) if self.dtype is DType.S32 else x) >> 1


Root: TypeAlias = Callable[[int], Complex]


def _second(x: Sequence[Complex], rules: _Rules, root: Root) -> list[Complex]:
    return [rules.sum(x[0], x[1]), rules.difference(x[0], x[1])]


def _fourth(x: Sequence[Complex], rules: _Rules, sign: int) -> list[Complex]:
    even, odd = rules.difference(x[0], x[2]), rules.difference(x[1], x[3])
    total, other = rules.sum(x[0], x[2]), rules.sum(x[1], x[3])
    turned = odd[1] * sign, -odd[0] * sign  # times -i, or i
    return [
        rules.sum(total, other),
        rules.sum(even, turned),
        rules.difference(total, other),
        rules.difference(even, turned),
    ]


def _third(x: Sequence[Complex], rules: _Rules, root: Root) -> list[Complex]:
    sine = root(1)[1]
    total, rest = rules.sum(x[1], x[2]), rules.difference(x[1], x[2])
    centre = rules.difference(x[0], (rules.half(total[0]), rules.half(total[1])))
    turned = rules.scaled(rest[1], sine), -rules.scaled(rest[0], sine)
    return [rules.sum(x[0], total), rules.difference(centre, turned), rules.sum(centre, turned)]


def _fifth(x: Sequence[Complex], rules: _Rules, root: Root) -> list[Complex]:
    a, b = root(1), root(2)
    outer, inner = rules.sum(x[1], x[4]), rules.sum(x[2], x[3])
    outer_rest, inner_rest = rules.difference(x[1], x[4]), rules.difference(x[2], x[3])
    made = [(x[0][0] + (outer[0] + inner[0]), x[0][1] + (outer[1] + inner[1]))]
    pairs = []
    for c, d, sign in ((a, b, 1), (b, a, -1)):
        real = tuple(x[0][i] + rules.scaled(outer[i], c[0]) + rules.scaled(inner[i], d[0]) for i in (0, 1))
        # As KISS FFT adds up: the order matters in floats.
        p, q = rules.scaled(outer_rest[1], c[1]), rules.scaled(inner_rest[1], d[1])
        r, s = rules.scaled(outer_rest[0], c[1]), rules.scaled(inner_rest[0], d[1])
        turned = (p + q, -r - s) if sign > 0 else (q - p, r - s)
        pairs.append(((real[0], real[1]), turned))
    (one, turned_one), (two, turned_two) = pairs
    made += [
        rules.difference(one, turned_one),
        rules.sum(two, turned_two),
        rules.difference(two, turned_two),
        rules.sum(one, turned_one),
    ]
    return [(rules.wrapped(re), rules.wrapped(im)) for re, im in made]


def _at(z: Complex, index: Array) -> Complex:
    return z[0][index], z[1][index]


def _check(x: Type, points: int) -> None:
    require(
        x.rank >= 1 and x.dtype in _PRODUCTS and x.quant is None, f"takes int16, int32 or float32, got {x}"
    )
    require(2 <= points <= MAX_POINTS, f"transforms 2 to {MAX_POINTS} complex numbers, not {points}")


def _passed_macs(length: int, x: Type) -> int:
    """A complex product for each pair of frequencies."""
    return 4 * prod(x.shape[:-1]) * (length // 4)


def _passed(kernel: str, ins: Sequence[Arg], outs: Sequence[Arg], inverse: bool, macs: int) -> Sequence[Step]:
    """A pass over pairs of frequencies that mirror each other."""
    (x,), (y,) = ins, outs
    dtype, points = x.type.dtype, min(x.type.shape[-1], y.type.shape[-1]) // 2
    turns = _Rules(dtype).joined(half_turns(points, inverse, dtype))
    table = constant(f"{kernel}#{dtype.value}_{points}", turns, _TURNS)
    params = {"rows": prod(x.type.shape[:-1]), "points": points}
    types = {"T": dtype, "S": _PRODUCTS[dtype]}
    return [Call(kernel, types, (x, table, y), params, macs=macs)]
