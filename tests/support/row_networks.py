"""Random networks whose layers can run as loops over rows: of images, or of steps in time."""

import numpy as np
from support.chains import Chain
from support.nets import Net

from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.recurrent import Gru, Lstm, Rnn
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes.simplify import simplify

_SAME = (1, 1, 1, 1)


def random_row_network(seed: int) -> Graph:
    """Layers with all kinds of windows, between residual blocks; some results are outputs, too."""
    chain = Chain(seed, (1, int(np.random.default_rng(seed).integers(14, 40)), 9, 4))
    outputs = []
    for _ in range(chain.pick(3, 4, 5)):
        match chain.pick(0, 1, 2, 3, 4):
            case 0:
                chain.pooling()
            case 1 | 2:
                chain.convolution()
            case _:
                _residual(chain)
        if chain.image()[1] < 3 or chain.image()[3] > 64:
            chain.layer(Conv2d(), 8, 1, 1, chain.image()[3])
            break
        if chain.pick(0, 0, 0, 1):
            outputs.append(chain.last)
    _residual(chain)
    if chain.pick(0, 1):
        _, height, width, _ = chain.image()
        chain.add(Pool2d("mean", (height, width)))
    return chain.builder.graph(f"rows{seed}", ["x"], list(dict.fromkeys([*outputs, chain.last])))


def _residual(chain: Chain) -> None:
    """A 3x3 and a depthwise layer beside what they read, at times behind a layer of its own."""
    start, depth = chain.last, chain.image()[3]
    chain.layer(Conv2d(pads=_SAME), 8, 3, 3, depth)
    chain.layer(Conv2d(pads=_SAME, groups=8), 8, 3, 3, 1)
    if chain.pick(0, 1):
        chain.layer(Conv2d(), depth, 1, 1, 8)
        chain.add(Add(), start)
        return
    inner, chain.last = chain.last, start
    chain.layer(Conv2d(), 8, 1, 1, depth)
    chain.add(Add(), inner)


def random_recurrent_network(seed: int) -> Graph:
    """Floats: layers over time, one behind the other; of the last one, all steps are read or the last few."""
    net = Net(seed=seed)
    steps, inputs = (int(net.rng.integers(low, 30)) for low in (5, 3))
    y = net(Reshape((steps, inputs)), net.x(1, steps, inputs))
    for _ in range(net.rng.integers(1, 4)):
        y, inputs = _recurrent(net, y, steps, inputs)
        if net.rng.integers(2):
            y = net(Dense(0.0), y, net.random(inputs, inputs) / 2, net.random(inputs))
    if kept := int(net.rng.integers(3)):
        y = net(Slice((steps - kept, 0), (1, 1), (kept, inputs)), y)
    y = net(Dense(), y, net.random(3, inputs), net.random(3), name="y")
    return net.done(y).with_name(f"steps{seed}")


def _recurrent(net: Net, x: str, steps: int, inputs: int) -> tuple[str, int]:
    """One of the recurrent layers, with the layer that brings its inputs to the gates."""
    size, kind = (int(net.rng.integers(low, high)) for low, high in ((4, 18), (0, 3)))
    gates = (1, 3, 4)[kind]
    layer = (Rnn(), Gru(reset_after=bool(net.rng.integers(2))), Lstm())[kind]
    x = net(Dense(), x, net.random(gates * size, inputs) / 2, net.random(gates * size) / 2)
    x = net(Reshape((steps, 1, gates * size)), x)
    more = [net.random(gates * size, size) / 4, *[net.random(1, size)] * (1 + (kind == 2))]
    more += [net.random(size)] * (kind == 1)
    y, *_ = net.add(layer, x, *(net.const(each, net.dtype.numpy) for each in more))
    return net(Reshape((steps, size)), y), size


def random_attention_network(seed: int) -> Graph:
    """Floats: heads of attention over random sizes, and a layer behind them."""
    net = Net(seed=seed)
    tokens, heads, size = (int(net.rng.integers(low, high)) for low, high in ((5, 20), (2, 6), (3, 9)))
    width = heads * size
    x = net.x(tokens, width)

    def projected(*order: int) -> str:
        made = net(Dense(), x, net.random(width, width) / 2, net.random(width))
        return net(Transpose(order), net(Reshape((tokens, heads, size)), made))

    scores = net(Softmax(), net(MatMul(), projected(1, 0, 2), projected(1, 2, 0)))
    y = net(Transpose((1, 0, 2)), net(MatMul(), scores, projected(1, 0, 2)))
    y = net(Dense(), net(Reshape((tokens, width)), y), net.random(3, width), net.random(3), name="y")
    return simplify(net.done(y).with_name(f"heads{seed}"))
