"""Attention of several heads, with the products before and after it."""

from __future__ import annotations

from edgekit.converters.ncnn.file import Layer as _Layer
from edgekit.converters.ncnn.file import Weights as _Weights
from edgekit.converters.semantics.attention import Mask as _Mask
from edgekit.converters.semantics.attention import attend as _attend
from edgekit.converters.semantics.attention import heads_of as _heads_of
from edgekit.converters.semantics.attention import rows_of_heads as _rows_of_heads
from edgekit.converters.semantics.compose import dense as _dense
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError


def MultiHeadAttention(builder: Builder, layer: _Layer, weights: _Weights, *xs: Tensor) -> Tensor:
    """Rows of queries, keys and values, of which the last that are there count for those that are not; then
    a mask that is added to scores."""
    layer.refuse(7, 18)
    size, heads = layer.integer(0), layer.integer(1, 1)
    sizes = layer.integer(2) // max(size, 1), layer.integer(3, size), layer.integer(4, size)
    masks = 1 if layer.integer(5) else 0
    rows = xs[: len(xs) - masks]
    if not 1 <= len(rows) <= 3 or heads < 1 or size % heads or any(x.rank != 2 for x in xs):
        raise EdgeKitError("E0401", f"attention of {heads} heads with {len(xs)} blobs")
    operands = [*rows, *[rows[-1]] * (3 - len(rows))]
    q, k, v = (
        _heads_of(_product(weights, x, size, n).reshape(1, x.shape[0], size), heads)
        for x, n in zip(operands, sizes, strict=True)
    )
    mask = _Mask(bias=xs[-1].reshape(1, 1, *xs[-1].shape)) if masks else _Mask()
    y = _rows_of_heads(_attend(q, k, v, layer.number(6, (size / heads) ** -0.5), mask))
    return _product(weights, y.reshape(rows[0].shape[0], size), sizes[0], size)


def _product(weights: _Weights, x: Tensor, outputs: int, inputs: int) -> Tensor:
    w, b = x.new(weights.tagged(outputs, inputs)), x.new(weights.plain(outputs))
    return _dense(x, w, b)
