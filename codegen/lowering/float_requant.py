"""Requantization as one multiplication of floats, where it is proven to give the same integers.

A rule of fixed.py turns the sums of a channel into at most 256 integers, and never a larger sum into a
smaller one. So does y = nearest(fma(sum, scale, offset)) in float32. The two are equal for all sums that can
occur if both step from one integer to the next at the same sums: that is checked for each step of each
channel, with the scales of a few last places and the offsets that fit them. Vector units do this in three
instructions, where a rule takes ten, and rounding to nearest is their default.

TFLite's rule rounds twice, halves away from zero: there the offset takes the sign of the sum. With
activations that have no negative values there is one sign, and sums are moved by a constant instead, so that
the steps lie around 0, where floats are finest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from edgekit.core import fixed
from edgekit.core.ops import Arg, Call
from edgekit.core.types import Array, DType, Value, type_of

LINE, AWAY = "line", "line_away"  # as rules of kernels: one offset, or one with the sign of the sum
_RULES = ("e", "e_wide", "tfl", "once")
_PLACES = np.array(sorted(range(-24, 25), key=abs), np.int32)  # the last places of the ratio that are tried
_CENTRES = (128, *(128 + sign * far for far in range(5, 64, 5) for sign in (-1, 1)))
_FURTHEST = 1 << 22  # sums are moved at most so far: floats hold integers of 24 bits
_BESIDE = 3  # so many sums from where a ratio has a step, rules have it
_FINEST = 2.0**45  # products and offsets have no finer places, so that float64 holds sums below 2^8 of them


@dataclass(frozen=True)
class AffineRequant:
    """What replaces the multipliers and exponents of a rule."""

    rule: str
    scale: Array  # of each channel, float32
    offset: Array
    moved: Array  # what sums are less
    centre: int  # what results are less


@dataclass(frozen=True)
class _Steps:
    """The least sum of each channel that becomes each integer, and whether sums can be there."""

    integers: Array  # what sums become, without the zero point
    sums: Array  # [channels, integers]
    is_reached: Array
    is_left: Array  # can a sum be less?
    ratio: Array

    def of(self, channels: Array) -> _Steps:
        parts = (part[channels] for part in (self.sums, self.is_reached, self.is_left, self.ratio))
        return _Steps(self.integers, *parts)


def is_for_line(call: Call) -> bool:
    """Is this a layer of int8 whose sums are requantized?"""
    return call.rule in _RULES and all(call.types.get(letter) is DType.S8 for letter in "XWY")


def proven(call: Call) -> Call | None:
    """The call with floats for multipliers and exponents, if they are proven to give the same."""
    found = line(call)
    if found is None:
        return None
    args = list(call.args)
    bias, old = args[2], f"#{found.rule}"
    moved = (bias.value.data.astype(np.int64) - found.moved).astype(np.int32)  # type: ignore[union-attr]
    for at, data in ((2, moved), (3, found.scale), (4, found.offset)):
        args[at] = Arg(f"{args[at].name}{old}", Value(type_of(data), data))
    zero = int(call.params["zero"]) + found.centre  # type: ignore[arg-type]  # a scalar
    return replace(call, args=tuple(args), rule=found.rule, params={**call.params, "zero": zero})


def line(call: Call) -> AffineRequant | None:
    """One that gives the integers of a call's rule for all sums of its weights."""
    weights, bias, multiplier, exponent = (arg.value.data for arg in call.args[1:5])
    assert weights is not None
    assert bias is not None
    assert multiplier is not None
    assert exponent is not None
    wide = weights.reshape(len(weights), -1).astype(np.int64)
    above, below = wide.clip(min=0).sum(axis=1), wide.clip(max=0).sum(axis=1)
    least, most = bias - 128 * above + 127 * below, bias + 127 * above - 128 * below
    zero, low, high = (int(call.params[name]) for name in ("zero", "lo", "hi"))  # type: ignore[arg-type]
    channels = np.stack(
        [np.broadcast_to(x, least.shape).astype(np.int64) for x in (multiplier, exponent, least, most)]
    )
    return _line(call.rule, zero, low, high, channels.tobytes())


@lru_cache(maxsize=1024)  # builds of one model for several targets ask for the same layers
def _line(rule: str, zero: int, low: int, high: int, channels: bytes) -> AffineRequant | None:
    multiplier, exponent, least, most = np.frombuffer(channels, np.int64).reshape(4, -1)
    integers = np.arange(low - zero + 1, high - zero + 1)
    steps = _steps(rule, multiplier, exponent, integers, least, most)
    reach = np.maximum(np.abs(least), np.abs(most)) + _FURTHEST
    if not integers.size or reach.max() >= 2**31 or (reach * steps.ratio).max() >= 2.0**30:
        return None
    for made, centre in _ways(rule, low >= zero):
        moved = np.rint(np.clip(centre / np.maximum(steps.ratio, 1e-12), 0, _FURTHEST)).astype(np.int64)
        found = _fit(replace(steps, integers=integers - centre, sums=steps.sums - moved[:, None]), made)
        if found is not None:
            return AffineRequant(made, *found, moved, centre)
    return None


