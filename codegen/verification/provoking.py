"""Inputs that provoke errors which usual ones hide: large values, an outlier, equal elements, ends of ranges.

A maximum that misses the tail of a row changes nothing of a softmax near N(0, 1), for one: it overflows where
values are large.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgekit.core import simulate
from edgekit.core.input_ranges import InputRange, input_ranges
from edgekit.core.ir import Graph
from edgekit.core.types import Array, Type

# Of floats; the first one that overflows nowhere is taken.
SIZES = (64.0, 8.0)
# Products of four are normal numbers still: some processors take others for 0 (NEON of ARMv7, Helium).
_TINY = 2.0**-30
KINDS = ("large", "outlier", "opposite", "equal")


def provoking(graph: Graph, kind: str, choice: int) -> Iterator[dict[str, Array]]:
    """Samples of a kind, the most provoking first, of which one is to be taken. `choice` is that of the
    random inputs beside them: see input_ranges.py."""
    spans = input_ranges(graph, choice)
    random = simulate.random_inputs(graph, len(SIZES), choice)
    for size in SIZES:
        yield {name: _made(kind, graph.type(name), spans[name], random[name], size) for name in graph.inputs}


def _made(kind: str, type: Type, span: InputRange, random: Array, size: float) -> Array:
    if span.is_mask:
        return np.ones_like(random) if kind == "equal" else random
    if type.dtype.is_float:
        return _floats(kind, random.astype(np.float64), size).astype(random.dtype)
    return _integers(kind, random.astype(np.int64), int(span.low), int(span.high)).astype(random.dtype)


def _floats(kind: str, random: Array, size: float) -> Array:
    match kind:
        case "large":
            return random * size
        case "opposite":
            return random * -size
        case "equal":
            return np.ones_like(random)
    return _with_outlier(np.where(random > 0, _TINY, 0.0), size)


def _integers(kind: str, random: Array, low: int, high: int) -> Array:
    """Both ends, rather than large values: outside of their range indices mean nothing."""
    at_ends = np.where(random % 2, low, high)
    match kind:
        case "large":
            return at_ends
        case "opposite":
            return low + high - at_ends
        case "equal":
            return np.full_like(random, high)
    return _with_outlier(np.full_like(random, min(max(0, low), high)), high)


def _with_outlier(values: Array, outlier: float) -> Array:
    """The last element is another one: tails come last."""
    values.reshape(-1)[-1:] = outlier
    return values


def not_finite(value: Array) -> int:
    return 0 if value.dtype.kind in "biu" else int(value.size - np.isfinite(value).sum())
