"""Mixtures of experts: of many networks, a token runs through those few that a router scores highest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edgekit.converters.semantics import compose
from edgekit.converters.semantics.movement import part, where
from edgekit.converters.semantics.onnx.indexing import GatherElements
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.activations import Exp, Sigmoid
from edgekit.core.ops.arithmetic import Abs
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.logic import Less
from edgekit.core.ops.rank import TopK
from edgekit.core.ops.scatter import Scatter

_OUT = -1e38  # below all scores
Shares = tuple[Tensor, Tensor]  # the numbers of the chosen experts, and the share of each: [tokens, chosen]


def softmax_shares(scores: Tensor, chosen: int, normalizes: bool) -> Shares:
    """Of the scores [tokens, experts], the `chosen` largest in their softmax. With `normalizes`, these add up
    to 1."""
    best, at = compose.softmax(scores, 1).apply_all(TopK(1, chosen))
    return at, _adding_up(best) if normalizes else best


def sigmoid_shares(scores: Tensor, correction: Tensor, chosen: int, normalizes: bool, scale: float) -> Shares:
    """Sigmoids of scores, of those experts for which these and a correction [experts] are largest."""
    p = scores.apply(Sigmoid())
    _, at = (p + correction).apply_all(TopK(1, chosen))
    best = GatherElements(p, at, axis=1)
    return at, (_adding_up(best, 1e-20) if normalizes else best) * scale  # which may all be 0


def margin_shares(scores: Tensor, margin: float) -> Shares:
    """Of two experts, as SparseMixer chooses them: the softmax among those scores that are within a relative
    margin of the largest one, and then the same without its expert."""
    best, at = scores.apply_all(TopK(1, 2))
    shares = []
    for i in range(2):
        most = part(best, 1, i, 1)
        distance = (most - scores) / scores.apply(Abs()).max(most)
        is_far = distance.like(margin).apply(Less(), distance)
        near = where(is_far, distance.like(0), (scores - most).apply(Exp()))
        shares.append(1 / compose.reduce(near, "sum", [1]))
        scores = scores.apply(Scatter(1), part(at, 1, i, 1), best.like(np.full((at.shape[0], 1), _OUT)))
    return at, shares[0].apply(Concat(1), shares[1])


def _adding_up(shares: Tensor, least: float = 0) -> Tensor:
    total = compose.reduce(shares, "sum", [1])
    return shares / (total + least if least else total)


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
