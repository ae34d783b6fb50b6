"""Random networks in NHWC whose channels depend on each other in every way that pruning knows."""

from collections.abc import Callable

import numpy as np
from support.nets import Net

from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.arithmetic import Add, Clip, Mul
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.types import DType

SIDE = 6  # of images


def conv(net: Net, x: str, outputs: int, k: int = 1, groups: int = 1, lo: float = -np.inf) -> str:
    """A convolution that keeps the size of the image."""
    inputs = net.type(x).shape[-1] // groups
    w = (net.random(outputs, k, k, inputs) / np.sqrt(k * k * inputs)).astype(net.dtype.numpy)
    return net(Conv2d((1, 1), (k // 2,) * 4, groups=groups, lo=lo), x, w, net.random(outputs))


def prunable_network(seed: int, steps: int = 7) -> Graph:
    """Residuals, concatenations, splits, depthwise layers, groups, gates and a dense end. In float64 another
    order of additions cannot be mistaken for a fault."""
    net = Net(DType.F64, seed)
    made = [conv(net, net.x(1, SIDE, SIDE, 3), int(net.rng.integers(2, 9)), k=3, lo=0.0)]
    for _ in range(steps):
        recipe = _RECIPES[net.rng.integers(len(_RECIPES))]
        made.append(recipe(net, made))
    y = made[-1]
    if net.rng.integers(2):
        y = net(Reduce("mean", (1, 2), keepdims=False), y)
    else:
        y = net(Reshape((1, int(np.prod(net.type(y).shape)))), y)
    classes = int(net.rng.integers(2, 5))
    return net.done(net(Dense(), y, net.random(classes, net.type(y).shape[-1]), net.random(classes)))


Recipe = Callable[[Net, list[str]], str]


def _channels(net: Net, x: str) -> int:
    return net.type(x).shape[-1]


def _layer(net: Net, made: list[str]) -> str:
    lo = (0.0, -np.inf)[net.rng.integers(2)]
    return conv(net, made[-1], int(net.rng.integers(2, 9)), k=(1, 3)[net.rng.integers(2)], lo=lo)


def _depthwise(net: Net, made: list[str]) -> str:
    channels = _channels(net, made[-1])
    return conv(net, made[-1], channels * int(net.rng.integers(1, 3)), k=3, groups=channels)


def _groups(net: Net, made: list[str]) -> str:
    """A layer of two groups behind one that gives it an even number."""
    x = conv(net, made[-1], 2 * int(net.rng.integers(2, 5)), lo=0.0)
    return conv(net, x, 2 * int(net.rng.integers(1, 5)), k=3, groups=2)


def _residual(net: Net, made: list[str]) -> str:
    inner = conv(net, made[-1], int(net.rng.integers(2, 9)), lo=0.0)
    return net(Add(), made[-1], conv(net, inner, _channels(net, made[-1])))


def _concat(net: Net, made: list[str]) -> str:
    return net(Concat(3), *(made[i] for i in net.rng.integers(len(made), size=2)))


def _split(net: Net, made: list[str]) -> str:
    """Both halves go their way, and come together again."""
    x = conv(net, made[-1], 6)
    first, second = (net(Slice((0, 0, 0, at), (1,) * 4, (1, SIDE, SIDE, 3)), x) for at in (0, 3))
    return net(Add(), net(Sigmoid(), first), second)


def _gate(net: Net, made: list[str]) -> str:
    """Squeeze and excitation."""
    x = made[-1]
    mean = net(Reduce("mean", (1, 2), keepdims=True), x)
    gate = conv(net, conv(net, mean, 3, lo=0.0), _channels(net, x))
    return net(Mul(), x, net(Sigmoid(), gate))


def _pool(net: Net, made: list[str]) -> str:
    return net(Pool2d("max", (3, 3), (1, 1), (1, 1, 1, 1)), made[-1])


def _scaled(net: Net, made: list[str]) -> str:
    x = net(Mul(), made[-1], net.random(_channels(net, made[-1])))
    return net(Clip(), net(Add(), x, net.random(_channels(net, made[-1]))), 0.0, 6.0)


def _transposed(net: Net, made: list[str]) -> str:
    outputs = int(net.rng.integers(2, 7))
    w = net.random(outputs, 1, 1, _channels(net, made[-1]))
    return net(ConvTranspose2d((SIDE, SIDE)), made[-1], w, net.random(outputs))


_RECIPES: list[Recipe] = [_layer, _layer, _depthwise, _groups, _residual, _residual]
_RECIPES += [_concat, _split, _gate, _pool, _scaled, _transposed]
