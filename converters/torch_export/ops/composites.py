"""Operators of the training IR that are short for several others."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as _prod

import numpy as np

from edgekit.converters.semantics.aten import arithmetic as _arithmetic
from edgekit.converters.semantics.aten import logic as _logic
from edgekit.converters.semantics.aten import movement as shared_movement
from edgekit.converters.semantics.aten.type_promotion import Number, Operand, promoted
from edgekit.converters.semantics.compose import matmul as _matmul
from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.movement import expand as _expand
from edgekit.converters.semantics.movement import where as _where
from edgekit.converters.tensor import Tensor
from edgekit.converters.torch_export.ops import indexing as _indexing
from edgekit.converters.torch_export.ops import movement as _movement
from edgekit.converters.torch_export.ops import normalize as _normalize
from edgekit.converters.torch_export.ops import reduce as _reductions
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Abs, Sqrt
from edgekit.core.ops.logic import Equal, Less


def isfinite(x: Tensor) -> Tensor:
    return _logic.logical_not(_logic.bitwise_or(_logic.isnan(x), other=_logic.isinf(x)))


def nan_to_num(
    x: Tensor, *, nan: Number | None = None, posinf: Number | None = None, neginf: Number | None = None
) -> Tensor:
    if not x.dtype.is_float:
        return x
    most = float(np.finfo(x.dtype.numpy).max)
    y = _where(_logic.isnan(x), x.like(0 if nan is None else nan), x)
    y = _where(y.apply(Equal(), np.inf), y.like(most if posinf is None else posinf), y)
    return _where(y.apply(Equal(), -np.inf), y.like(-most if neginf is None else neginf), y)


def hypot(x: Tensor, *, other: Tensor) -> Tensor:
    a, b = promoted(x, other)
    return (a * a + b * b).apply(Sqrt())


def logaddexp(x: Tensor, *, other: Tensor) -> Tensor:
    a, b = promoted(x, other)
    return a.max(b) + _arithmetic.log1p(_arithmetic.exp(-(a - b).apply(Abs())))


def logit(x: Tensor, *, eps: float | None = None) -> Tensor:
    y = x if eps is None else x.clip(eps, 1 - eps)
    return _arithmetic.log(y / (1 - y))


def xlogy(x: Operand, *, other: Operand) -> Tensor:
    a, b = promoted(x, other)
    return _where(a.apply(Equal(), 0), a.like(0), a * _arithmetic.log(b))


def copysign(x: Tensor, *, other: Operand) -> Tensor:
    """The sign of -0 is that of 0 here, as no model asks for it."""
    size, sign = promoted(x, other)
    size = size.apply(Abs())
    return _where(sign.apply(Less(), 0), -size, size)


def diff(
    x: Tensor, *, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    y = _movement.cat([t for t in (prepend, x, append) if t is not None], dim=dim)
    for _ in range(n):
        y = _movement.slice(y, dim=dim, start=1) - _movement.slice(y, dim=dim, end=-1)
    return y


def std_mean(
    x: Tensor,
    *,
    dim: Sequence[int] | None = None,
    unbiased: bool = True,
    correction: Number | None = None,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]:
    variance, mean = _reductions.var_mean(
        x, dim=dim, unbiased=unbiased, correction=correction, keepdim=keepdim
    )
    return variance.apply(Sqrt()), mean


def cosine_similarity(x: Tensor, *, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    a, b = promoted(x, x2)
    sizes = [_normalize.linalg_vector_norm(v, dim=[dim], keepdim=True).max(eps) for v in (a, b)]
    return _reduce((a / sizes[0]) * (b / sizes[1]), "sum", [dim], False)


def pairwise_distance(
    x: Tensor, *, x2: Tensor, p: Number = 2, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    a, b = promoted(x, x2)
    return _normalize.linalg_vector_norm(a - b + eps, ord=p, dim=[-1], keepdim=keepdim)


def inner(x: Tensor, *, other: Tensor) -> Tensor:
    return tensordot(x, other=other, dims_self=[-1], dims_other=[-1])


def tensordot(x: Tensor, *, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Tensor:
    left, right = [x.axis(d) for d in dims_self], [other.axis(d) for d in dims_other]
    rows = [i for i in range(x.rank) if i not in left]
    columns = [i for i in range(other.rank) if i not in right]
    size = _prod(x.shape[i] for i in left)
    a = x.transpose(*rows, *left).reshape(_prod(x.shape[i] for i in rows), size)
    b = other.transpose(*right, *columns).reshape(size, _prod(other.shape[i] for i in columns))
    return _matmul(a, b).reshape(*(x.shape[i] for i in rows), *(other.shape[i] for i in columns))


def take_along_dim(x: Tensor, *, indices: Tensor, dim: int | None = None) -> Tensor:
    if dim is None:
        return _indexing.gather(x.reshape(x.type.size), dim=0, index=indices.reshape(indices.type.size))
    return _indexing.gather(x, dim=dim, index=indices)


def broadcast_tensors(tensors: Sequence[Tensor]) -> list[Tensor]:
    shape = np.broadcast_shapes(*(x.shape for x in tensors))
    return [_expand(x, shape) for x in tensors]


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    parts = [x if x.rank else x.reshape(1) for x in tensors]
    return _movement.cat(parts, dim=min(parts[0].rank - 1, 1))


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    return _movement.cat([x if x.rank > 1 else x.reshape(1, x.type.size) for x in tensors], dim=0)


def tensor_split(
    x: Tensor, *, sections: int | None = None, indices: Sequence[int] | None = None, dim: int = 0
) -> list[Tensor]:
    n = x.shape[x.axis(dim)]
    if indices is None:
        if not sections or not 0 < sections <= n:
            raise EdgeKitError("E0401", f"{x.type} in {sections} parts")
        ends = np.cumsum([n // sections + (i < n % sections) for i in range(sections)]).tolist()
    else:
        ends = [*indices, n]
    starts = [0, *ends[:-1]]
    pieces = zip(starts, ends, strict=True)
    return [_movement.slice(x, dim=dim, start=start, end=end) for start, end in pieces]


def fliplr(x: Tensor) -> Tensor:
    return shared_movement.flip(x, dims=[1])


def flipud(x: Tensor) -> Tensor:
    return shared_movement.flip(x, dims=[0])


def weight_norm(v: Tensor, *, g: Tensor, dim: int = 0) -> Tensor:
    axes = [i for i in range(v.rank) if i != v.axis(dim)]
    return v * (g / _reduce(v * v, "sum", axes).apply(Sqrt()))


def bilinear(x: Tensor, *, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """y[.., k] = sum of x[.., i] weight[k, i, j] z[.., j]"""
    outputs, inputs, others = weight.shape
    rows = _matmul(x, weight.transpose(1, 0, 2).reshape(inputs, outputs * others))
    cells = rows.reshape(*x.shape[:-1], outputs, others)
    y = _reduce(cells * input2.reshape(*input2.shape[:-1], 1, others), "sum", [-1], False)
    return y if bias is None else y + bias
