"""Elementwise arithmetic of numbers: operators of one, two and any number of operands."""

from __future__ import annotations

from functools import reduce

from edgekit.converters.semantics.onnx import elementwise as shared
from edgekit.converters.semantics.onnx.elementwise import Sum
from edgekit.converters.tensor import Tensor


def Sub(a: Tensor, b: Tensor) -> Tensor:
    return a - b


def Div(a: Tensor, b: Tensor) -> Tensor:
    return a / b


def Mod(a: Tensor, b: Tensor, *, fmod: int = 0) -> Tensor:
    return shared.Mod(a, b, fmod=fmod)


def Mean(*xs: Tensor) -> Tensor:
    return Sum(*xs) / len(xs) if len(xs) > 1 else xs[0]


def Max(*xs: Tensor) -> Tensor:
    return reduce(Tensor.max, xs)


def Min(*xs: Tensor) -> Tensor:
    return reduce(Tensor.min, xs)


def Clip(
    x: Tensor,
    low: Tensor | None = None,
    high: Tensor | None = None,
    *,
    min: float | None = None,
    max: float | None = None,
) -> Tensor:
    return shared.Clip(x, low, high, min=min, max=max)
