"""Sums, means, extremes and other numbers of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from edgekit.converters.mindir.file import dtype_of as _dtype_of
from edgekit.converters.semantics.aten import reduce as _torch
from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.movement import cast as _cast
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

_Axes = int | Sequence[int] | None


def _reduction(apply: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def handler(x: Tensor, axis: _Axes = (), keep_dims: bool = False, skip_mode: bool = False) -> Tensor:
        if skip_mode and axis == ():
            return x
        return apply(x, dim=axis, keepdim=keep_dims)

    return handler


def _newer(apply: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def handler(x: Tensor, axis: _Axes = None, keep_dims: bool = False, dtype: int | None = None) -> Tensor:
        y = apply(x, dim=axis, keepdim=keep_dims)
        return y if dtype is None else _cast(y, _dtype_of(dtype))

    return handler


def _sum(x: Tensor, *, dim: _Axes, keepdim: bool) -> Tensor:
    return _cast(_torch.sum(x, dim=dim, keepdim=keepdim), x.dtype)


def _product(x: Tensor, *, dim: _Axes, keepdim: bool) -> Tensor:
    axes = [dim] if isinstance(dim, int) else list(dim or range(x.rank))
    return _reduce(x, "prod", axes, keepdim)


ReduceSum = _reduction(_sum)
ReduceMean = _reduction(_torch.mean)
ReduceMax = _reduction(_torch.amax)
ReduceMin = _reduction(_torch.amin)
ReduceProd = _reduction(_product)
ReduceAny = _reduction(_torch.any)
ReduceAll = _reduction(_torch.all)
SumExt = _newer(_torch.sum)
MeanExt = _newer(_torch.mean)
ProdExt = _newer(_product)


def ReduceStd(
    x: Tensor, axis: _Axes = (), unbiased: bool = True, keep_dims: bool = False
) -> tuple[Tensor, Tensor]:
    """And the mean."""
    deviation = _torch.std(x, dim=axis, unbiased=unbiased, keepdim=keep_dims)
    return deviation, _torch.mean(x, dim=axis, keepdim=keep_dims)


def LogSumExp(x: Tensor, axis: _Axes, keep_dims: bool = False) -> Tensor:
    return _torch.logsumexp(x, dim=axis, keepdim=keep_dims)


def Argmax(x: Tensor, axis: int = -1, output_type: int = 34) -> Tensor:
    return _cast(_torch.argmax(x, dim=axis), _dtype_of(output_type))


def Argmin(x: Tensor, axis: int = -1, output_type: int = 34) -> Tensor:
    return _cast(_torch.argmin(x, dim=axis), _dtype_of(output_type))


def ArgMaxWithValue(x: Tensor, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    """The places come first."""
    place = _torch.argmax(x, dim=axis, keepdim=keep_dims)
    return _cast(place, DType.S32), _torch.amax(x, dim=axis, keepdim=keep_dims)


def ArgMinWithValue(x: Tensor, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    place = _torch.argmin(x, dim=axis, keepdim=keep_dims)
    return _cast(place, DType.S32), _torch.amin(x, dim=axis, keepdim=keep_dims)


def TopK(x: Tensor, k: int, *, sorted: bool = True) -> tuple[Tensor, Tensor]:
    values, places = _torch.topk(x, k=k)
    return values, _cast(places, DType.S32)


def Sort(x: Tensor, *, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    values, places = _torch.sort(x, dim=axis, descending=descending)
    return values, _cast(places, DType.S32)


def CumSum(x: Tensor, axis: int, exclusive: bool = False, reverse: bool = False) -> Tensor:
    if exclusive or reverse:
        raise EdgeKitError("E0205", "sums that leave elements out or run backwards are not supported")
    return _torch.cumsum(x, dim=axis, dtype=x.dtype)


def CumsumExt(x: Tensor, dim: int, dtype: int | None = None) -> Tensor:
    return _torch.cumsum(x, dim=dim, dtype=None if dtype is None else _dtype_of(dtype))
