"""Networks with states for GPUs: recurrent cells, rings of frames, and layers that stay on the CPU."""

import numpy as np
from support.op_cases import normal
from support.stateful import Remembering

from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Tanh
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.slice import Slice
from edgekit.core.types import DType

_F32 = DType.F32
SIZE = 24  # pixels: a convolution is then worth a copy


def recurrent(frames: int = 1, inputs: int = 5, units: int = 12) -> Graph:
    """h = tanh(w x + u h) for each frame, y = v h at the end"""
    net = Remembering(_F32)
    x, first = net.x(frames, inputs), net.state("h", np.zeros((1, units), np.float32))

    def dense(x: str, outputs: int, name: str = "") -> str:
        n = net.type(x).shape[1]
        weights = net.const(normal(_F32, outputs, n, scale=n**-0.5))
        return net.one(Dense(), x, weights, net.const(normal(_F32, outputs, scale=0.1)), name=name)

    h = first
    for i in range(frames):
        frame = net(Slice((i, 0), (1, 1), (1, inputs)), x) if frames > 1 else x
        h = net(Tanh(), net(Add(), dense(frame, units), dense(h, units)))
    return net.remembering([dense(h, 3, "y")], {first: h}, "recurrent")


def ring(frames: int = 6) -> Graph:
    """A convolution over the last frames, of which a run brings one; the first ones are no zeros."""
    net = Remembering(_F32)
    x, old = net.x(1, 1, 4, 8), net.state("ring", np.asarray(normal(_F32, 1, frames - 1, 4, 8)))
    whole = net(Concat(1), old, x)
    new = net(Slice((0, 1, 0, 0), (1, 1, 1, 1), (1, frames - 1, 4, 8)), whole, name="next")
    w = net.const(normal(_F32, 7, frames, 3, 8, scale=0.1))
    y = net.one(Conv2d((1, 1), (0, 1, 0, 1)), whole, w, net.const(normal(_F32, 7)))
    return net.remembering([y], {old: new}, "ring")


def with_segments() -> Graph:
    """Of four states, one segment alone has `own`; it reads what kernels write to `before`, writes `sent` for
    kernels, and `later` for kernels and for itself."""
    net = Remembering(_F32)
    x = net.x(1, SIZE, SIZE, 32)
    start = np.zeros((1, SIZE, SIZE, 32), np.float32)
    own, later, before, sent = (net.state(name, start) for name in ("own", "later", "before", "sent"))

    def convolution(x: str, name: str = "") -> str:
        w, bias = (
            net.const(normal(_F32, 32, 1, 1, 32, scale=32**-0.5)),
            net.const(normal(_F32, 32, scale=0.1)),
        )
        return net.one(Conv2d((1, 1), (0, 0, 0, 0)), x, w, bias, name=name)

    first = net(Add(), net(Add(), convolution(x), later), sent)
    images = [
        net(Cumulative("sum", axis), image) for axis, image in ((2, first), (2, before), (1, own), (1, later))
    ]
    both = [net(Add(), *pair) for pair in (images[:2], images[2:])]
    little = net(Mul(), net(Add(), *both), np.float32(1e-3))
    total = net(Cumulative("sum", 1), little, name="total")
    sums = net(Cumulative("sum", 2), net(Mul(), total, np.float32(0.01)), name="sums")
    back = net(Cumulative("sum", 2, reverse=True), net(Mul(), total, np.float32(0.02)), name="back")
    second = convolution(sums)
    following = {own: total, later: sums, before: second, sent: back}
    return net.remembering([convolution(second, "y")], following, "segmented")


def without_segments() -> Graph:
    """The same states as those of `with_segments`, of a network that runs on the device as a whole."""
    net = Remembering(_F32)
    x = net.x(1, SIZE, SIZE, 32)
    start = np.zeros((1, SIZE, SIZE, 32), np.float32)
    states = [net.state(name, start) for name in ("own", "later", "before", "sent")]
    following = {name: net(Add(), name, x) for name in states}
    return net.remembering([net(Tanh(), following["own"], name="y")], following, "segmented")
