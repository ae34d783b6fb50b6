"""Graphs of rotary embeddings and SwiGLU, as front ends write them."""

from collections.abc import Callable

import numpy as np
from support.nets import Net

from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Swish
from edgekit.core.ops.arithmetic import Add, Mul, Neg, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.slice import Slice
from edgekit.core.types import Array

SHAPE = (1, 3, 5, 6)
HALF = SHAPE[-1] // 2


class DecoderNet(Net):
    """A graph in the making, with the parts of decoders."""

    def gate(self, x: str, steepness: float = 1.0) -> str:
        return self(Swish(), x, steepness)

    def halves(self, x: str, shape: tuple[int, ...] = SHAPE) -> tuple[str, str]:
        ones, part = (1,) * 4, (*shape[:-1], shape[-1] // 2)
        first, second = (self(Slice((0, 0, 0, at), ones, part), x) for at in (0, part[-1]))
        return first, second

    def turned(self, a: str, b: str, cos: str, sin: str, swapped: bool = False) -> str:
        """The products in another order where `swapped`."""
        minus = self(Sub(), self(Mul(), a, cos), self(Mul(), b, sin))
        plus = [self(Mul(), b, cos), self(Mul(), *((sin, a) if swapped else (a, sin)))]
        return self(Concat(3), minus, self(Add(), *(plus[::-1] if swapped else plus)))


def angles(net: DecoderNet, width: int, heads: int = 1, positions: int = 0) -> tuple[str, str]:
    """For heads that have positions, or for positions that have heads."""
    shape = (1, positions, 1, width) if positions else (1, heads, SHAPE[2], width)
    return net.x(*shape, name="cos"), net.x(*shape, name="sin")


def both() -> Graph:
    """One of each."""
    net = DecoderNet()
    x, (cos, sin) = net.x(*SHAPE), angles(net, HALF)
    turned = net.turned(*net.halves(x), cos, sin)
    gated = net(Mul(), net.gate(x), net.x(*SHAPE, name="y"))
    return net.done(turned, gated).with_name("rotary_and_swiglu")


def halves(net: DecoderNet) -> Graph:
    """As the converter of transformers writes it."""
    x, (cos, sin) = net.x(*SHAPE), angles(net, HALF)
    return net.done(net.turned(*net.halves(x), cos, sin))


def halves_in_another_order(net: DecoderNet) -> Graph:
    x, (cos, sin) = net.x(*SHAPE), angles(net, HALF)
    return net.done(net.turned(*net.halves(x), cos, sin, swapped=True))


def wholes(net: DecoderNet) -> Graph:
    """As torch.export writes it: x cos + [-b, a] sin, where each half has angles of its own."""
    x, (cos, sin) = net.x(*SHAPE), angles(net, 2 * HALF)
    a, b = net.halves(x)
    other = net(Mul(), net(Concat(3), net(Neg(), b), a), sin)
    return net.done(net(Add(), other, net(Mul(), x, cos)))


def heads_of_positions(net: DecoderNet) -> Graph:
    """Several tokens a run: the heads of a token lie side by side."""
    x, (cos, sin) = net.x(2, 4, 3, 38), angles(net, 19, positions=4)
    return net.done(net.turned(*net.halves(x, (2, 4, 3, 38)), cos, sin))


def gated(net: DecoderNet) -> Graph:
    """Of an odd count; the gate is the second factor."""
    x, y = net.x(3, 31), net.x(3, 31, name="y")
    return net.done(net(Mul(), y, net.gate(x)))


FUSED: dict[Callable[[DecoderNet], Graph], str] = {
    halves: "rotary",
    halves_in_another_order: "rotary",
    wholes: "rotary",
    heads_of_positions: "rotary",
    gated: "swiglu",
}


def magnitudes() -> tuple[Array, Array]:
    """Gates from 0 to the largest, of both signs, and other factors."""
    sizes = [0, 1e-30, 1, 20, 50, 86.9, 87.1, 88, 88.8, 104, 200, 1e10, 1e30, 1e35, 1e36, 1e38, 3e38]
    gates = np.array([*sizes, *(-size for size in sizes), np.inf, -np.inf, np.nan], np.float32)
    return np.resize(gates, (3, 31)), np.resize(np.float32([1, -2, 0.5]), (3, 31))
