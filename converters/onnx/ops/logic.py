"""Comparisons, logic, bits and selection."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import where
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import logic


def Equal(a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.Equal(), b)


def Less(a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.Less(), b)


def LessOrEqual(a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.LessOrEqual(), b)


def Greater(a: Tensor, b: Tensor) -> Tensor:
    return b.apply(logic.Less(), a)


def GreaterOrEqual(a: Tensor, b: Tensor) -> Tensor:
    return b.apply(logic.LessOrEqual(), a)


def And(a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.And(), b)


def Or(a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.Or(), b)


def Xor(a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.Xor(), b)


def Not(x: Tensor) -> Tensor:
    return x.apply(logic.Not())


def BitwiseAnd(a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.And(), b)


def BitwiseOr(a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.Or(), b)


def BitwiseXor(a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.Xor(), b)


def BitwiseNot(x: Tensor) -> Tensor:
    return x.apply(logic.Not())


def BitShift(x: Tensor, by: Tensor, *, direction: str) -> Tensor:
    if direction not in ("LEFT", "RIGHT"):
        raise EdgeKitError("E0205", f"BitShift {direction} of {x.dtype.value} is not defined")
    return x.apply(logic.ShiftLeft() if direction == "LEFT" else logic.ShiftRight(), by)


def Where(condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    return where(condition, yes, no)


def IsNaN(x: Tensor) -> Tensor:
    return x.apply(logic.IsNaN())


def IsInf(x: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Tensor:
    plus, minus = x.apply(logic.Equal(), np.inf), x.apply(logic.Equal(), -np.inf)
    if detect_positive and detect_negative:
        return plus.apply(logic.Or(), minus)
    if detect_positive or detect_negative:
        return plus if detect_positive else minus
    return x.new(np.zeros(x.shape, np.bool_))
