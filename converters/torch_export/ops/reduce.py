"""Sums, means, extremes and other numbers of dimensions."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.aten import reduce as shared
from edgekit.converters.semantics.aten.reduce import _axes, _Dims, _place
from edgekit.converters.semantics.aten.type_promotion import Number, Operand, promoted
from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.movement import cast
from edgekit.converters.semantics.onnx import indexing as _indexing
from edgekit.converters.tensor import Tensor
from edgekit.core.types import DType


def sum(x: Tensor, *, dim: _Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    return shared.sum(x, dim=dim, keepdim=keepdim, dtype=dtype)


def mean(x: Tensor, *, dim: _Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    return shared.mean(x, dim=dim, keepdim=keepdim, dtype=dtype)


def prod(x: Tensor, *, dim: int | None = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    wide = cast(x, dtype or (x.dtype if x.dtype.is_float else DType.S64))
    return _reduce(wide, "prod", _axes(x, dim), keepdim)


def amax(x: Tensor, *, dim: _Dims = None, keepdim: bool = False) -> Tensor:
    return shared.amax(x, dim=dim, keepdim=keepdim)


def amin(x: Tensor, *, dim: _Dims = None, keepdim: bool = False) -> Tensor:
    return shared.amin(x, dim=dim, keepdim=keepdim)


def max(
    x: Tensor, *, other: Operand | None = None, dim: int | None = None, keepdim: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    return _extreme(x, other, dim, keepdim, largest=True)


def min(
    x: Tensor, *, other: Operand | None = None, dim: int | None = None, keepdim: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    return _extreme(x, other, dim, keepdim, largest=False)


def argmax(x: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return shared.argmax(x, dim=dim, keepdim=keepdim)


def argmin(x: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return shared.argmin(x, dim=dim, keepdim=keepdim)


def var(
    x: Tensor,
    *,
    dim: _Dims = None,
    unbiased: bool = True,
    correction: Number | None = None,
    keepdim: bool = False,
) -> Tensor:
    return shared.var(x, dim=dim, unbiased=unbiased, correction=correction, keepdim=keepdim)


def std(
    x: Tensor,
    *,
    dim: _Dims = None,
    unbiased: bool = True,
    correction: Number | None = None,
    keepdim: bool = False,
) -> Tensor:
    return shared.std(x, dim=dim, unbiased=unbiased, correction=correction, keepdim=keepdim)


def var_mean(
    x: Tensor,
    *,
    dim: _Dims = None,
    unbiased: bool = True,
    correction: Number | None = None,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]:
    return (
        var(x, dim=dim, unbiased=unbiased, correction=correction, keepdim=keepdim),
        mean(x, dim=dim, keepdim=keepdim),
    )


def any(x: Tensor, *, dim: _Dims = None, keepdim: bool = False) -> Tensor:
    return shared.any(x, dim=dim, keepdim=keepdim)


def all(x: Tensor, *, dim: _Dims = None, keepdim: bool = False) -> Tensor:
    return shared.all(x, dim=dim, keepdim=keepdim)


def logsumexp(x: Tensor, *, dim: _Dims, keepdim: bool = False) -> Tensor:
    return shared.logsumexp(x, dim=dim, keepdim=keepdim)


def cumsum(x: Tensor, *, dim: int, dtype: DType | None = None) -> Tensor:
    return shared.cumsum(x, dim=dim, dtype=dtype)


def cumprod(x: Tensor, *, dim: int, dtype: DType | None = None) -> Tensor:
    wide = cast(x, dtype or (x.dtype if x.dtype.is_float else DType.S64))
    return _indexing.CumProd(wide, x.new(np.asarray(dim)))


def topk(
    x: Tensor, *, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, ...]:
    return shared.topk(x, k=k, dim=dim, largest=largest, sorted=sorted)


def sort(
    x: Tensor, *, dim: int = -1, descending: bool = False, stable: bool | None = None
) -> tuple[Tensor, ...]:
    return shared.sort(x, dim=dim, descending=descending, stable=stable)


def argsort(x: Tensor, *, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Tensor:
    return sort(x, dim=dim, descending=descending)[1]


def _extreme(
    x: Tensor, other: Operand | None, dim: int | None, keepdim: bool, largest: bool
) -> Tensor | tuple[Tensor, Tensor]:
    if other is not None:
        a, b = promoted(x, other)
        return a.max(b) if largest else a.min(b)
    kind = "max" if largest else "min"
    if dim is None:
        return _reduce(x, kind, range(x.rank), False)
    return _reduce(x, kind, _axes(x, dim), keepdim), _place(x, dim, keepdim, largest)
