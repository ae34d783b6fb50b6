"""What a search of offsets for buffers is given: their sizes, and which of them meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import add


@dataclass(frozen=True)
class ArenaProblem:
    """Buffers as numbers; every list has one entry per buffer, except `together`."""

    members: Sequence[int]  # the number that the caller gave it
    sizes: Sequence[int]
    aligns: Sequence[int]
    spans: Sequence[int]  # steps at which it is live
    near: Sequence[Sequence[int]]  # the others that are live at one of its steps
    together: Sequence[Mapping[int, int]]  # what is live at one step, and how many bytes of it are in use
    # (lower, upper): distance, where it may be less than the lower's size
    closer: Mapping[tuple[int, int], int]
    bound: int  # bytes that no layout can do without

    @cached_property
    def pairs(self) -> int:
        """How many pairs of buffers are live at once."""
        return sum(map(len, self.near)) // 2

    @cached_property
    def distances(self) -> Sequence[Mapping[int, tuple[int, int]]]:
        """Of each buffer, those with which it makes a pair of `closer`: what it takes below such a one, and
        what that one takes below it."""
        found: list[dict[int, tuple[int, int]]] = [{} for _ in self.sizes]
        for i, j in {*self.closer, *((j, i) for i, j in self.closer)}:
            found[i][j] = self.closer.get((i, j), self.sizes[i]), self.closer.get((j, i), self.sizes[j])
        return found


@dataclass
class SearchBudget:
    """Comparisons of two buffers that a search may still make."""

    left: float


def size_of(problem: ArenaProblem, offsets: Sequence[int]) -> int:
    """Bytes of a layout."""
    size: int = max(map(add, offsets, problem.sizes))
    return size
