"""Experts of transformers: tokens in the order of their experts, and products of groups of rows."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.compose import matmul as _matmul
from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.mixture import in_shares as _in_shares
from edgekit.converters.semantics.movement import cast as _cast
from edgekit.converters.semantics.movement import part as _part
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.logic import Equal as _Equal
from edgekit.core.ops.logic import LessOrEqual as _LessOrEqual
from edgekit.core.ops.rounding import Floor as _Floor
from edgekit.core.types import DType


def histc(x: Tensor, *, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many numbers are in each of the bins between two limits; the last bin has the upper limit."""
    if not bins >= 1 or not max > min:
        message = f"a histogram of {bins} bins from {min:g} to {max:g} has no limits that are known"
        raise EdgeKitError("E0203", message, f"node {x.builder.origin}", "give histc its min and max")
    place = ((x.reshape(x.type.size, 1) - min) * (bins / (max - min))).apply(_Floor())
    is_last = x.reshape(x.type.size, 1).apply(_Equal(), max)
    of_bins = place.like(np.arange(bins).reshape(1, bins))
    counts = _reduce(_cast(place.apply(_Equal(), of_bins), x.dtype), "sum", [0], keepdims=False)
    last = of_bins.apply(_Equal(), bins - 1)
    return counts + _reduce(_cast(is_last, x.dtype) * _cast(last, x.dtype), "sum", [0], keepdims=False)


def grouped_mm_fallback(x: Tensor, *, weight: Tensor, offs: Tensor) -> Tensor:
    """Rows x [rows, inputs] times weight [groups, inputs, outputs]: group i has the rows before offs[i] that
    groups before it do not have. Rows of no group are 0."""
    groups, inputs, outputs = weight.shape
    rows = x.shape[0]
    row = offs.new(np.arange(rows, dtype=offs.dtype.numpy).reshape(rows, 1))
    behind = _cast(offs.reshape(1, groups).apply(_LessOrEqual(), row), DType.S32)
    at = _reduce(behind, "sum", [1])
    is_there = _cast(at.apply(_LessOrEqual(), groups - 1), x.dtype)

    def product(i: int) -> Tensor:
        return _matmul(x, _part(weight, 0, i, 1).reshape(inputs, outputs))

    return _in_shares(at, is_there, groups, product)
