"""Samplers: the next token of logits (temperature, top-k, top-p), in integers and alike on every target.

A logit becomes a multiple of 2^-24, its distance d from the best one a weight 2^(-d log2(e) / temperature) of
31 bits, and a 32-bit random number chooses among the weights. That is SplitMix64's for the seed and for how
many tokens were drawn before: no generator has a state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

MAX_LOGIT = 1 << 14
_FRACTION = 24  # bits of a logit behind the point
_LOG2_E = 24204406  # 2^24 log2(e)
_ONE = 1 << 16  # of temperature and top-p
_MASK = (1 << 64) - 1  # of 64 bits
# 2^(31 - i / 16), 2^(31 - i / 256) ...: a factor for each four bits of a fraction
POWERS = tuple(tuple(round(2.0 ** (31 - i / 16**j)) for i in range(16)) for j in (1, 2, 3, 4))


@dataclass(frozen=True)
class Sampler:
    """`temperature` 0 takes the best token. `top_k` keeps so many of the best, 0: all; `top_p` the fewest of
    the best that have this share of the probability. Logits of tokens in the text are divided by
    `repetition_penalty`, those below 0 multiplied."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        fits = {
            "temperature": (self.temperature == 0 or 0.01 <= self.temperature <= 100, "0, or 0.01 to 100"),
            "top_k": (0 <= self.top_k < 1 << 31, "0 or more"),
            "top_p": (0 < self.top_p <= 1, "above 0, and at most 1"),
            "seed": (0 <= self.seed <= _MASK, "0 to 2^64 - 1"),
            "repetition_penalty": (0.01 <= self.repetition_penalty <= 100, "0.01 to 100"),
        }
        for name, (is_fine, wanted) in fits.items():
            if not is_fine:
                raise EdgeKitError("E0103", f"{name} is {getattr(self, name)}", hint=f"it may be {wanted}")

    def next(self, logits: Array, text: Iterable[int], drawn: int) -> int:
        """The next token of a text, in which `drawn` tokens were drawn before. NaN is the least logit."""
        fixed = _fixed(self._penalized(np.array(logits, np.float32).reshape(-1), text))
        if self.temperature == 0:
            return int(fixed.argmax())
        weights = self.weights(fixed)
        chosen = (int(weights.sum()) * (random_number(self.seed, drawn) >> 32)) >> 32
        return int(np.searchsorted(np.cumsum(weights), np.uint64(chosen), side="right"))

    def weights(self, fixed: Array) -> Array:
        """The weight of each token; those that top-k and top-p leave out have none. Of equal ones, the first
        are kept."""
        temperature = int(self.temperature * _ONE + 0.5)
        scale = (_LOG2_E * _ONE + temperature // 2) // temperature
        distance = np.minimum(int(fixed.max()) - fixed, (1 << 62) // scale)
        weights = _power(distance * scale >> 32)
        best = np.argsort(-weights.astype(np.int64), kind="stable")
        kept = min(self.top_k or len(best), len(best))
        sums = np.cumsum(weights[best[:kept]])
        share = int(self.top_p * _ONE + 0.5)
        if share < _ONE:
            wanted = max(1, int(sums[-1]) * share >> 16)
            kept = int(np.searchsorted(sums, np.uint64(wanted))) + 1
        weights[best[kept:]] = 0
        return weights

    def _penalized(self, logits: Array, text: Iterable[int]) -> Array:
        """One operation of float32 each, which every processor rounds alike."""
        penalty = np.float32(self.repetition_penalty)
        if penalty == 1:
            return logits
        seen = np.array([token for token in dict.fromkeys(text) if 0 <= token < len(logits)], np.int64)
        found = logits[seen]
        with np.errstate(all="ignore"):
            logits[seen] = np.where(found < 0, found * penalty, found / penalty)
        return logits


def _fixed(logits: Array) -> Array:
    """Multiples of 2^-24, cut towards zero: exact where a logit is at least 1."""
    bounded = np.clip(np.where(np.isnan(logits), -MAX_LOGIT, logits), -MAX_LOGIT, MAX_LOGIT)
    fixed: Array = (bounded.astype(np.float64) * (1 << _FRACTION)).astype(np.int64)
    return fixed


def _power(exponents: Array) -> Array:
    """2^(31 - x / 65536), cut to an integer after each of four factors."""
    found = np.full(exponents.shape, 1 << 31, np.uint64)
    for j, table in enumerate(POWERS):
        digits = exponents >> (12 - 4 * j) & 15
        found = found * np.array(table, np.uint64)[digits] >> np.uint64(31)
    shifted: Array = found >> np.minimum(exponents >> 16, 63).astype(np.uint64)
    return shifted


def random_number(seed: int, index: int) -> int:
    """64 bits of SplitMix64, the number `index` of its sequence."""
    x = (seed + (index + 1) * 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)
