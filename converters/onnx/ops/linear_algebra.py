"""Matrices as such."""

from __future__ import annotations

from edgekit.converters.tensor import Tensor
from edgekit.core.ops.det import Det as DetOp


def Det(x: Tensor) -> Tensor:
    return x.apply(DetOp())
