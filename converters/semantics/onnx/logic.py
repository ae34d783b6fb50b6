"""Comparisons, logic, bits and selection."""

from __future__ import annotations

import numpy as np

from edgekit.converters.tensor import Tensor
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


def IsInf(x: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Tensor:
    plus, minus = x.apply(logic.Equal(), np.inf), x.apply(logic.Equal(), -np.inf)
    if detect_positive and detect_negative:
        return plus.apply(logic.Or(), minus)
    if detect_positive or detect_negative:
        return plus if detect_positive else minus
    return x.new(np.zeros(x.shape, np.bool_))
