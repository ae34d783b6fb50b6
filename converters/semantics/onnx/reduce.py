"""Reductions: sums, means, products, extremes and norms over dimensions."""

from __future__ import annotations

from edgekit.converters.semantics.compose import reduce
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.activations import Exp, Log
from edgekit.core.types import finfo


def _axes(x: Tensor, given: Tensor | None, axes: tuple[int, ...] | None, noop: int) -> tuple[int, ...]:
    """What to reduce: the axes are an input since opset 18 (13 for ReduceSum), an attribute before."""
    if given is not None:
        axes = given.ints("the axes of a reduction")
    return axes or (() if noop else tuple(range(x.rank)))


def ReduceLogSumExp(
    x: Tensor,
    given: Tensor | None = None,
    *,
    axes: tuple[int, ...] | None = None,
    keepdims: int = 1,
    noop_with_empty_axes: int = 0,
) -> Tensor:
    axes = _axes(x, given, axes, noop_with_empty_axes)
    # exp cannot overflow once the largest element is taken away; an infinite one stays out of it (inf - inf).
    most = float(finfo(x.dtype.numpy).max)
    high = reduce(x, "max", axes).clip(-most, most)
    y = reduce((x - high).apply(Exp()), "sum", axes).apply(Log()) + high
    return y if keepdims else reduce(y, "max", axes, keepdims=False)
