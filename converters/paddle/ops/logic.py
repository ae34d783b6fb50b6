"""Comparisons, logic, and choices between elements."""

from __future__ import annotations

from edgekit.converters.semantics.aten import logic as _torch
from edgekit.converters.semantics.movement import where as _where
from edgekit.converters.tensor import Tensor


def equal(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return _torch.eq(x, other=y)


def not_equal(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return _torch.ne(x, other=y)


def less_than(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return _torch.lt(x, other=y)


def less_equal(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return _torch.le(x, other=y)


def greater_than(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return _torch.gt(x, other=y)


def greater_equal(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return _torch.ge(x, other=y)


def logical_and(x: Tensor, y: Tensor) -> Tensor:
    return _torch.logical_and(x, other=y)


def logical_or(x: Tensor, y: Tensor) -> Tensor:
    return _torch.logical_or(x, other=y)


def logical_xor(x: Tensor, y: Tensor) -> Tensor:
    return _torch.logical_xor(x, other=y)


def logical_not(x: Tensor) -> Tensor:
    return _torch.logical_not(x)


def bitwise_and(x: Tensor, y: Tensor) -> Tensor:
    return _torch.bitwise_and(x, other=y)


def bitwise_or(x: Tensor, y: Tensor) -> Tensor:
    return _torch.bitwise_or(x, other=y)


def bitwise_not(x: Tensor) -> Tensor:
    return _torch.bitwise_not(x)


def isnan(x: Tensor) -> Tensor:
    return _torch.isnan(x)


def isinf(x: Tensor) -> Tensor:
    return _torch.isinf(x)


isnan_v2, isinf_v2 = isnan, isinf


def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _where(condition, x, y)


def masked_fill(x: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    return _torch.masked_fill(x, mask=mask, value=value)
