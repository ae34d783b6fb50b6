"""Reductions: sums, means, products, extremes and norms over dimensions."""

from __future__ import annotations

from collections.abc import Callable

from edgekit.converters.semantics.compose import reduce
from edgekit.converters.semantics.onnx import reduce as shared
from edgekit.converters.semantics.onnx.reduce import _axes
from edgekit.converters.semantics.selected_rows import without_unused
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.activations import Log
from edgekit.core.ops.arithmetic import Abs, Sqrt

Step = Callable[[Tensor], Tensor]


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
        along = _axes(x, given, axes, noop_with_empty_axes)
        x = before(x)
        for axis in along:  # of rows that another operator selects
            x = without_unused(x, x.axis(axis), kind)
        return after(reduce(x, kind, along, bool(keepdims)))

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
    return shared.ReduceLogSumExp(
        x, given, axes=axes, keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes
    )
