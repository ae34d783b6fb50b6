"""Short searches for arenas that differ a little from one that is planned: they start at its layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from edgekit.codegen.memory.arena_search import ArenaLayout

# Comparisons of two buffers that a search may make where it starts at a layout of an arena like it: at most,
# and in any case, as the first search of a build does.
_COMPARISONS, _LEAST = 500_000, 100_000

_Content = tuple[object, ...]


@dataclass
class ArenaTrials:
    """The arenas of a library, and of what it would be with changes."""

    is_first: bool = True  # is it the library itself, whose layouts are the start of all others?
    comparisons: float = _COMPARISONS  # of each other search
    _known: dict[_Content, ArenaLayout] = field(default_factory=dict)
    _offsets: list[Mapping[str, int]] = field(default_factory=list)  # by the names of buffers

    def known(self, content: _Content) -> ArenaLayout | None:
        """The layout of the same buffers."""
        return None if self.is_first else self._known.get(content)

    def budget(self, given: float) -> float:
        """Comparisons that a search may make."""
        return given if self.is_first else min(given, max(self.comparisons, _LEAST))

    def orders(self, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Orders in which first fit makes layouts like those of the library: buffers that it does not have
        come last."""
        if self.is_first:
            return ()
        orders = (
            tuple(sorted(range(len(names)), key=lambda i: offsets.get(names[i], 1 << 62)))
            for offsets in self._offsets
        )
        return tuple(dict.fromkeys(orders))

    def found(self, content: _Content, names: Sequence[str], layout: ArenaLayout) -> None:
        """Of the library, each layout is remembered, and of the same buffers the smallest."""
        known = self._known.get(content)
        if self.is_first and (known is None or layout.size < known.size):
            self._known[content] = layout
            self._offsets.append(dict(zip(names, layout.offsets, strict=True)))


TRIALS: ContextVar[ArenaTrials | None] = ContextVar("TRIALS", default=None)


@contextmanager
def arena_trials() -> Iterator[ArenaTrials]:
    """Within it, arenas are planned as its result says. Outside nothing is kept."""
    token = TRIALS.set(made := ArenaTrials())
    try:
        yield made
    finally:
        TRIALS.reset(token)
