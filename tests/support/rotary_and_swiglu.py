"""Graphs of rotary embeddings and SwiGLU, as front ends write them."""

from __future__ import annotations

import numpy as np

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Swish
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.slice import Slice
from edgekit.core.types import DType, Type

SHAPE = (1, 3, 5, 6)
HALF = SHAPE[-1] // 2


class Net(Builder):
    """A graph in the making."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs: list[str] = []

    def given(self, name: str, *shape: int) -> str:
        self.inputs.append(self.input(name, Type(DType.F32, shape)))
        return name

    def gate(self, x: str, steepness: float = 1.0) -> str:
        return self.one(Swish(), x, self.const(np.array(steepness, np.float32)))

    def halves(self, x: str, shape: tuple[int, ...] = SHAPE) -> tuple[str, str]:
        ones, part = (1,) * 4, (*shape[:-1], shape[-1] // 2)
        first, second = (self.one(Slice((0, 0, 0, at), ones, part), x) for at in (0, part[-1]))
        return first, second

    def turned(self, a: str, b: str, cos: str, sin: str, swapped: bool = False) -> str:
        """The products in another order where `swapped`."""
        minus = self.one(Sub(), self.one(Mul(), a, cos), self.one(Mul(), b, sin))
        plus = [self.one(Mul(), b, cos), self.one(Mul(), *((sin, a) if swapped else (a, sin)))]
        return self.one(Concat(3), minus, self.one(Add(), *(plus[::-1] if swapped else plus)))

    def made(self, *outputs: str) -> Graph:
        return self.graph("net", self.inputs, outputs)


def angles(net: Net, width: int, heads: int = 1) -> tuple[str, str]:
    return net.given("cos", 1, heads, SHAPE[2], width), net.given("sin", 1, heads, SHAPE[2], width)


def both() -> Graph:
    """One of each."""
    net = Net()
    x, (cos, sin) = net.given("x", *SHAPE), angles(net, HALF)
    turned = net.turned(*net.halves(x), cos, sin)
    gated = net.one(Mul(), net.gate(x), net.given("y", *SHAPE))
    return net.graph("rotary_and_swiglu", net.inputs, [turned, gated])
