"""Operators on each element; operands may come without their repetitions, so what broadcasts stays small."""

from __future__ import annotations

from dataclasses import replace as _replace

import numpy as np

from edgekit.converters.movement import cast, where
from edgekit.converters.onnx_ops import elementwise as _onnx
from edgekit.converters.stablehlo_node import Node
from edgekit.converters.tensor import Tensor
from edgekit.errors import EdgeKitError
from edgekit.ir import DType
from edgekit.ops import activations, arithmetic, logic, rounding, trigonometry
from edgekit.ops.pool2d import Pool2d
from edgekit.ops.reduce import Reduce


def add(node: Node, a: Tensor, b: Tensor) -> Tensor:
    return or_(node, a, b) if a.dtype is DType.BOOL else a + b


def subtract(node: Node, a: Tensor, b: Tensor) -> Tensor:
    return a - b


def multiply(node: Node, a: Tensor, b: Tensor) -> Tensor:
    return and_(node, a, b) if a.dtype is DType.BOOL else a * b


def divide(node: Node, a: Tensor, b: Tensor) -> Tensor:
    mean = _mean(a, b)
    return a / b if mean is None else mean


def _mean(a: Tensor, b: Tensor) -> Tensor | None:
    """A sum over so many cells as it is divided by."""
    made = [n for n in reversed(a.builder.nodes[-8:]) if a.name in n.outputs]
    if not made or b.data is None or not a.dtype.is_float:
        return None
    op, x = made[0].op, Tensor(a.builder, made[0].inputs[0])
    if isinstance(op, Reduce) and op.kind == "sum":
        count = np.prod([x.shape[i] for i in op.axes], dtype=np.int64)
        return x.apply(_replace(op, kind="mean")) if count and np.all(b.data == count) else None
    if isinstance(op, Pool2d) and op.kind == "sum":
        for counted in ((0, 0, 0, 0), op.pads):
            pool = _replace(op, kind="mean", counted=counted)
            counts = pool.counts(*x.shape[1:3])[:, :, None]
            known = np.broadcast_shapes(b.shape, a.shape) == a.shape
            if known and counts.all() and np.all(b.data == counts):
                return x.apply(pool)
    return None


def remainder(node: Node, a: Tensor, b: Tensor) -> Tensor:
    return a.apply(arithmetic.Remainder(), b)


def power(node: Node, a: Tensor, b: Tensor) -> Tensor:
    return _onnx.Pow(a, b)


def maximum(node: Node, a: Tensor, b: Tensor) -> Tensor:
    return or_(node, a, b) if a.dtype is DType.BOOL else a.max(b)


def minimum(node: Node, a: Tensor, b: Tensor) -> Tensor:
    return and_(node, a, b) if a.dtype is DType.BOOL else a.min(b)


def clamp(node: Node, low: Tensor, x: Tensor, high: Tensor) -> Tensor:
    return x.max(low).min(high)


def negate(node: Node, x: Tensor) -> Tensor:
    return -x


def abs(node: Node, x: Tensor) -> Tensor:
    return _onnx.Abs(x)


def sign(node: Node, x: Tensor) -> Tensor:
    return _onnx.Sign(x)


def floor(node: Node, x: Tensor) -> Tensor:
    return x.apply(rounding.Floor())


def ceil(node: Node, x: Tensor) -> Tensor:
    return x.apply(rounding.Ceil())


def round_nearest_even(node: Node, x: Tensor) -> Tensor:
    return x.apply(rounding.Round())


def sqrt(node: Node, x: Tensor) -> Tensor:
    return x.apply(arithmetic.Sqrt())


def rsqrt(node: Node, x: Tensor) -> Tensor:
    return 1 / x.apply(arithmetic.Sqrt())


def exponential(node: Node, x: Tensor) -> Tensor:
    return x.apply(activations.Exp())


def log(node: Node, x: Tensor) -> Tensor:
    return x.apply(activations.Log())


def logistic(node: Node, x: Tensor) -> Tensor:
    return x.apply(activations.Sigmoid())


def tanh(node: Node, x: Tensor) -> Tensor:
    return x.apply(activations.Tanh())


def sine(node: Node, x: Tensor) -> Tensor:
    return x.apply(trigonometry.Sin())


def cosine(node: Node, x: Tensor) -> Tensor:
    return x.apply(trigonometry.Cos())


def tan(node: Node, x: Tensor) -> Tensor:
    return x.apply(trigonometry.Tan())


def erf(node: Node, x: Tensor) -> Tensor:
    return x.apply(activations.Erf())


def erfc(node: Node, x: Tensor) -> Tensor:
    return 1 - x.apply(activations.Erf())


def square(node: Node, x: Tensor) -> Tensor:
    return x * x


def convert(node: Node, x: Tensor) -> Tensor:
    return cast(x, node.dtype)


def and_(node: Node, a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.And(), b)


def or_(node: Node, a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.Or(), b)


def xor(node: Node, a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.Xor(), b)


def not_(node: Node, x: Tensor) -> Tensor:
    return x.apply(logic.Not())


def select(node: Node, condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    return where(condition, yes, no)


def compare(node: Node, a: Tensor, b: Tensor) -> Tensor:
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


def optimization_barrier(node: Node, x: Tensor) -> Tensor:
    return x
