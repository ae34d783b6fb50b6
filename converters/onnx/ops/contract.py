"""Matrix products: Gemm, MatMul, Einsum."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.compose import dense, matmul
from edgekit.converters.semantics.einsum import einsum
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.matmul import MatMul as MatMulOp


def MatMul(a: Tensor, b: Tensor) -> Tensor:
    return matmul(a, b)


def Gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Tensor:
    if a.rank != 2 or b.rank != 2:
        raise EdgeKitError("E0401", f"Gemm of {a.type} and {b.type}, which should be matrices")
    if not a.dtype.is_float and (alpha != int(alpha) or beta != int(beta)):
        raise EdgeKitError("E0205", f"Gemm of {a.dtype.value} with alpha {alpha:g} and beta {beta:g}")
    if c is not None and beta != 1:
        c = c * beta if beta else None
    outputs = b.shape[0] if transB else b.shape[1]
    if b.data is not None and a.dtype.is_float:
        w = b if transB else b.transpose(1, 0)
        x = a.transpose(1, 0) if transA else a
        bias = None
        if c is not None and c.data is not None and (c.rank < 2 or c.shape[0] == 1):
            bias = c.new(np.broadcast_to(c.data, (1, outputs)).reshape(outputs))
            c = None
        y = dense(x, w * alpha if alpha != 1 else w, bias)
    else:
        y = a.apply(MatMulOp((1, 0) if transA else (), (1, 0) if transB else ()), b)
        y = y * alpha if alpha != 1 else y
    return y if c is None else y + c


def Einsum(*xs: Tensor, equation: str) -> Tensor:
    return einsum(equation, xs)
