"""Sums, means, extremes and other numbers of dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.converters.semantics.aten.type_promotion import Number
from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.movement import cast
from edgekit.converters.semantics.onnx import indexing as _indexing
from edgekit.converters.semantics.onnx.reduce import ReduceLogSumExp as _ReduceLogSumExp
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import logic as _logic
from edgekit.core.ops.arithmetic import Sqrt
from edgekit.core.ops.rank import TopK
from edgekit.core.types import DType

_Dims = int | Sequence[int] | None


def sum(x: Tensor, *, dim: _Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    wide = cast(x, dtype or (x.dtype if x.dtype.is_float else DType.S64))
    return _reduce(wide, "sum", _axes(x, dim), keepdim)


def mean(x: Tensor, *, dim: _Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    return _reduce(cast(x, dtype or x.dtype), "mean", _axes(x, dim), keepdim)


def amax(x: Tensor, *, dim: _Dims = None, keepdim: bool = False) -> Tensor:
    return _reduce(x, "max", _axes(x, dim), keepdim)


def amin(x: Tensor, *, dim: _Dims = None, keepdim: bool = False) -> Tensor:
    return _reduce(x, "min", _axes(x, dim), keepdim)


def argmax(x: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return _place(x, dim, keepdim, largest=True)


def argmin(x: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return _place(x, dim, keepdim, largest=False)


def var(
    x: Tensor,
    *,
    dim: _Dims = None,
    unbiased: bool = True,
    correction: Number | None = None,
    keepdim: bool = False,
) -> Tensor:
    axes = _axes(x, dim)
    free = _count(x, axes) - (int(unbiased) if correction is None else correction)
    d = x - _reduce(x, "mean", axes)
    if correction == 0 or (correction is None and not unbiased):
        return _reduce(d * d, "mean", axes, keepdim)
    return _reduce(d * d, "sum", axes, keepdim) / free


def std(
    x: Tensor,
    *,
    dim: _Dims = None,
    unbiased: bool = True,
    correction: Number | None = None,
    keepdim: bool = False,
) -> Tensor:
    return var(x, dim=dim, unbiased=unbiased, correction=correction, keepdim=keepdim).apply(Sqrt())


def any(x: Tensor, *, dim: _Dims = None, keepdim: bool = False) -> Tensor:
    return cast(_reduce(_flags(x), "max", _axes(x, dim), keepdim), DType.BOOL)


def all(x: Tensor, *, dim: _Dims = None, keepdim: bool = False) -> Tensor:
    return cast(_reduce(_flags(x), "min", _axes(x, dim), keepdim), DType.BOOL)


def logsumexp(x: Tensor, *, dim: _Dims, keepdim: bool = False) -> Tensor:
    return _ReduceLogSumExp(x, axes=tuple(_axes(x, dim)), keepdims=int(keepdim))


def cumsum(x: Tensor, *, dim: int, dtype: DType | None = None) -> Tensor:
    wide = cast(x, dtype or (x.dtype if x.dtype.is_float else DType.S64))
    return _indexing.CumSum(wide, x.new(np.asarray(dim)))


def topk(
    x: Tensor, *, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, ...]:
    axis = x.axis(dim)
    if not 0 <= k <= x.shape[axis]:
        raise EdgeKitError("E0401", f"the largest {k} of axis {axis} of {x.type}")
    return x.apply_all(TopK(axis, k, largest))


def sort(
    x: Tensor, *, dim: int = -1, descending: bool = False, stable: bool | None = None
) -> tuple[Tensor, ...]:
    axis = x.axis(dim)
    return x.apply_all(TopK(axis, x.shape[axis], descending))


def _axes(x: Tensor, dim: _Dims) -> list[int]:
    """The dimensions to reduce; none stated are all."""
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return list(range(x.rank))
    return [x.axis(d) for d in ([dim] if isinstance(dim, int) else dim)] if x.rank else []


def _count(x: Tensor, axes: Sequence[int]) -> int:
    return int(np.prod([x.shape[a] for a in axes], dtype=np.int64))


def _place(x: Tensor, dim: int | None, keepdim: bool, largest: bool) -> Tensor:
    find = _indexing.ArgMax if largest else _indexing.ArgMin
    if dim is None:
        y = find(x.reshape(x.type.size), axis=0, keepdims=0)
        return y.reshape(*(1,) * x.rank) if keepdim else y
    return find(x, axis=dim, keepdims=int(keepdim))


def _flags(x: Tensor) -> Tensor:
    """Truth as bytes, which have extremes."""
    truth = x if x.dtype is DType.BOOL else x.apply(_logic.Equal(), 0).apply(_logic.Not())
    return cast(truth, DType.U8)
