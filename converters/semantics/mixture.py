"""Mixtures of experts: of many networks, a token runs through those few that a router scores highest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edgekit.converters.semantics import compose
from edgekit.converters.semantics.movement import part, where
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.logic import Less
from edgekit.core.ops.rank import TopK
from edgekit.core.ops.scatter import Scatter


def mixture(scores: Tensor, chosen: int, expert: Callable[[int], Tensor], normalizes: bool) -> Tensor:
    """The sum of the results [tokens, width] of the experts, each times what the softmax of its score
    [tokens, experts] is, if that is among the `chosen` largest. With `normalizes`, these add up to 1."""
    best, at = compose.softmax(scores, 1).apply_all(TopK(1, chosen))
    if normalizes:
        best = best / compose.reduce(best, "sum", [1])
    return in_shares(at, best, scores.shape[1], expert)


def in_shares(at: Tensor, of_each: Tensor, experts: int, expert: Callable[[int], Tensor]) -> Tensor:
    """The sum of the results [tokens, width] of the experts that `at` [tokens, chosen] names, each times its
    share `of_each`.

    An expert is a branch, which a run takes if one of its tokens has chosen it: the weights of the others
    are not read."""
    shares = of_each.like(np.zeros((at.shape[0], experts))).apply(Scatter(1), at, of_each)
    runs = shares.like(0).apply(Less(), compose.reduce(shares, "max", [0]))
    total = None
    for i in range(experts):
        y = expert(i) * part(shares, 1, i, 1)
        before = shares.like(np.zeros(y.shape)) if total is None else total
        total = where(part(runs, 1, i, 1), y if total is None else total + y, before)
    assert total is not None
    return total
