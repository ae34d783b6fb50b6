"""Fully connected layers, tables, and attention."""

from __future__ import annotations

from functools import reduce as fold

import numpy as np

from edgekit.converters.keras.ops.activations import Named, _activated
from edgekit.converters.keras.weights import Weights
from edgekit.converters.semantics.aten.linear import scaled_dot_product_attention
from edgekit.converters.semantics.compose import dense
from edgekit.converters.semantics.einsum import einsum
from edgekit.converters.semantics.movement import cast, where
from edgekit.converters.semantics.onnx import indexing
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.logic import And
from edgekit.core.types import DType

_HIDDEN = -1e9  # beside a score that is seen, its weight is 0


def Dense(
    x: Tensor, *, weights: Weights, units: int, activation: Named = "linear", use_bias: bool = True
) -> Tensor:
    kernel, *bias = _checked(weights, 2 if use_bias else 1)
    if kernel.shape != (x.shape[-1], units):
        raise EdgeKitError("E0401", f"weights {kernel.type} do not make {units} of {x.type}")
    return _activated(dense(x, kernel.transpose(1, 0), *bias), activation)


def EinsumDense(
    x: Tensor,
    *,
    weights: Weights,
    equation: str,
    output_shape: int | tuple[int | None, ...],
    activation: Named = "linear",
    bias_axes: str = "",
) -> Tensor:
    kernel, *bias = _checked(weights, 2 if bias_axes else 1)
    y = einsum(equation, [x, kernel])
    return _activated(y + bias[0] if bias else y, activation)


def Embedding(
    index: Tensor, *, weights: Weights, input_dim: int, output_dim: int, mask_zero: bool = False
) -> Tensor:
    (table,) = _checked(weights, 1)
    return indexing.Gather(table, cast(index, DType.S32))


def MultiHeadAttention(
    query: Tensor,
    value: Tensor,
    key: Tensor | None = None,
    *,
    weights: Weights,
    num_heads: int,
    key_dim: int,
    value_dim: int = 0,
    use_bias: bool = True,
    output_shape: int | tuple[int, ...] = (),
    attention_axes: tuple[int, ...] = (),
    use_causal_mask: bool = False,
    return_attention_scores: bool = False,
    use_gate: bool = False,
    query_mask: Tensor | None = None,
    value_mask: Tensor | None = None,
    key_mask: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Projections of each to heads, attention of each head, and a projection of what they say together."""
    if query.rank != 3 or attention_axes not in ((), (1,)) or return_attention_scores or use_gate:
        raise EdgeKitError(
            "E0203", "MultiHeadAttention over other axes, with scores or gates, is not supported"
        )
    count = 2 if use_bias else 1
    heads = [
        _heads(x, *_checked(weights.part(f"{name}_dense", name), count))
        for name, x in (("query", query), ("key", value if key is None else key), ("value", value))
    ]
    mask = _seen(query_mask, value_mask, key_mask)
    if mask is not None and use_causal_mask:
        mask = mask.apply(And(), mask.like(np.tril(np.ones((query.shape[1], value.shape[1])))))
    if mask is not None:
        mask = mask.reshape(mask.shape[0], 1, *mask.shape[1:])
        # Where weights are computed apart, for dropout, a query without keys is 0; elsewhere it sees all.
        mask = mask if dropout else where(mask, query.like(0), query.like(_HIDDEN))
    y = scaled_dot_product_attention(
        heads[0],
        key=heads[1],
        value=heads[2],
        attn_mask=mask,
        is_causal=use_causal_mask and mask is None,
    )
    batch, _, steps, width = y.shape
    kernel, *bias = _checked(weights.part("output_dense", "attention_output"), count)
    joint = y.transpose(0, 2, 1, 3).reshape(batch, steps, num_heads * width)
    return dense(joint, kernel.reshape(num_heads * width, kernel.shape[-1]).transpose(1, 0), *bias)


def _seen(query: Tensor | None, value: Tensor | None, key: Tensor | None) -> Tensor | None:
    """Which keys a query sees [B, T, S]; None: all."""
    columns = [m.reshape(m.shape[0], 1, m.shape[1]) for m in (value, key) if m is not None]
    rows = [] if query is None else [query.reshape(*query.shape, 1)]
    parts = [*rows, *columns]
    return fold(lambda a, b: a.apply(And(), b), parts) if parts else None


def _heads(x: Tensor, kernel: Tensor, *bias: Tensor) -> Tensor:
    """x [B, T, D] as [B, heads, T, width] by a kernel [D, heads, width]."""
    inputs, heads, width = kernel.shape
    flat = kernel.reshape(inputs, heads * width).transpose(1, 0)
    y = dense(x, flat, *(b.reshape(heads * width) for b in bias))
    return y.reshape(*x.shape[:2], heads, width).transpose(0, 2, 1, 3)


def _checked(weights: Weights, count: int) -> list[Tensor]:
    """The weights of a layer, which has that many."""
    found = weights.tensors()
    if len(found) != count:
        hint = "" if found else "is the layer shared by two models? Make them one"
        raise EdgeKitError("E0401", f"the file holds {len(found)} weights for it, not {count}", hint=hint)
    return found
