"""Networks with states, whose samples are a slow walk: streaming convolutions, recurrent cells, a learner."""

import numpy as np
from support.stateful import Remembering

from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add, Clip, Mul, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.recurrent import Gru, Lstm
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import Array, DType

FEATURES, WINDOW, CLASSES, STEPS = 6, 3, 4, 96


def steps(graph: Graph) -> dict[str, Array]:
    """A slow walk with noise, as signals are."""
    rng = np.random.default_rng(1)
    found = {}
    for name in graph.inputs:
        walk = np.cumsum(rng.standard_normal((STEPS, *graph.type(name).shape)), axis=0)
        found[name] = (np.sin(walk / 4) + rng.standard_normal(walk.shape) / 4).astype(np.float32)
    return found


def dense(net: Remembering, x: str, outputs: int) -> str:
    inputs = net.type(x).shape[-1]
    weights = net.random(outputs, inputs) / np.sqrt(inputs)
    return net(Dense(), x, weights.astype(np.float32), net.random(outputs) / 4)


def relu(net: Remembering, x: str) -> str:
    return net(Clip(), x, np.float32(0), np.float32(np.inf))


def ring() -> Graph:
    """A dense layer over the last steps."""
    net = Remembering(DType.F32)
    x, old = net.x(1, FEATURES), net.state("old", np.zeros((1, (WINDOW - 1) * FEATURES), np.float32))
    window = net(Concat(1), old, x)
    newest = net(Slice((0, FEATURES), (1, 1), (1, (WINDOW - 1) * FEATURES)), window)
    y = dense(net, relu(net, dense(net, window, 12)), CLASSES)
    return net.remembering([y], {old: newest}, "ring")


def recurrent(op: Lstm | Gru) -> Graph:
    """A layer of one step, whose state is that of the model."""
    net, size, gates = Remembering(DType.F32), 10, 4 if isinstance(op, Lstm) else 3
    starts = ["h", "c"][: 1 + isinstance(op, Lstm)]
    states = [net.state(name, np.zeros((1, size), np.float32)) for name in starts]
    sums = net(Reshape((1, 1, gates * size)), dense(net, net.x(1, FEATURES), gates * size))
    weights = net.const((net.random(gates * size, size) / 4).astype(np.float32))
    bias = [net.const(net.random(size) / 4)] if isinstance(op, Gru) else []
    y, *ends = net.add(op, sums, weights, *states, *bias)
    out = dense(net, net(Reshape((1, size)), y), CLASSES)
    return net.remembering([out], dict(zip(states, ends, strict=True)), type(op).__name__)


def average() -> Graph:
    """What the mean of the last hundreds of steps does not hold: a step adds less than one of int8."""
    net = Remembering(DType.F32)
    mean = net.state("mean", np.zeros((1, FEATURES), np.float32))
    features = relu(net, dense(net, net.x(1, FEATURES), FEATURES))
    kept = net(Mul(), mean, np.float32(0.995))
    new = net(Add(), kept, net(Mul(), features, np.float32(0.005)), name="new")
    return net.remembering([dense(net, net(Sub(), features, new), CLASSES)], {mean: new}, "average")


def resonator() -> Graph:
    """A state that is turned in each step, and hardly gets smaller: rounding adds up."""
    net = Remembering(DType.F32)
    old = net.state("old", np.zeros((1, FEATURES), np.float32))
    turn = np.linalg.qr(net.random(FEATURES, FEATURES))[0] * 0.995
    turned = net(Dense(), old, turn.astype(np.float32), np.zeros(FEATURES))
    new = net(Add(), turned, dense(net, net.x(1, FEATURES), FEATURES), name="new")
    return net.remembering([dense(net, new, CLASSES)], {old: new}, "resonator")


def learner() -> Graph:
    """Frozen features, and a layer that learns by the gradient of each step: its weights are the state."""
    net, size = Remembering(DType.F32), 16
    weights = net.state("weights", (net.random(CLASSES, size) / 8).astype(np.float32))
    features = relu(net, dense(net, net.x(1, FEATURES), size))
    scores = net(MatMul(), features, net(Transpose((1, 0)), weights))
    error = net(Sub(), net(Softmax(), scores), net.x(1, CLASSES, name="label"))
    slope = net(MatMul(), net(Transpose((1, 0)), error), features)
    new = net(Sub(), weights, net(Mul(), slope, np.float32(0.002)), name="new")
    return net.remembering([scores], {weights: new}, "learner")


def convolutions(seed: int = 0, *, depth: int = 3, width: int = 16, is_residual: bool = False) -> Graph:
    """Convolutions over the last steps, each with its ring buffer; a residual adds what one reads."""
    net, following = Remembering(DType.F32, seed), {}
    x = net.x(1, 1, 1, FEATURES)
    for i in range(depth):
        inputs = net.type(x).shape[-1]
        old = net.state(f"old{i}", np.zeros((1, WINDOW - 1, 1, inputs), np.float32))
        window = net(Concat(1), old, x)
        following[old] = net(Slice((0, 1, 0, 0), (1,) * 4, (1, WINDOW - 1, 1, inputs)), window)
        weights = net.random(width, WINDOW, 1, inputs) / np.sqrt(WINDOW * inputs)
        bias = net.random(width) / 4
        y = relu(net, net(Conv2d(), window, net.const(weights.astype(np.float32)), net.const(bias)))
        x = net(Add(), x, y) if is_residual and inputs == width else y
    y = dense(net, net(Reshape((1, width)), x), CLASSES)
    return net.remembering([y], following, "convolutions")