def _ways(rule: str, is_positive: bool) -> Iterator[tuple[str, int]]:
    if is_positive:
        yield from ((LINE, centre) for centre in _CENTRES)
    elif rule in ("e", "e_wide"):
        yield LINE, 0
    yield AWAY, 0


def _rounded(rule: str, sums: Array, multiplier: Array, exponent: Array) -> Array:
    """What a rule makes of sums."""
    result: Array
    if rule == "tfl":
        result = fixed.mbqm(sums, multiplier, exponent)
    elif rule == "once":
        result = fixed.mbqm_once(sums, multiplier, exponent)
    else:
        result = (sums * multiplier + (np.int64(1) << (exponent - 1))) >> exponent
    return result


def _steps(
    rule: str, multiplier: Array, exponent: Array, integers: Array, least: Array, most: Array
) -> _Steps:
    """By bisection of all steps at once, near where the ratio has them."""
    ratio = multiplier * 2.0 ** (exponent - 31.0 if rule in ("tfl", "once") else -exponent.astype(np.float64))

    def is_there(sums: Array) -> Array:
        found: Array = _rounded(rule, sums, multiplier[:, None], exponent[:, None]) >= integers
        return found

    first, end = least[:, None], most[:, None] + 1
    about = np.clip((integers - 0.5) / np.maximum(ratio, 1e-12)[:, None], first, end).astype(np.int64)
    low, high = np.maximum(about - _BESIDE, first), np.minimum(about + _BESIDE, end)
    low = np.where((low > first) & is_there(low - 1), first, low)
    high = np.where((high < end) & ~is_there(high), end, high)
    while (low < high).any():
        middle = (low + high) >> 1
        found = is_there(middle)
        low, high = np.where(found, low, middle + 1), np.where(found, middle, high)
    return _Steps(integers, low, low < end, low > first, ratio)


def _fit(steps: _Steps, rule: str) -> tuple[Array, Array] | None:
    """Scales and offsets for all channels: the nearest scale, or one a few last places beside it."""
    signs = np.where(steps.integers > 0, 1, -1) if rule == AWAY else np.ones(len(steps.integers), np.int64)
    wanted = _wanted(steps.integers)
    scale = steps.ratio.astype(np.float32)
    offset = _offsets(steps, wanted, scale, signs)
    for channel in np.flatnonzero(~_is_equal(steps, scale, offset, rule)):
        some = steps.of(np.full(len(_PLACES), channel))
        tried = np.maximum(scale[channel].view(np.int32) + _PLACES, 0).view(np.float32)
        offsets = _offsets(some, wanted, tried, signs)
        found = np.flatnonzero(_is_equal(some, tried, offsets, rule))
        if not found.size:
            return None
        scale[channel], offset[channel] = tried[found[0]], offsets[found[0]]
    return scale, offset


def _wanted(integers: Array) -> Array:
    """Where lines reach each integer. A float between two integers goes to the even one at the half, and
    rounding to a float goes before: so a step lies half a place below or above the half."""
    half = integers - 0.5
    single = half.astype(np.float32)
    below = half - np.nextafter(single, np.float32(-np.inf)).astype(np.float64)
    above = np.nextafter(single, np.float32(np.inf)).astype(np.float64) - half
    wanted: Array = np.where(integers % 2 == 0, half - below / 2, half + above / 2)
    return wanted


def _offsets(steps: _Steps, wanted: Array, scale: Array, signs: Array) -> Array:
    """The offsets in the middle of what fits."""
    wide = scale.astype(np.float64)[:, None]
    least = np.where(steps.is_reached, wanted - wide * steps.sums, -np.inf)
    most = np.where(steps.is_left, wanted - wide * (steps.sums - 1), np.inf)
    low = np.where(signs > 0, least, -most).max(axis=1)
    high = np.where(signs > 0, most, -least).min(axis=1)
    low, high = np.where(np.isfinite(low), low, high - 1), np.where(np.isfinite(high), high, low + 1)
    middle = np.where(np.isfinite(low), (low + high) / 2, 0.0)
    return (np.maximum(middle, 0.0) if (signs < 0).any() else middle).astype(np.float32)


def _is_equal(steps: _Steps, scale: Array, offset: Array, rule: str) -> Array:
    """For which channels does the line step where the rule does?"""
    before, there = (_on_line(sums, scale, offset, rule) for sums in (steps.sums - 1, steps.sums))
    steps_up = ((there >= steps.integers) | ~steps.is_reached) & ((before < steps.integers) | ~steps.is_left)
    is_exact = [(x.astype(np.float64) * _FINEST) % 1 == 0 for x in (scale, offset)]
    result: Array = steps_up.all(axis=1) & is_exact[0] & is_exact[1]
    return result


def _on_line(sums: Array, scale: Array, offset: Array, rule: str) -> Array:
    """nearest(fma(sums, scale, offset)), as float32 computes it."""
    single = sums.astype(np.float32).astype(np.float64)
    plus = offset.astype(np.float64)[:, None]
    plus = np.copysign(plus, single) if rule == AWAY else plus
    result: Array = np.rint((single * scale.astype(np.float64)[:, None] + plus).astype(np.float32))
    return result
