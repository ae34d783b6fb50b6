"""Comparisons, logic, bits and selection."""

from __future__ import annotations

from edgekit.converters.semantics.movement import where
from edgekit.converters.semantics.onnx import logic as shared
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import logic


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
    return shared.IsInf(x, detect_negative=detect_negative, detect_positive=detect_positive)
