"""What is computed once while a model is planned several times, with a change to some of its layers.

The steps of planning are counted, so that a caller may stop after as many of them on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, TypeVar

_T = TypeVar("_T")
_What = Literal["layer", "calls", "loop"]

# Steps of what is computed, about a comparison of two buffers each: a third of a microsecond of Python.
_STEPS = {"layer": 1_000, "calls": 5_000, "loop": 1_300}
PLAN = 2_500  # for each layer, of a plan beside what is computed once


class TooManyStepsError(Exception):
    """Plans have taken more steps than they may: the one that is being made is given up."""


@dataclass
class Planned:
    """What several plans know, and the steps that they took."""

    steps: float = 0.0
    most: float = inf  # steps that they may take
    known: dict[tuple[Hashable, ...], tuple[Sequence[object], Any]] = field(default_factory=dict)
    peak: int | None = None  # of layers as loops over rows, as the plan before found it

    def spend(self, steps: float) -> None:
        """Count what is computed."""
        self.steps += steps
        if self.steps > self.most:
            raise TooManyStepsError


_PLANNED: ContextVar[Planned | None] = ContextVar("_PLANNED", default=None)


@contextmanager
def planned_once() -> Iterator[Planned]:
    """Within it, what depends on the same objects is computed once. Outside nothing is kept: objects would
    never be freed."""
    token = _PLANNED.set(made := Planned())
    try:
        yield made
    finally:
        _PLANNED.reset(token)


def planned() -> Planned:
    """What plans know so far: nothing outside of `planned_once`."""
    return _PLANNED.get() or Planned()


def once(what: _What, objects: Sequence[object], make: Callable[[], _T], *more: Hashable) -> _T:
    """What `make` gives: it depends on these objects and on nothing but `more` beside them."""
    if (planned := _PLANNED.get()) is None:
        return make()
    key = (what, *map(id, objects), *more)
    if key not in planned.known:
        planned.spend(_STEPS[what])
        planned.known[key] = objects, make()  # with the objects, so that no others get their addresses
    made: _T = planned.known[key][1]
    return made
