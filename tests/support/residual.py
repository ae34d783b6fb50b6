"""A network whose channels are tied together in all usual ways, and what tests of pruning do with it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from support.nets import Net

from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.simulate import random_inputs
from edgekit.core.types import DType

SAME = (1, 1, 1, 1)


def quiet(step: str) -> None:
    """Progress that is not shown."""


def conv(net: Net, x: str, outputs: int, k: int = 1, **attributes: Any) -> str:
    inputs = net.type(x).shape[-1] // attributes.get("groups", 1)
    w = net.random(outputs, k, k, inputs) / np.sqrt(k * k * inputs)
    return net(Conv2d(**attributes), x, w.astype(net.dtype.numpy), net.random(outputs))


def residual_network(dtype: DType = DType.F32, seed: int = 0) -> Graph:
    """What ties channels together: a residual, a concatenation, a depthwise layer, groups, a flattening."""
    net = Net(dtype, seed)
    trunk = conv(net, net.x(1, 8, 8, 3), 8, k=3, pads=SAME, lo=0.0)
    inner = conv(net, trunk, 12, lo=0.0)
    inner = conv(net, inner, 12, k=3, pads=SAME, groups=12, lo=0.0)
    trunk = net(Add(), trunk, conv(net, inner, 8))
    both = net(Concat(3), conv(net, trunk, 6, lo=0.0), conv(net, trunk, 4, lo=0.0))
    grouped = conv(net, both, 8, k=3, strides=(2, 2), groups=2, lo=0.0)
    flat = net(Reshape((1, 3 * 3 * 8)), grouped)
    return net.done(net(Dense(), flat, net.random(5, 72), net.random(5)))


def calibration(graph: Graph, n: int = 24) -> list[Mapping[str, Any]]:
    return [random_inputs(graph, seed) for seed in range(n)]
