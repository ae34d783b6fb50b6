"""Sums, means, extremes and other numbers of dimensions."""

from __future__ import annotations

from collections.abc import Callable

from edgekit.converters.paddle.arguments import Setting, Tensors, integer, ints, several
from edgekit.converters.paddle.ops.arithmetic import add_n as _add_n
from edgekit.converters.semantics.aten import reduce as _torch
from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.movement import cast as _cast
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType


def _reduction(apply: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A handler; no dimensions are all of them."""

    def handler(
        x: Tensor, axis: Setting = None, *, keepdim: bool = False, reduce_all: bool = False
    ) -> Tensor:
        axes = ints(axis, "the dimensions of a reduction")
        return apply(x, dim=None if reduce_all else axes or None, keepdim=keepdim)

    return handler


def _older(apply: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A handler of older programs, which may change the type, too."""

    def handler(
        x: Tensor,
        *,
        dim: Setting = (0,),
        keep_dim: bool = False,
        reduce_all: bool = False,
        in_dtype: DType | None = None,
        out_dtype: DType | None = None,
    ) -> Tensor:
        y = _reduction(apply)(x, dim, keepdim=keep_dim, reduce_all=reduce_all)
        return _cast(y, out_dtype) if out_dtype else y

    return handler


def _product(x: Tensor, *, dim: list[int] | None, keepdim: bool) -> Tensor:
    return _reduce(x, "prod", range(x.rank) if dim is None else dim, keepdim)


mean, reduce_mean = _reduction(_torch.mean), _older(_torch.mean)
prod, reduce_prod = _reduction(_product), _older(_product)
max, amax = _reduction(_torch.amax), _reduction(_torch.amax)
min, amin = _reduction(_torch.amin), _reduction(_torch.amin)
any, all = _reduction(_torch.any), _reduction(_torch.all)
reduce_sum = _older(_torch.sum)
reduce_max, reduce_amax = _older(_torch.amax), _older(_torch.amax)
reduce_min, reduce_amin = _older(_torch.amin), _older(_torch.amin)
reduce_any, reduce_all = _older(_torch.any), _older(_torch.all)


def sum(x: Tensors, axis: Setting = None, *, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    """Of elements along dimensions; in older programs, which name none, that of several tensors."""
    if axis is None:
        return _add_n(x)
    (cells,) = several(x)
    y = _reduction(_torch.sum)(cells, axis, keepdim=keepdim)
    return _cast(y, dtype) if dtype else y


def logsumexp(x: Tensor, *, axis: Setting = None, keepdim: bool = False, reduce_all: bool = False) -> Tensor:
    axes = [] if reduce_all else ints(axis, "the dimensions of a reduction")
    return _torch.logsumexp(x, dim=axes, keepdim=keepdim)


def argmax(
    x: Tensor,
    axis: Setting = -1,
    *,
    keepdims: bool = False,
    flatten: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    dim = None if flatten else integer(axis, "the axis of an extreme")
    return _cast(_torch.argmax(x, dim=dim, keepdim=keepdims), dtype or DType.S64)


def argmin(
    x: Tensor,
    axis: Setting = -1,
    *,
    keepdims: bool = False,
    flatten: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    dim = None if flatten else integer(axis, "the axis of an extreme")
    return _cast(_torch.argmin(x, dim=dim, keepdim=keepdims), dtype or DType.S64)


arg_max, arg_min = argmax, argmin


def topk(
    x: Tensor, k: Setting = 1, *, axis: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, ...]:
    return _torch.topk(x, k=integer(k, "how many are wanted"), dim=axis, largest=largest)


top_k_v2 = top_k = topk


def argsort(
    x: Tensor, *, axis: int = -1, descending: bool = False, stable: bool = False
) -> tuple[Tensor, ...]:
    return _torch.sort(x, dim=axis, descending=descending)


def cumsum(
    x: Tensor,
    axis: Setting = -1,
    *,
    flatten: bool = False,
    exclusive: bool = False,
    reverse: bool = False,
) -> Tensor:
    if exclusive or reverse:
        raise EdgeKitError("E0205", "sums that leave elements out or run backwards are not supported")
    rows = x.reshape(x.type.size) if flatten else x
    return _torch.cumsum(rows, dim=0 if flatten else integer(axis, "the axis of a sum"), dtype=x.dtype)
