"""Products of matrices, fully connected layers and attention."""

from __future__ import annotations

from math import sqrt as _sqrt

import numpy as np

from edgekit.converters.semantics import movement
from edgekit.converters.semantics.aten.type_promotion import Number
from edgekit.converters.semantics.compose import dense as _dense
from edgekit.converters.semantics.compose import matmul as _matmul
from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.compose import softmax as _softmax
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.logic import Equal as _Equal
from edgekit.core.ops.logic import Not as _Not
from edgekit.core.types import DType


def addmm(x: Tensor, *, mat1: Tensor, mat2: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
    if mat2.data is not None and x.data is not None and x.shape == mat2.shape[1:] and x.dtype.is_float:
        weight = mat2.transpose(1, 0)
        return _dense(mat1, weight if alpha == 1 else weight * alpha, x if beta == 1 else x * beta)
    y = _matmul(mat1, mat2)
    y = y if alpha == 1 else y * alpha
    return y if beta == 0 else y + (x if beta == 1 else x * beta)


def scaled_dot_product_attention(
    query: Tensor,
    *,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(q k' scale + mask) v; with grouped queries, several heads share a key and a value."""
    if dropout_p:
        raise EdgeKitError("E0205", "attention that drops values is supported in evaluation mode only")
    if enable_gqa and query.shape[-3] != key.shape[-3]:
        times = query.shape[-3] // key.shape[-3]
        key, value = (movement.repeat_along(x, x.rank - 3, times) for x in (key, value))
    factor = 1 / _sqrt(query.shape[-1]) if scale is None else scale
    scores = _matmul(query * factor, movement.transposed(key))
    if is_causal:
        lower = np.tril(np.ones(scores.shape[-2:], np.bool_))
        scores = movement.where(scores.new(lower, "mask"), scores, float("-inf"))
    if attn_mask is None:
        return _matmul(_softmax(scores, -1), value)
    if attn_mask.dtype is DType.BOOL:
        scores = movement.where(attn_mask, scores, float("-inf"))
    else:
        attn_mask = movement.cast(attn_mask, scores.dtype)
        scores = scores + attn_mask
    return _matmul(_unless_hidden(_softmax(scores, -1), attn_mask), value)


def _unless_hidden(weights: Tensor, mask: Tensor) -> Tensor:
    """Weights of 0 where a mask hides every key of a query, of which softmax makes NaN."""
    most = _reduce(mask, "max", [-1]) if mask.rank else mask
    hidden = most.apply(_Not()) if mask.dtype is DType.BOOL else most.apply(_Equal(), float("-inf"))
    if hidden.data is not None and not hidden.data.any():
        return weights
    return movement.where(hidden, weights.like(0), weights)
