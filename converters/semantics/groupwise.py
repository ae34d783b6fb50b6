"""Groupwise-quantized matrices as files hold them, and the layers and tables that compute with them.

Integers become signed ones of 4 or 8 bits, and zero points with them. Where a matrix has no such form, it
becomes plain numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.converters.semantics.compose import dense
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import GroupwiseWeights
from edgekit.core.ops.groupwise import DenseGroupwise, GatherGroupwise, real_weights
from edgekit.core.passes.groupwise_weights import digest
from edgekit.core.types import Array, DType


@dataclass(frozen=True)
class GroupwiseMatrix:
    """Constants: integers [outputs, inputs], as they are, around zero points; scales [outputs, groups]."""

    integers: Array
    bits: int
    scale: Array
    zero: Array  # [outputs, groups], or one number
    group: int

    @property
    def signed(self) -> GroupwiseWeights | None:
        """Around 0 as nearly as may be, in 4 or 8 bits; None where zero points are no integers of these."""
        middle = 1 << (self.bits - 1)
        dtype = (DType.S4 if self.bits <= 4 else DType.S8).numpy
        zero = self.zero.astype(np.float64) - middle
        if not np.isfinite(zero).all() or (zero != np.clip(np.rint(zero), -middle, middle - 1)).any():
            return None
        integers = (self.integers.astype(np.int16) - middle).astype(np.int8).astype(dtype)
        if not zero.any():
            return GroupwiseWeights(integers, self.scale, None, self.group)
        zeros = np.broadcast_to(zero, self.scale.shape).astype(np.int8).astype(dtype)
        return GroupwiseWeights(integers, self.scale, zeros, self.group)

    @property
    def real(self) -> Array:
        """The numbers that the matrix holds, as float32."""
        zero = np.broadcast_to(self.zero, self.scale.shape)
        return real_weights(self.group, self.integers, self.scale, zero)


def dense_groupwise(x: Tensor, w: GroupwiseMatrix, b: Tensor | None) -> Tensor:
    """A fully connected layer."""
    bias = x.like(np.zeros(len(w.integers))) if b is None else b
    signed = w.signed
    if signed is None:
        return dense(x, x.like(w.real), bias)
    scale, *zero = _operands(x, signed)
    return x.apply(DenseGroupwise(signed.group), x.new(signed.integers, "weights"), scale, bias, *zero)


def gather_groupwise(table: GroupwiseMatrix, index: Tensor, dtype: DType) -> Tensor:
    """Rows of a table."""
    signed = table.signed
    if signed is None:
        message = "the zero points of a table are no integers of its type"
        raise EdgeKitError("E0205", message, f"node {index.builder.origin}")
    scale, *zero = _operands(index, signed)
    integers = index.new(signed.integers, "table")
    return integers.apply(GatherGroupwise(signed.group, dtype), index, scale, *zero)


def note_groups(w: Tensor, scale: Tensor, zero: Tensor | None, real: Tensor, axis: int, group: int) -> None:
    """Tell passes that a constant matrix was made from integers with a scale for each group along an axis.
    Its rows are along that."""
    bits = _BITS.get(w.dtype)
    parts = [p.data for p in (w, scale, real) if p.data is not None]
    if bits is None or w.rank != 2 or len(parts) < 3 or (zero is not None and zero.data is None):
        return
    middle = 1 << (bits - 1) if w.dtype.is_signed else 0
    integers, scales, numbers = (data if w.axis(axis) == 1 else data.T for data in parts)
    zeros = np.array(middle)
    if zero is not None and zero.data is not None:
        zeros = (zero.data if w.axis(axis) == 1 else zero.data.T).astype(np.int16) + middle
    wide = (integers.astype(np.int16) + middle).astype(np.uint8)
    matrix = GroupwiseMatrix(wide, bits, np.ascontiguousarray(scales), zeros, group).signed
    if matrix is not None:
        w.builder.groupwise[digest(np.ascontiguousarray(numbers))] = matrix


def note_rows(w: Tensor, scale: Tensor, zero: Tensor, real: Tensor, axis: int) -> None:
    """The same of integers with a zero point that do not fit into eight bits around it: rows are groups. One
    scale may be that of rows or of columns, which are the rows of another layer."""
    data, numbers, scales, zeros = w.data, real.data, scale.data, zero.data
    if data is None or numbers is None or scales is None or zeros is None:
        return
    if w.rank != 2 or w.dtype not in (DType.S8, DType.U8) or not data.size:
        return
    middle = 128 if w.dtype.is_signed else 0
    wide = (data.astype(np.int16) + middle).astype(np.uint8)
    for rows in (0, 1) if scales.size == 1 else (w.axis(axis),):
        integers, reals = (wide, numbers) if rows == 0 else (wide.T, numbers.T)
        shape = (len(integers), 1)
        of_rows = (np.ascontiguousarray(np.broadcast_to(p.reshape(-1, 1), shape)) for p in (scales, zeros))
        scale_of_row, zero_of_row = of_rows
        matrix = GroupwiseMatrix(
            integers, 8, scale_of_row, zero_of_row.astype(np.int16) + middle, integers.shape[1]
        ).signed
        if matrix is not None:
            w.builder.groupwise[digest(np.ascontiguousarray(reals))] = matrix


_BITS = {DType.S4: 4, DType.U4: 4, DType.S8: 8, DType.U8: 8}


def unpacked(data: Array, bits: int, count: int) -> Array:
    """Integers of some bits in the last dimension of bytes, the first in the low bits: `count` of them."""
    if bits == 8:
        return data[..., :count]
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    integers = (data[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return integers.reshape(*data.shape[:-1], -1)[..., :count]


def _operands(near: Tensor, w: GroupwiseWeights) -> list[Tensor]:
    zero = [] if w.zero is None else [near.new(w.zero, "zeros")]
    return [near.new(w.scale, "scales"), *zero]
