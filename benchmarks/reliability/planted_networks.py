"""Networks of few layers and odd sizes that faults are planted in: they are quick to compile."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.reliability.networks import Layers, Network, made
from edgekit.core.ir import Graph
from edgekit.core.ops import Op
from edgekit.core.ops.activations import Gelu, HardSwish, Sigmoid, Tanh
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.recurrent import Gru, Lstm
from edgekit.core.ops.softmax import Softmax


def images(n: Layers) -> Graph:
    """Odd windows, pools and padding; weights of the last layers by the whole image."""
    x = n.conv(n.input(1, 9, 11, 3), 10, 3, 2)
    x = n.add(Pool2d("max", (3, 3), (2, 2), (1, 1, 1, 1)), n.depthwise(x, 3))
    x = n.add(Add(), x, n.conv(x, 10, 1, lo=-np.inf))
    return n.graph(n.add(Softmax(), n.dense(n.mean(n.conv(x, 18, (1, 3), groups=2)), 5)))


def up_and_down(n: Layers) -> Graph:
    """Two branches, of which one is at half the size."""
    x = n.conv(n.input(1, 6, 10, 2), 7, lo=-np.inf)
    low = n.add(HardSwish(), n.conv(n.pool(x, kind="mean"), 9, (3, 1)))
    up = n.add(ConvTranspose2d((6, 10), (2, 2)), low, *n.weights(5, 2, 2, 9))
    return n.graph(n.conv(n.add(Concat(3), up, n.add(Tanh(), x)), 3, 1, dilation=1, lo=-np.inf))


def attention(n: Layers) -> Graph:
    x = n.input(5, 12)
    x = n.add(Add(), x, n.attention(n.norm(x), 2))
    return n.graph(n.add(Add(), x, n.dense(n.add(Gelu(), n.dense(n.norm(x), 19)), 12)))


def steps(n: Layers, op: Op) -> Graph:
    x = n.recurrent(n.input(6, 1, 5), 9, op)
    return n.graph(n.add(Sigmoid(), n.dense(n.flat(n.slice(x, 0, 5, 1), 1, 9), 3)))


def stream(n: Layers) -> Graph:
    """Filters over time that keep what they need of runs before."""
    x = n.conv(n.ring(n.input(1, 2, 1, 6), 3), 8, (3, 1), is_padded=False)
    return n.graph(n.dense(n.flat(n.conv(n.ring(x, 2), 6, (2, 1), dilation=2, is_padded=False)), 4))


NETWORKS = (
    *(Network(f"images {kind}", partial(made, images, kind)) for kind in ("int8", "int16", "f32")),
    *(Network(f"up and down {kind}", partial(made, up_and_down, kind)) for kind in ("int8", "f32", "bf16")),
    *(Network(f"attention {kind}", partial(made, attention, kind)) for kind in ("int8", "f32")),
    Network("lstm f32", partial(made, partial(steps, op=Lstm()), "f32")),
    Network("gru int8", partial(made, partial(steps, op=Gru()), "int8")),
    Network("stream f32", partial(made, stream, "f32")),
)
