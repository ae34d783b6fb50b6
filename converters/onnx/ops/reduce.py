"""Reductions: sums, means, products, extremes and norms over dimensions."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes

from edgekit.converters.semantics.compose import reduce
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.activations import Exp, Log
from edgekit.core.ops.arithmetic import Abs, Sqrt

Step = Callable[[Tensor], Tensor]


def _axes(x: Tensor, given: Tensor | None, axes: tuple[int, ...] | None, noop: int) -> tuple[int, ...]:
    """What to reduce: the axes are an input since opset 18 (13 for ReduceSum), an attribute before."""
    if given is not None:
        axes = given.ints("the axes of a reduction")
    return axes or (() if noop else tuple(range(x.rank)))


def _reduction(kind: str, before: Step = lambda x: x, after: Step = lambda x: x) -> Callable[..., Tensor]:
    """A handler: `before` is done to the elements, `after` to what they are reduced to."""

    def handler(
        x: Tensor,
        given: Tensor | None = None,
        *,
        axes: tuple[int, ...] | None = None,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
    ) -> Tensor:
        return after(reduce(before(x), kind, _axes(x, given, axes, noop_with_empty_axes), bool(keepdims)))

    return handler


ReduceSum = _reduction("sum")
ReduceMean = _reduction("mean")
ReduceProd = _reduction("prod")
ReduceMax = _reduction("max")
ReduceMin = _reduction("min")
ReduceL1 = _reduction("sum", before=lambda x: x.apply(Abs()))
ReduceL2 = _reduction("sum", before=lambda x: x * x, after=lambda y: y.apply(Sqrt()))
ReduceSumSquare = _reduction("sum", before=lambda x: x * x)
ReduceLogSum = _reduction("sum", after=lambda y: y.apply(Log()))


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
    most = float(ml_dtypes.finfo(x.dtype.numpy).max)  # type: ignore[no-untyped-call]  # published without types
    high = reduce(x, "max", axes).clip(-most, most)
    y = reduce((x - high).apply(Exp()), "sum", axes).apply(Log()) + high
    return y if keepdims else reduce(y, "max", axes, keepdims=False)
