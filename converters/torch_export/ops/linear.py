"""Products of matrices, fully connected layers and attention."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.converters.semantics.aten import linear as shared
from edgekit.converters.semantics.aten.type_promotion import Number
from edgekit.converters.semantics.compose import dense as _dense
from edgekit.converters.semantics.compose import matmul as _matmul
from edgekit.converters.semantics.einsum import einsum as _einsum
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.matmul import MatMul as _MatMul


def linear(x: Tensor, *, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.rank == 1:
        y = _matmul(x, weight)
        return y if bias is None else y + bias
    if x.rank == 1:
        y = linear(x.reshape(1, *x.shape), weight=weight, bias=bias)
        return y.reshape(*y.shape[1:])
    # Constants after folding, or weights that are dequantized: passes make one layer of those.
    if x.dtype.is_float:
        if weight.data is not None and (bias is None or bias.data is not None):
            return _dense(x, weight, bias)
        y = x.apply(_MatMul((), (1, 0)), weight)
    else:
        y = _matmul(x, weight.transpose(1, 0))
    return y if bias is None else y + bias


def matmul(x: Tensor, *, other: Tensor) -> Tensor:
    return _matmul(x, other)


def mm(x: Tensor, *, mat2: Tensor) -> Tensor:
    return _matmul(x, mat2)


def bmm(x: Tensor, *, mat2: Tensor) -> Tensor:
    return _matmul(x, mat2)


def mv(x: Tensor, *, vec: Tensor) -> Tensor:
    return _matmul(x, vec)


def dot(x: Tensor, *, tensor: Tensor) -> Tensor:
    return _matmul(x, tensor)


def outer(x: Tensor, *, vec2: Tensor) -> Tensor:
    return x.reshape(x.type.size, 1) * vec2


def addmm(x: Tensor, *, mat1: Tensor, mat2: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
    return shared.addmm(x, mat1=mat1, mat2=mat2, beta=beta, alpha=alpha)


def baddbmm(x: Tensor, *, batch1: Tensor, batch2: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
    return addmm(x, mat1=batch1, mat2=batch2, beta=beta, alpha=alpha)


def einsum(equation: str, *, tensors: Sequence[Tensor], path: Sequence[int] | None = None) -> Tensor:
    return _einsum(equation, list(tensors))


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
    return shared.scaled_dot_product_attention(
        query,
        key=key,
        value=value,
        attn_mask=attn_mask,
        dropout_p=dropout_p,
        is_causal=is_causal,
        scale=scale,
        enable_gqa=enable_gqa,
    )


def scaled_dot_product_flash_attention_for_cpu(
    query: Tensor,
    *,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Without the second result, which only training reads."""
    return scaled_dot_product_attention(
        query,
        key=key,
        value=value,
        attn_mask=attn_mask,
        dropout_p=dropout_p,
        is_causal=is_causal,
        scale=scale,
    )
