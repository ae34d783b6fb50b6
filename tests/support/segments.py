"""Networks with layers that no GPU kernel computes, between layers that are worth a copy to the device."""

import numpy as np
from support.op_cases import normal
from support.tools import require_module

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Tanh
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.types import DType, Type

_F32 = DType.F32
SIZE = 24  # pixels: a convolution is then worth a copy


def _convolution(b: Builder, x: str, channels: int) -> str:
    inputs = b.type(x).shape[3]
    w = normal(_F32, channels, 3, 3, inputs, scale=(9 * inputs) ** -0.5)
    return b.one(Conv2d((1, 1), (1, 1, 1, 1)), x, b.const(w), b.const(normal(_F32, channels)))


def network(size: int = SIZE, channels: int = 32) -> Graph:
    """Two layers without a kernel, one of which reads an input, and an output that the CPU computes."""
    b = Builder()
    x = b.input("x", Type(_F32, (1, size, size, 24)))
    z = b.input("z", Type(_F32, (1, size, size, 1)))
    first = _convolution(b, x, channels)
    sums = b.one(Cumulative("sum", 2), first)
    tenth = b.const(np.float32(0.1))
    rows = b.one(Cumulative("sum", 2), b.one(Mul(), b.one(Cumulative("sum", 1), z), tenth))
    weighted = b.one(Add(), b.one(Mul(), sums, tenth), rows)
    second = _convolution(b, weighted, channels)
    products = b.one(
        Cumulative("sum", 1, reverse=True), b.one(Tanh(), _convolution(b, second, channels // 2))
    )
    return b.graph("network", [x, z], [second, products, first])


def _products(b: Builder, x: str, channels: int = 32) -> str:
    """A convolution of single pixels. Those with as many inputs as outputs share a kernel. None splits its
    sums among threads: such a kernel takes software six times as long to compile."""
    w = normal(_F32, channels, 1, 1, b.type(x).shape[3], scale=0.1)
    return b.one(Conv2d((1, 1), (0, 0, 0, 0)), x, b.const(w), b.const(normal(_F32, channels)))


_PIXELS = Type(_F32, (1, SIZE, SIZE, 32))


def in_the_middle() -> Graph:
    """One layer without a kernel, between two with one."""
    b = Builder()
    x = b.input("x", _PIXELS)
    sums = b.one(Cumulative("sum", 2), b.one(Tanh(), _products(b, _products(b, x))))
    return b.graph("middle", [x], [_products(b, _products(b, sums))])


def at_the_end() -> Graph:
    """The only output is one that the device never has."""
    b = Builder()
    x = b.input("x", _PIXELS)
    y = _products(b, _products(b, x))
    return b.graph("end", [x], [b.one(Cumulative("sum", 1), y)])


def at_the_start() -> Graph:
    """An input that the device never has."""
    b = Builder()
    x = b.input("x", _PIXELS)
    sums = b.one(Cumulative("sum", 1), x)
    return b.graph("start", [x], [_products(b, _products(b, sums))])


def in_a_branch() -> Graph:
    """Of two branches one is the CPU's. Of outputs that the CPU computes, kernels read one, and the next
    segment another one."""
    b = Builder()
    x = b.input("x", _PIXELS)
    z = b.input("z", Type(_F32, (1, SIZE, SIZE, 1)))
    left = _products(b, _products(b, x))
    right = b.one(Cumulative("sum", 2), left)
    rows = b.one(Cumulative("sum", 1), z)
    joined = _products(b, b.one(Add(), _products(b, _products(b, left)), right), 16)
    last = b.one(Add(), b.one(Cumulative("sum", 2), joined), rows)
    return b.graph("branch", [x, z], [right, rows, last])


def sums() -> bytes:
    """The same kind of network as a file of ONNX, with an input `x` of [1, 24, SIZE, SIZE]."""
    onnx = require_module("onnx")
    helper, numbers = onnx.helper, onnx.numpy_helper.from_array
    weights = [normal(_F32, 32, 24, 3, 3, scale=0.05), normal(_F32, 32, 32, 3, 3, scale=0.05)]
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("CumSum", ["a", "axis"], ["b"]),
        helper.make_node("Tanh", ["b"], ["c"]),
        helper.make_node("Conv", ["c", "w1"], ["y"], pads=[1, 1, 1, 1]),
    ]
    constants = [numbers(w, f"w{i}") for i, w in enumerate(weights)] + [numbers(np.array(3), "axis")]
    ends = [
        helper.make_tensor_value_info(name, 1, [1, channels, SIZE, SIZE])
        for name, channels in (("x", 24), ("y", 32))
    ]
    model = helper.make_model(
        helper.make_graph(nodes, "sums", ends[:1], ends[1:], constants),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    made: bytes = model.SerializeToString()
    return made
