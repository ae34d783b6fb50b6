"""Normalizations over batches, layers, groups and rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from edgekit.converters.semantics.aten import normalize as shared
from edgekit.converters.semantics.aten.normalize import _affine
from edgekit.converters.semantics.aten.type_promotion import Number
from edgekit.converters.semantics.compose import standardize as _standardize
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError


def batch_norm(
    x: Tensor,
    *,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    return shared.batch_norm(
        x,
        weight=weight,
        bias=bias,
        running_mean=running_mean,
        running_var=running_var,
        training=training,
        momentum=momentum,
        eps=eps,
    )


def native_batch_norm_legit_no_training(
    x: Tensor,
    *,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> Tensor:
    """Without the statistics of this batch, which only training reads; those below leave them out, too."""
    return batch_norm(
        x, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var, eps=eps
    )


def native_batch_norm_legit(
    x: Tensor,
    *,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    """By the statistics of x itself, where none are kept: what becomes of InstanceNorm."""
    if not training or running_mean is not None:
        return batch_norm(
            x,
            weight=weight,
            bias=bias,
            running_mean=running_mean,
            running_var=running_var,
            training=training,
            eps=eps,
        )
    scale, offset = _affine(x, weight, bias, (x.shape[1],))
    cells = x.to_nhwc()
    y, _, _ = _standardize(cells, range(cells.rank - 1), eps)
    return (y * scale + offset).to_nchw()


def instance_norm(
    x: Tensor,
    *,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    return shared.instance_norm(
        x,
        weight=weight,
        bias=bias,
        running_mean=running_mean,
        running_var=running_var,
        use_input_stats=use_input_stats,
        momentum=momentum,
        eps=eps,
    )


def layer_norm(
    x: Tensor,
    *,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    return shared.layer_norm(x, normalized_shape=normalized_shape, weight=weight, bias=bias, eps=eps)


def native_layer_norm(
    x: Tensor,
    *,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> Tensor:
    return layer_norm(x, normalized_shape=normalized_shape, weight=weight, bias=bias, eps=eps)


def rms_norm(
    x: Tensor,
    *,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    return shared.rms_norm(x, normalized_shape=normalized_shape, weight=weight, eps=eps)


def fused_rms_norm(
    x: Tensor,
    *,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    return rms_norm(x, normalized_shape=normalized_shape, weight=weight, eps=eps)


def group_norm(
    x: Tensor,
    *,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    return shared.group_norm(x, num_groups=num_groups, weight=weight, bias=bias, eps=eps)


def native_group_norm(
    x: Tensor,
    *,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> Tensor:
    return group_norm(x, num_groups=group, weight=weight, bias=bias, eps=eps)


def linalg_vector_norm(
    x: Tensor, *, ord: Number = 2, dim: Sequence[int] | None = None, keepdim: bool = False
) -> Tensor:
    return shared.linalg_vector_norm(x, ord=ord, dim=dim, keepdim=keepdim)


def linalg_norm(
    x: Tensor,
    *,
    ord: Number | str | None = None,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
) -> Tensor:
    """Of vectors or of matrices, whichever the dimensions are those of."""
    axes = [x.axis(d) for d in dim] if dim else list(range(x.rank))
    if ord is None or ord == "fro" or len(axes) == 1:
        order = ord if isinstance(ord, int | float) else 2
        return shared.linalg_vector_norm(x, ord=order, dim=axes, keepdim=keepdim)
    if len(axes) != 2 or ord not in (1, -1, inf, -inf):
        raise EdgeKitError("E0205", f"the norm of order {ord} of matrices is not supported")
    rows, columns = axes
    summed, kept = (rows, columns) if ord in (1, -1) else (columns, rows)
    size = shared.linalg_vector_norm(x, ord=1, dim=[summed], keepdim=True)
    found = shared.linalg_vector_norm(size, ord=inf if ord > 0 else -inf, dim=[kept], keepdim=True)
    return found if keepdim else found.reshape(*(n for i, n in enumerate(x.shape) if i not in axes))


def norm(
    x: Tensor, *, p: Number | None = 2, dim: Sequence[int] | None = None, keepdim: bool = False
) -> Tensor:
    return linalg_vector_norm(x, ord=2 if p is None else p, dim=dim, keepdim=keepdim)
