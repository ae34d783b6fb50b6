"""Groupwise-quantized weights in the domain com.microsoft: MatMulNBits and GatherBlockQuantized.

These are what onnxruntime's MatMulNBitsQuantizer writes, and what language models and the q4 files of
transformers.js hold. Weights stay in 4 or 8 bits. `accuracy_level` would allow activations in 8 bits: here
they are floats, which is nearer to what the weights stand for.
"""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.compose import dense
from edgekit.converters.semantics.groupwise import (
    GroupwiseMatrix,
    dense_groupwise,
    gather_groupwise,
    unpacked,
)
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType

DOMAIN = "com.microsoft"

_BITS = (2, 4, 8)


def MatMulNBits(
    a: Tensor,
    b: Tensor,
    scales: Tensor,
    zero_points: Tensor | None = None,
    g_idx: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    K: int,
    N: int,
    block_size: int,
    bits: int = 4,
    accuracy_level: int = 0,
    weight_prepacked: int = 0,
) -> Tensor:
    if weight_prepacked:
        raise _refused(a, "weights are packed for one processor (weight_prepacked)", "E0205")
    _check(a, bits, block_size)
    data, groups = b.constant("the weights"), -(-K // block_size)
    if b.dtype is not DType.U8 or data.size != N * groups * block_size * bits // 8 or K < 1 or N < 1:
        raise _refused(a, f"weights {b.type} do not hold {N} rows of {K} in {bits} bits")
    integers = unpacked(data.reshape(N, groups, -1), bits, block_size).reshape(N, -1)[:, :K]
    scale = _of_groups(scales, (N, groups), "scales")
    zero = _zero(zero_points, bits, (N, groups))
    if g_idx is not None:
        order = np.resize(g_idx.constant("the groups of inputs"), K)
        if g_idx.type.size < K or (order < 0).any() or (order >= groups).any():
            raise _refused(a, f"{g_idx.type} does not name the groups of {K} inputs")
        if (order != np.arange(K) // block_size).any():
            of_inputs = np.broadcast_to(zero, scale.shape)[:, order].astype(np.float32)
            real = (integers - of_inputs) * scale[:, order].astype(np.float32)
            return dense(a, a.like(real), bias)
    return dense_groupwise(a, GroupwiseMatrix(integers, bits, scale, zero, block_size), bias)


def GatherBlockQuantized(
    data: Tensor,
    indices: Tensor,
    scales: Tensor,
    zero_points: Tensor | None = None,
    *,
    gather_axis: int = 0,
    quantize_axis: int = 1,
    block_size: int = 128,
    bits: int = 4,
) -> Tensor:
    _check(data, bits, block_size)
    if data.rank != 2 or data.axis(gather_axis) != 0 or data.axis(quantize_axis) != 1:
        raise _refused(data, f"a table {data.type} with another axis than its rows for groups", "E0205")
    stored = data.constant("the table")
    if data.dtype is DType.U8:
        integers = unpacked(stored, bits, stored.shape[1] * 8 // bits)
        middle = 1 << (bits - 1)
    elif data.dtype in (DType.S4, DType.U4):
        bits, middle = 4, 0
        integers = stored.astype(np.int8)
    else:
        raise _refused(data, f"the table {data.type} has no integers of 4 bits or bytes")
    shape = (len(integers), -(-integers.shape[1] // block_size))
    scale = _of_groups(scales, shape, "scales")
    if data.dtype is DType.U8:
        zero = _zero(zero_points, bits, shape)
    elif zero_points is None:
        zero = np.array(middle)
    else:
        zero = zero_points.constant("the zero points").astype(np.int8).reshape(shape)
    if data.dtype is DType.S4:  # GroupwiseMatrix counts from 0
        integers, zero = integers + np.int8(8), zero + 8
    return gather_groupwise(
        GroupwiseMatrix(integers.astype(np.uint8), bits, scale, zero, block_size), indices, scales.dtype
    )


def _check(x: Tensor, bits: int, block_size: int) -> None:
    if bits not in _BITS:
        raise _refused(x, f"weights of {bits} bits are not supported", "E0205")
    if block_size < 16 or block_size & (block_size - 1):
        raise _refused(x, f"block_size {block_size} is no power of 2 from 16 on")


def _of_groups(p: Tensor, shape: tuple[int, int], what: str) -> Array:
    data = p.constant(f"the {what}")
    if data.size != shape[0] * shape[1] or not p.dtype.is_float:
        raise _refused(p, f"{what} {p.type} do not fit {shape[0]} rows of {shape[1]} groups")
    return data.reshape(shape)


def _zero(p: Tensor | None, bits: int, shape: tuple[int, int]) -> Array:
    """Zero points as the integers count: packed as these are, or plain numbers."""
    if p is None:
        return np.array(1 << (bits - 1))
    if p.dtype is not DType.U8:
        return _of_groups(p, shape, "zero points")
    data, width = p.constant("the zero points"), -(-shape[1] * bits // 8)
    if data.size != shape[0] * width:
        raise _refused(p, f"zero points {p.type} do not fit {shape[0]} rows of {shape[1]} groups")
    return unpacked(data.reshape(shape[0], width), bits, shape[1])


def _refused(x: Tensor, message: str, code: str = "E0401") -> EdgeKitError:
    return EdgeKitError(code, message, f"node {x.builder.origin}")
