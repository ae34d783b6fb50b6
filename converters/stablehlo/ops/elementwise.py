"""Operators on each element; operands may come without their repetitions, so what broadcasts stays small."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import cast, expand, where
from edgekit.converters.semantics.onnx import elementwise as _onnx
from edgekit.converters.stablehlo.idioms import quotient
from edgekit.converters.stablehlo.node import StablehloNode
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import activations, arithmetic, logic, rounding, trigonometry
from edgekit.core.types import DType


def add(node: StablehloNode, a: Tensor, b: Tensor) -> Tensor:
    return or_(node, a, b) if a.dtype is DType.BOOL else a + b


def subtract(node: StablehloNode, a: Tensor, b: Tensor) -> Tensor:
    return a - b


def multiply(node: StablehloNode, a: Tensor, b: Tensor) -> Tensor:
    return and_(node, a, b) if a.dtype is DType.BOOL else a * b


def divide(node: StablehloNode, a: Tensor, b: Tensor) -> Tensor:
    return quotient(a, b) or a / b


def remainder(node: StablehloNode, a: Tensor, b: Tensor) -> Tensor:
    return a.apply(arithmetic.Remainder(), b)


def power(node: StablehloNode, a: Tensor, b: Tensor) -> Tensor:
    return _onnx.Pow(a, b)


def maximum(node: StablehloNode, a: Tensor, b: Tensor) -> Tensor:
    if a.dtype.is_float and a.data is not None and np.all(a.data == -np.inf):
        return expand(b, a.shape)  # softmax of jax.nn
    return or_(node, a, b) if a.dtype is DType.BOOL else a.max(b)


def minimum(node: StablehloNode, a: Tensor, b: Tensor) -> Tensor:
    return and_(node, a, b) if a.dtype is DType.BOOL else a.min(b)


def clamp(node: StablehloNode, low: Tensor, x: Tensor, high: Tensor) -> Tensor:
    return x.max(low).min(high)


def negate(node: StablehloNode, x: Tensor) -> Tensor:
    return -x


def abs(node: StablehloNode, x: Tensor) -> Tensor:
    return _onnx.Abs(x)


def sign(node: StablehloNode, x: Tensor) -> Tensor:
    return _onnx.Sign(x)


def floor(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(rounding.Floor())


def ceil(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(rounding.Ceil())


def round_nearest_even(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(rounding.Round())


def sqrt(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(arithmetic.Sqrt())


def rsqrt(node: StablehloNode, x: Tensor) -> Tensor:
    return 1 / x.apply(arithmetic.Sqrt())


def exponential(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(activations.Exp())


def log(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(activations.Log())


def exponential_minus_one(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(activations.Exp()) - 1


def log_plus_one(node: StablehloNode, x: Tensor) -> Tensor:
    return (x + 1).apply(activations.Log())


def is_finite(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(arithmetic.Abs()).apply(logic.Less(), np.inf)


def logistic(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(activations.Sigmoid())


def tanh(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(activations.Tanh())


def sine(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(trigonometry.Sin())


def cosine(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(trigonometry.Cos())


def tan(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(trigonometry.Tan())


def erf(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(activations.Erf())


def erfc(node: StablehloNode, x: Tensor) -> Tensor:
    return 1 - x.apply(activations.Erf())


def square(node: StablehloNode, x: Tensor) -> Tensor:
    return x * x


def convert(node: StablehloNode, x: Tensor) -> Tensor:
    return cast(x, node.dtype)


def and_(node: StablehloNode, a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.And(), b)


def or_(node: StablehloNode, a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.Or(), b)


def xor(node: StablehloNode, a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.Xor(), b)


def not_(node: StablehloNode, x: Tensor) -> Tensor:
    return x.apply(logic.Not())


def select(node: StablehloNode, condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    return where(condition, yes, no)


def compare(node: StablehloNode, a: Tensor, b: Tensor) -> Tensor:
    match node.choice("comparison_direction"):
        case "EQ":
            return a.apply(logic.Equal(), b)
        case "NE":
            return a.apply(logic.Equal(), b).apply(logic.Not())
        case "LT":
            return a.apply(logic.Less(), b)
        case "LE":
            return a.apply(logic.LessOrEqual(), b)
        case "GT":
            return b.apply(logic.Less(), a)
        case "GE":
            return b.apply(logic.LessOrEqual(), a)
        case other:
            raise EdgeKitError("E0205", f"comparison {other} is not supported")


def optimization_barrier(node: StablehloNode, x: Tensor) -> Tensor:
    return x
