"""Ranges of tensors that a function is applied to, element by element, and of its results.

What matters of a logit is what the sigmoid makes of it: below -8 hardly anything changes, while an upper end
that more samples would pass makes a large error. Beyond the ends that samples have shown, their extremes tell
how many more values there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops._map import Unary
from edgekit.core.passes.integer_labels import keeps_scale
from edgekit.core.types import Array
from edgekit.quantize.calibration.observe import FAR, Range, Statistics, gumbel_scales

_CELLS = 64  # of a tail
_ENDS = 33  # that are tried on each side
Function = Callable[[Array], Array]


def reading_function(graph: Graph, name: str) -> Node | None:
    """The function of one tensor that alone reads a tensor, as it is or moved."""
    users = graph.users(name)
    if len(users) != 1 or name in graph.outputs:
        return None
    (user,) = users
    if isinstance(user.op, Unary):
        return user
    moves = keeps_scale(user.op) and len(user.inputs) == 1
    return reading_function(graph, user.outputs[0]) if moves else None


def giving_function(graph: Graph, name: str) -> Node | None:
    """The rising or falling function that gives a tensor, as it is or moved."""
    node = graph.producer(name)
    if node is None or (isinstance(node.op, Unary) and not node.op.corners):
        return None
    if isinstance(node.op, Unary):
        return node
    moves = keeps_scale(node.op) and len(node.inputs) == 1
    return giving_function(graph, node.inputs[0]) if moves else None


def applied(node: Node) -> Function:
    """What the node computes."""

    def of(x: Array) -> Array:
        with np.errstate(all="ignore"):
            result: Array = node.op.eval(x.astype(np.float32))[0].astype(np.float64)
        return result

    return of


def least_error_behind(s: Statistics, function: Function) -> Range:
    """The range whose 255 steps leave the least error behind a function, in the mean square: over what was
    seen, and what may come beyond its ends if extremes of samples are distributed after Gumbel."""
    below, above = gumbel_scales(s)
    seen = s.counts > 0
    parts = [(s.centres[seen], s.counts[seen].astype(np.float64)), _tail(s.low, -below), _tail(s.high, above)]
    x, weights = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    exact = function(x)
    is_finite = np.isfinite(exact)
    x, weights, exact = x[is_finite], weights[is_finite], exact[is_finite]

    def noise(ends: Range) -> float:
        low, high = ends
        step = (high - low) / 255 or 1.0
        zero = np.rint(-128 - low / step)
        kept = function((np.arange(-128, 128) - zero) * step)
        cells = np.clip(np.rint(x / step) + zero, -128, 127).astype(np.intp) + 128
        error = float((weights * np.square(kept[cells] - exact)).sum())
        return error if math.isfinite(error) else math.inf

    low, high = min(s.low - FAR * below, 0.0), max(s.high + FAR * above, 0.0)
    lows, highs = np.linspace(low, 0.0, _ENDS), np.linspace(high, 0.0, _ENDS)
    for _ in range(2):  # one end after the other, and again
        low = min(lows, key=lambda end: noise((float(end), high)))
        high = min(highs, key=lambda end: noise((low, float(end))))
    return float(low), float(high)


def _tail(end: float, scale: float) -> tuple[Array, Array]:
    """Values beyond an end that was seen, and how many of them as many samples show."""
    edges = np.linspace(0.0, FAR, _CELLS + 1)
    return end + scale * (edges[1:] + edges[:-1]) / 2, -np.diff(np.exp(-edges))
