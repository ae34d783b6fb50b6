"""Draws of operands and attributes, by seed."""

from typing import TypeVar

import numpy as np

from edgekit.core.types import Array

T = TypeVar("T")


class Draw:
    def __init__(self, *seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def pick(self, *choices: T) -> T:
        return choices[int(self.rng.integers(len(choices)))]

    def coin(self) -> bool:
        return self.pick(False, True)

    def either(self, one: T, other: T) -> T:
        """Two ways to say the same."""
        return self.pick(one, other)

    def numbers(self, count: int, low: int, high: int) -> tuple[int, ...]:
        """Each of these bounds at most, and mostly different ones."""
        return tuple(int(n) for n in self.rng.integers(low, high + 1, count))

    def x(self, *shape: int) -> Array:
        return self.rng.standard_normal(shape).astype(np.float32)

    def axis(self, rank: int) -> int:
        """From the front or from the back."""
        return int(self.rng.integers(-rank, rank))

    def axes(self, rank: int) -> tuple[int, ...]:
        """One or more, in any order, some from the back."""
        chosen = self.rng.permutation(rank)[: 1 + int(self.rng.integers(rank))]
        return tuple(int(a) - rank * self.coin() for a in chosen)

    def bounds(self, size: int) -> tuple[int | None, int | None]:
        """Where a slice begins and ends: open, from the front, from the back, or beyond it."""
        begin, end = self.pick(*range(size)), self.pick(*range(1, size + 1))
        return (
            self.pick(None, begin, begin - size),
            self.pick(None, end, end - size if end < size else size + 3),
        )

    def steps(self, count: int) -> tuple[int, ...]:
        return tuple(self.pick(1, 1, 2, 3) for _ in range(count))
