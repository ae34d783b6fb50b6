"""What a search of offsets for buffers is given: their sizes, and which of them meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from operator import add


@dataclass(frozen=True)
class ArenaBound:
    """Bytes that no layout can do without, as the buffers need them that are live at these steps."""

    bytes: int
    first: int = 0
    last: int = 0


@dataclass(frozen=True)
class ArenaProblem:
    """Buffers as numbers; every list has one entry per buffer, except `together` and `steps`."""

    members: Sequence[int]  # the number that the caller gave it
    sizes: Sequence[int]
    aligns: Sequence[int]
    spans: Sequence[int]  # steps at which it is live
    near: Sequence[Sequence[int]]  # the others that are live at one of its steps
    together: Sequence[Mapping[int, int]]  # what is live at one step, and how many bytes of it are in use
    steps: Sequence[int]  # which one that is
    # (lower, upper): distance, where it may be less than the lower's size
    closer: Mapping[tuple[int, int], int]
    overlaps: Set[tuple[int, int]]  # those of them that may share bytes at a step
    bound: ArenaBound

    @cached_property
    def distances(self) -> Sequence[Mapping[int, tuple[int, int]]]:
        """Of each buffer, those with which it makes a pair of `closer`: what it takes below such a one, and
        what that one takes below it."""
        found: list[dict[int, tuple[int, int]]] = [{} for _ in self.sizes]
        for i, j in {*self.closer, *((j, i) for i, j in self.closer)}:
            found[i][j] = self.closer.get((i, j), self.sizes[i]), self.closer.get((j, i), self.sizes[j])
        return found

    def window(self, start: int, end: int, buffers: Sequence[int]) -> ArenaProblem:
        """The same for the buffers of some steps of `together`: these need no more than all of them."""
        number = {i: k for k, i in enumerate(buffers)}
        pairs = [(i, j) for i in buffers for j in self.near[i] if j in number]
        return ArenaProblem(
            members=buffers,
            sizes=[self.sizes[i] for i in buffers],
            aligns=[self.aligns[i] for i in buffers],
            spans=[self.spans[i] for i in buffers],
            near=[[number[j] for j in self.near[i] if j in number] for i in buffers],
            together=[{number[i]: n for i, n in crowd.items()} for crowd in self.together[start:end]],
            steps=self.steps[start:end],
            closer={(number[i], number[j]): self.closer[i, j] for i, j in pairs if (i, j) in self.closer},
            overlaps={(number[i], number[j]) for i, j in pairs if (i, j) in self.overlaps},
            bound=ArenaBound(0),
        )


@dataclass
class SearchBudget:
    """Comparisons of two buffers that a search may still make."""

    left: float


def size_of(problem: ArenaProblem, offsets: Sequence[int]) -> int:
    """Bytes of a layout."""
    size: int = max(map(add, offsets, problem.sizes))
    return size
