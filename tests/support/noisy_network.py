"""A network that is too noisy in int8, and samples for it."""

import numpy as np
from support.nets import Net

from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import Array

SIZE = 16


def network(outputs: int = 4, outlier: float = 200) -> Graph:
    """Layers, elementwise operators, a move and a concatenation. The first result has one channel that is far
    larger than the others, and means nothing."""
    net, random = Net(), np.random.default_rng(2)
    first, second, third = (random.normal(size=(SIZE, SIZE)).astype(np.float32) / 4 for _ in range(3))
    first[0] *= outlier
    second[:, 0] = 0
    x = net.x(1, SIZE)
    y = net(Dense(), x, net.const(first), net.random(SIZE))
    y = net(Reshape((SIZE,)), y)
    y = net(Reshape((1, SIZE)), y)
    y = net(Dense(), y, net.const(second), net.random(SIZE))
    z = net(Mul(), y, net(Sigmoid(), y))
    z = net(Add(), z, net(Dense(), y, net.const(third), net.random(SIZE)))
    z = net(Concat(1), z, y)
    return net.done(net(Dense(), z, net.random(outputs, 2 * SIZE), net.random(outputs), name="out"))


def samples(count: int = 24) -> list[dict[str, Array]]:
    data = np.random.default_rng(4).normal(size=(count, 1, SIZE)).astype(np.float32)
    return [{"x": row} for row in data]
