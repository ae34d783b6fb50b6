"""Sums, means, extremes and lengths over axes."""

from __future__ import annotations

from collections.abc import Callable

from edgekit.converters.semantics.aten import reduce as _torch
from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.arithmetic import Abs as _Abs
from edgekit.core.ops.arithmetic import Sqrt as _Sqrt


def _over_axes(apply: Callable[[Tensor, tuple[int, ...], bool], Tensor]) -> Callable[..., Tensor]:
    """A handler; no axes leave x as it is."""

    def handler(x: Tensor, given: Tensor, *, keep_dims: bool = False) -> Tensor:
        axes = given.ints("the axes of a reduction")
        return apply(x, axes, keep_dims)

    return handler


def _kind(name: str) -> Callable[..., Tensor]:
    return _over_axes(lambda x, axes, keeps: _reduce(x, name, axes, keeps) if axes else x)


ReduceSum, ReduceMean, ReduceProd = map(_kind, ("sum", "mean", "prod"))
ReduceMax, ReduceMin = map(_kind, ("max", "min"))
ReduceL1 = _over_axes(lambda x, axes, keeps: _reduce(x.apply(_Abs()), "sum", axes, keeps))
ReduceL2 = _over_axes(lambda x, axes, keeps: _reduce(x * x, "sum", axes, keeps).apply(_Sqrt()))
ReduceLogicalAnd = _over_axes(lambda x, axes, keeps: _torch.all(x, dim=list(axes), keepdim=keeps))
ReduceLogicalOr = _over_axes(lambda x, axes, keeps: _torch.any(x, dim=list(axes), keepdim=keeps))
