"""Reductions over strided dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from edgekit.codegen.gpu.ast import I32, Expr, number
from edgekit.codegen.gpu.builder import KernelBuilder


def start(k: KernelBuilder, i: Expr, rank: int) -> Expr:
    """The first element of what is reduced to result i, by constants n and x_n."""
    rest, place = i, number(0, I32)
    for d in reversed(range(rank)):
        n = k.constant(f"n_{d}")
        place = place + (rest % n) * k.constant(f"x_n_{d}")
        rest = k.let("rest", rest // n)
    return k.let("start", place)


@contextmanager
def each(k: KernelBuilder, first: Expr, rank: int) -> Iterator[Expr]:
    """The elements that are reduced, by constants r and x_r."""
    with ExitStack() as loops:
        place = first
        for d in range(rank):
            at = loops.enter_context(k.loop("r", 0, k.constant(f"r_{d}")))
            place = place + at * k.constant(f"x_r_{d}")
        yield k.let("at", place)
