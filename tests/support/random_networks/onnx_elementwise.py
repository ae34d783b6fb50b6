"""Elementwise operators of random ONNX networks: on floats, on integers, on bools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto
from support.random_networks.onnx_net import OnnxNet
from support.random_networks.trial import UnfitError

Recipe = Callable[[OnnxNet], Any]

SMOOTH = [
    "Abs",
    "Neg",
    "Relu",
    "LeakyRelu",
    "Elu",
    "Selu",
    "Celu",
    "Sigmoid",
    "Tanh",
    "HardSigmoid",
    "Softplus",
    "Softsign",
    "Erf",
    "Sin",
    "Cos",
    "Atan",
    "Asinh",
    "Identity",
    "Dropout",
    "Mish",
    "HardSwish",
    "Gelu",
]
BOUNDED = ["Asin", "Acos", "Atanh", "Tan", "Sinh", "Cosh", "Exp"]  # of what lies between -1 and 1
POSITIVE = ["Sqrt", "Log", "Reciprocal", "Acosh"]
JUMPING = ["Floor", "Ceil", "Round", "Sign", "ThresholdedRelu", "Shrink"]


def smooth(net: OnnxNet) -> None:
    net.add(net.dice.pick(*SMOOTH), net.pick())


def chain(net: OnnxNet) -> None:
    """Several in a row, which are fused into one loop."""
    x = net.pick()
    for _ in range(net.dice.roll(2, 5)):
        x = net.add(
            net.dice.pick("Abs", "Neg", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "Softplus", "Erf"), x
        )
        if net.dice.coin():
            x = net.add(net.dice.pick("Add", "Mul", "Sub", "Max", "Min"), x, _scalar(net))


def bounded(net: OnnxNet) -> None:
    x = net.add(net.dice.pick("Tanh", "Sin", "Softsign"), net.pick())
    net.add(net.dice.pick(*BOUNDED), net.add("Mul", x, net.const(np.float32(0.9))))


def positive(net: OnnxNet) -> None:
    x = net.add(
        "Add", net.add(net.dice.pick("Abs", "Exp", "Sigmoid"), net.pick()), net.const(np.float32(1.1))
    )
    net.add(net.dice.pick(*POSITIVE), x)


def jumping(net: OnnxNet) -> None:
    op = net.dice.pick(*JUMPING)
    more = {"bias": 0.4, "lambd": 0.7} if op == "Shrink" else {}
    net.add(op, net.pick(exact=True), **more)


def _scalar(net: OnnxNet) -> str:
    return net.const(np.float32(net.dice.pick(0.5, -1.5, 2.0, 0.1, 1.0)))


def fellow(net: OnnxNet, x: str, exact: bool = False) -> str:
    """An operand for x: of another shape that fits, or constant."""
    shape = net.shape(x)
    kind = net.dice.roll(0, 5)
    if kind == 0 and not exact:
        return _scalar(net)
    if kind <= 2:
        dims = [net.dice.pick(1, n) for n in shape][net.dice.roll(0, len(shape)) :]
        return net.normal(*dims)

    def fits(v: Any) -> bool:
        return (
            all(a == b or 1 in (a, b) for a, b in zip(v.shape[::-1], shape[::-1], strict=False))
            and v.ndim <= 5
        )

    return net.pick(fits, exact=exact)


def binary(net: OnnxNet) -> None:
    op = net.dice.pick("Add", "Add", "Sub", "Mul", "Mul", "Max", "Min", "Div", "Pow", "Mean", "Sum", "PRelu")
    x = net.pick()
    y = fellow(net, x)
    if op == "Div":
        y = net.add("Add", net.add("Abs", y), net.const(np.float32(0.7)))
    if op == "Pow":
        x = net.add("Add", net.add("Abs", x), net.const(np.float32(0.5)))
        y = net.const(np.float32(net.dice.pick(2.0, 3.0, 0.5, 1.7, -1.0)))
    if op in ("Mean", "Sum", "Max", "Min") and net.dice.coin():
        net.add(op, x, y, fellow(net, x))
        return
    if op == "PRelu":
        y = net.normal(*[net.dice.pick(1, n) for n in net.shape(x)])
    elif net.dice.coin():
        x, y = y, x
    net.add(op, x, y)


def constants_in_a_row(net: OnnxNet) -> None:
    """Scales and offsets that passes join, and move over layers."""
    x = net.rank(2, 3, 4)
    rank = len(net.shape(x))
    axis = 1 if rank > 2 else rank - 1
    shape = [net.shape(x)[axis], *[1] * (rank - axis - 1)]
    for _ in range(net.dice.roll(1, 3)):
        c = net.normal(*shape) if net.dice.coin() else _scalar(net)
        op = net.dice.pick("Add", "Sub", "Mul", "Div")
        if op == "Div":
            c = net.const(np.abs(net.value(c)) + np.float32(0.5))
        x = net.add(op, *((c, x) if net.dice.coin() and op != "Div" else (x, c)))


def clip(net: OnnxNet) -> None:
    low = net.dice.pick(-1.0, 0.0, -0.3)
    ends = [net.const(np.float32(low)), net.const(np.float32(low + net.dice.pick(0.5, 1.0, 6.0)))]
    kind = net.dice.roll(0, 2)
    net.add("Clip", net.pick(), *(ends, ends[:1], ["", ends[1]])[kind])


def choice(net: OnnxNet) -> None:
    """A comparison that decides between two values."""
    x = net.pick(exact=True)
    y = fellow(net, x, exact=True)
    op = net.dice.pick("Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual")
    if op == "Equal" and net.opset < 11:
        raise UnfitError
    condition = net.add(op, x, y)
    if net.dice.coin():
        condition = net.add("Not", condition)
    if net.dice.coin():
        other = net.add(net.dice.pick("Less", "Greater"), y, x)
        condition = net.add(net.dice.pick("And", "Or", "Xor"), condition, other)
    z = net.pick(lambda v: v.ndim <= 4)
    net.add("Where", condition, z, fellow(net, z))


def integers(net: OnnxNet) -> None:
    """Whole numbers: every bit must be right."""
    dtype = net.dice.pick(TensorProto.INT32, TensorProto.INT64)
    x = net.add("Mul", net.pick(exact=True), net.const(np.float32(8)))
    net.exact.add(x)  # a power of two
    x = net.add("Cast", x, to=dtype)
    kind = net.value(x).dtype
    for _ in range(net.dice.roll(1, 3)):
        op = net.dice.pick(
            "Add", "Sub", "Mul", "Div", "Mod", "Neg", "Abs", "Max", "Min", "Bits", "Sign", "Clip"
        )
        c = net.const(net.dice.pick(-7, -2, 1, 3, 5), kind)
        if op == "Bits":
            if net.opset < 18:
                continue
            x = net.add(net.dice.pick("BitwiseAnd", "BitwiseOr", "BitwiseXor"), x, c)
        elif op in ("Neg", "Abs", "Sign"):
            x = net.add(op, x)
        elif op == "Clip":
            x = net.add(op, x, net.const(-9, kind), net.const(11, kind))
        else:
            if op == "Div":  # of negative numbers it is not defined
                x, c = net.add("Abs", x), net.const(3, kind)
            x = net.add(op, x, c)
        if np.abs(net.value(x)).max() > 1000:
            raise UnfitError
    net.add("Cast", x, to=TensorProto.FLOAT)


def casts(net: OnnxNet) -> None:
    x = net.pick()
    if net.dice.coin():
        double = net.add("Cast", x, to=TensorProto.DOUBLE)
        double = net.add(net.dice.pick("Mul", "Add"), double, net.const(0.3, np.float64))
        net.add("Cast", double, to=TensorProto.FLOAT)
        return
    flags = net.add("Cast", net.add("Relu", net.pick(exact=True)), to=TensorProto.BOOL)
    y = net.add("Cast", net.add("Not", flags), to=TensorProto.FLOAT)
    net.add("Mul", y, net.const(np.float32(2.5)))


def modulo(net: OnnxNet) -> None:
    y = net.const(np.float32(net.dice.pick(0.75, 2.0, -1.25)))
    net.add("Mod", net.pick(exact=True), y, fmod=1)


def finite(net: OnnxNet) -> None:
    x = net.pick()
    flags = net.add(net.dice.pick("IsNaN", "IsInf"), x)
    net.add("Where", flags, net.const(np.float32(0)), x)


RECIPES: tuple[tuple[int, Recipe], ...] = (
    (8, smooth), (3, chain), (3, bounded), (3, positive), (3, jumping), (8, binary), (4,
    constants_in_a_row), (3, clip), (3, choice), (3, integers), (2, casts), (1, modulo), (1, finite),
)  # fmt: skip
