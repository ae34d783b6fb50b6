"""Graphs of rotary embeddings and SwiGLU, as front ends write them."""

from support.nets import Net

from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Swish
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.slice import Slice

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
