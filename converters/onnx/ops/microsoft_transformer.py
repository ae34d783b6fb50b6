"""Fused operators of transformers in com.microsoft: norms behind additions, GELUs, products, embeddings.

onnxruntime's optimizer of transformers writes them, and so do the exporters of language models.
"""

from __future__ import annotations

import numpy as np

from edgekit.converters.onnx.ops import activations, indexing, normalize
from edgekit.converters.semantics.compose import reduce
from edgekit.converters.semantics.movement import cast, part
from edgekit.converters.tensor import Tensor
from edgekit.core.types import DType

DOMAIN = "com.microsoft"

Results = tuple[Tensor | None, ...]


def SkipLayerNormalization(
    x: Tensor,
    skip: Tensor,
    gamma: Tensor,
    beta: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    epsilon: float = 1e-12,
    outputs: int = 1,
) -> Results:
    total = _skipped(x, skip, bias)
    (y,) = normalize.LayerNormalization(total, gamma, beta, epsilon=epsilon)
    return (y, None, None, total)[:outputs]


def SkipSimplifiedLayerNormalization(
    x: Tensor,
    skip: Tensor,
    gamma: Tensor,
    bias: Tensor | None = None,
    *,
    epsilon: float = 1e-12,
    outputs: int = 1,
) -> Results:
    total = _skipped(x, skip, bias)
    y = normalize.RMSNormalization(total, gamma, epsilon=epsilon)
    return (y, None, None, total)[:outputs]


def EmbedLayerNormalization(
    ids: Tensor,
    segments: Tensor | None,
    words: Tensor,
    positions: Tensor,
    segment_table: Tensor | None,
    gamma: Tensor,
    beta: Tensor,
    mask: Tensor | None = None,
    position_ids: Tensor | None = None,
    *,
    epsilon: float = 1e-12,
    mask_index_type: int = 1,
    outputs: int = 2,
) -> Results:
    batch, length = ids.shape
    if position_ids is None:
        position_ids = ids.new(np.arange(length, dtype=np.int32)[None])
    total = indexing.Gather(words, ids) + indexing.Gather(positions, position_ids)
    if segments is not None and segment_table is not None:
        total = total + indexing.Gather(segment_table, segments)
    (y,) = normalize.LayerNormalization(total, gamma, beta, epsilon=epsilon)
    if outputs < 2 or not mask_index_type:
        return (y, None, total)[:outputs]
    if mask is None:
        counts = ids.new(np.zeros(batch, np.int32))
    else:
        counts = reduce(cast(mask, DType.S32), "sum", [1], keepdims=False)
    return (y, counts, total)[:outputs]


def Gelu(x: Tensor) -> Tensor:
    return activations.Gelu(x)


def BiasGelu(x: Tensor, bias: Tensor) -> Tensor:
    return activations.Gelu(x + bias)


def FastGelu(x: Tensor, bias: Tensor | None = None) -> Tensor:
    return activations.Gelu(x if bias is None else x + bias, approximate="tanh")


def QuickGelu(x: Tensor, *, alpha: float = 1.702) -> Tensor:
    return activations.Swish(x, alpha=alpha)


def BiasSplitGelu(x: Tensor, bias: Tensor) -> Tensor:
    y, half = x + bias, x.shape[-1] // 2
    return part(y, y.rank - 1, 0, half) * activations.Gelu(part(y, y.rank - 1, half, half))


def _skipped(x: Tensor, skip: Tensor, bias: Tensor | None) -> Tensor:
    total = x + skip
    return total if bias is None else total + bias
