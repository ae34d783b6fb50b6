"""Small float networks in ONNX, and what onnxruntime's static quantization makes of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, load
from support.onnx_models import model, node, tensor
from support.tools import require_module

from edgekit.core.types import Array

SHAPE = (1, 3, 12, 12)
Network = Callable[[np.random.Generator], ModelProto]


@dataclass(frozen=True)
class Scheme:
    """How onnxruntime quantizes."""

    operators: bool  # QLinear operators, not conversions around float ones
    unsigned: bool  # activations
    per_channel: bool
    symmetric: bool  # activations
    unsigned_weights: bool = False

    def __str__(self) -> str:
        words = ("qoperator" if self.operators else "qdq", "u8" if self.unsigned else "s8")
        more = ("channels",) * self.per_channel + ("symmetric",) * self.symmetric
        return "-".join((*words, *more, *("u8weights",) * self.unsigned_weights))


SCHEMES = tuple(
    Scheme(operators, unsigned, per_channel, symmetric)
    for operators in (False, True)
    for unsigned in (False, True)
    for per_channel in (False, True)
    for symmetric in (False, True)
)


def _weights(rng: np.random.Generator, *shape: int) -> Array:
    fan_in = np.prod(shape[1:], dtype=int)
    weights = rng.standard_normal(shape) / np.sqrt(fan_in)
    return np.asarray(weights, np.float32)


def _bias(rng: np.random.Generator, n: int) -> Array:
    return np.asarray(rng.standard_normal(n) * 0.2, np.float32)


def convolutions(rng: np.random.Generator) -> ModelProto:
    """Plain, strided, depthwise, grouped and dilated ones, with and without a bias, a Relu, a Clip."""
    nodes = [
        node("Conv", "x w1 b1", "c1", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", "c1", "r1"),
        node("Conv", "r1 w2 b2", "c2", pads=[1, 1, 1, 1], group=8),
        node("Clip", "c2 zero six", "r2"),
        node("Conv", "r2 w3", "c3"),
        node("Conv", "c3 w4 b4", "y", group=2, dilations=[2, 2], pads=[2, 2, 2, 2]),
    ]
    constants = {
        "w1": _weights(rng, 8, 3, 3, 3),
        "b1": _bias(rng, 8),
        "w2": _weights(rng, 8, 1, 3, 3),
        "b2": _bias(rng, 8),
        "w3": _weights(rng, 12, 8, 1, 1),
        "w4": _weights(rng, 6, 6, 3, 3),
        "b4": _bias(rng, 6),
        "zero": np.float32(0),
        "six": np.float32(1.5),
    }
    return model(nodes, constants, inputs=[tensor("x", SHAPE)])


def residual(rng: np.random.Generator) -> ModelProto:
    """A sum, a product with a gate, a concatenation, poolings, a classifier."""
    nodes = [
        node("Conv", "x w1 b1", "c1", pads=[1, 1, 1, 1]),
        node("Relu", "c1", "r1"),
        node("Conv", "r1 w2 b1", "c2", pads=[1, 1, 1, 1]),
        node("Add", "c2 r1", "s"),
        node("Relu", "s", "r2"),
        node("GlobalAveragePool", "r2", "g"),
        node("Conv", "g w3", "e"),
        node("Sigmoid", "e", "gate"),
        node("Mul", "r2 gate", "m"),
        node("MaxPool", "m", "p1", kernel_shape=[2, 2], strides=[2, 2]),
        node("AveragePool", "m", "p2", kernel_shape=[2, 2], strides=[2, 2]),
        node("Concat", "p1 p2", "j", axis=1),
        node("LeakyRelu", "j", "l", alpha=0.1),
        node("Transpose", "l", "t", perm=[0, 2, 3, 1]),
        node("Flatten", "t", "f"),
        node("Gemm", "f w4 b4", "logits", transB=1),
        node("Softmax", "logits", "y", axis=-1),
    ]
    constants = {
        "w1": _weights(rng, 4, 3, 3, 3),
        "b1": _bias(rng, 4),
        "w2": _weights(rng, 4, 4, 3, 3),
        "w3": _weights(rng, 4, 4, 1, 1),
        "w4": _weights(rng, 5, 8 * 36),
        "b4": _bias(rng, 5),
    }
    return model(nodes, constants, inputs=[tensor("x", SHAPE)])


def perceptron(rng: np.random.Generator) -> ModelProto:
    """Products with matrices, biases added behind them, a constant sum."""
    nodes = [
        node("MatMul", "x w1", "m1"),
        node("Add", "m1 b1", "a1"),
        node("Relu", "a1", "r1"),
        node("Gemm", "r1 w2 b2", "g"),
        node("Sigmoid", "g", "s"),
        node("MatMul", "s w3", "y"),
    ]
    constants = {
        "w1": _weights(rng, 20, 16),
        "b1": _bias(rng, 16),
        "w2": _weights(rng, 16, 12),
        "b2": _bias(rng, 12),
        "w3": _weights(rng, 12, 7),
    }
    return model(nodes, constants, inputs=[tensor("x", [3, 20])])


NETWORKS: tuple[Network, ...] = (convolutions, residual, perceptron)


def _layer(
    *nodes: NodeProto, shape: Sequence[int] = SHAPE, **weights: Sequence[int]
) -> Callable[[np.random.Generator], ModelProto]:
    """A network that is one layer from x to y, with random constants of these shapes."""

    def network(rng: np.random.Generator) -> ModelProto:
        constants: dict[str, Any] = {name: _weights(rng, *size) for name, size in weights.items()}
        if any("ends" in n.input for n in nodes):
            constants["ends"] = np.asarray([0, 0, 1, 2, 0, 0, 2, 1], np.int64)
        return model(nodes, constants, inputs=[tensor("x", shape)])

    return network


# onnxruntime quantizes what moves, and means, behind a layer only.
_BEFORE = node("Sigmoid", "x", "s")
# Layers one by one. Where two tensors are combined, both come from x.
LAYERS: dict[str, Network] = {
    "convolution": _layer(node("Conv", "x w b", "y", pads=[1, 1, 1, 1]), w=(5, 3, 3, 3), b=(5,)),
    "convolution_of_a_line": _layer(node("Conv", "x w b", "y"), shape=(2, 4, 9), w=(5, 4, 3), b=(5,)),
    "depthwise": _layer(node("Conv", "x w", "y", group=3, strides=[2, 2]), w=(3, 1, 3, 3)),
    "grouped": _layer(node("Conv", "x w b", "y", group=2), shape=(1, 4, 6, 6), w=(6, 2, 3, 3), b=(6,)),
    "matrix": _layer(node("MatMul", "x w", "y"), shape=(4, 9), w=(9, 6)),
    "matrices": _layer(
        _BEFORE, node("Transpose", "s", "t", perm=[0, 2, 1]), node("MatMul", "x t", "y"), shape=(2, 5, 9)
    ),
    "gemm": _layer(node("Gemm", "x w b", "y", transB=1), shape=(4, 9), w=(6, 9), b=(6,)),
    "sum": _layer(node("MaxPool", "x", "m", kernel_shape=[1, 1]), node("Add", "x m", "y")),
    "product": _layer(_BEFORE, node("Mul", "x s", "y")),
    "sum_with_a_constant": _layer(node("Add", "x c", "y"), c=(3, 1, 1)),
    "concatenation": _layer(_BEFORE, node("Concat", "x s", "y", axis=1)),
    "maximum": _layer(_BEFORE, node("MaxPool", "s", "y", kernel_shape=[3, 3], pads=[1, 1, 1, 1])),
    "mean": _layer(_BEFORE, node("AveragePool", "s", "y", kernel_shape=[3, 3], strides=[3, 3])),
    "mean_of_all": _layer(_BEFORE, node("GlobalAveragePool", "s", "y")),
    "sigmoid": _layer(node("Sigmoid", "x", "y")),
    "leaky": _layer(node("LeakyRelu", "x", "y", alpha=0.2)),
    "softmax": _layer(node("Softmax", "x", "y", axis=-1), shape=(3, 7)),
    "padding": _layer(node("Pad", "x ends", "p"), node("Conv", "p w", "y"), w=(5, 3, 3, 3)),
    "moves": _layer(_BEFORE, node("Transpose", "s", "t", perm=[0, 2, 3, 1]), node("Flatten", "t", "y")),
}


def samples(net: ModelProto, count: int, seed: int = 1) -> list[dict[str, Array]]:
    """Seeded inputs of a float network."""
    rng = np.random.default_rng(seed)
    (x,) = net.graph.input
    shape = [d.dim_value for d in x.type.tensor_type.shape.dim]
    return [{x.name: rng.standard_normal(shape).astype(np.float32)} for _ in range(count)]


def quantized(net: ModelProto, scheme: Scheme, activations: Any = None, **options: Any) -> ModelProto:
    """By onnxruntime, calibrated with a few random samples. `activations` is another type for them."""
    require_module("onnxruntime")
    from onnxruntime import quantization as q

    class Reader(q.CalibrationDataReader):  # type: ignore[misc]  # no stubs
        def __init__(self) -> None:
            self.rest: Iterator[dict[str, Array]] = iter(samples(net, 8))

        def get_next(self) -> dict[str, Array] | None:
            return next(self.rest, None)

    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        path = Path(folder, "net.onnx")
        q.quantize_static(
            net,
            path,
            Reader(),
            quant_format=q.QuantFormat.QOperator if scheme.operators else q.QuantFormat.QDQ,
            per_channel=scheme.per_channel,
            # onnxruntime's own integer kernels saturate sums of pairs on some CPUs: weights of 7 bits do not.
            reduce_range=scheme.operators and not scheme.unsigned_weights,
            activation_type=activations or (q.QuantType.QUInt8 if scheme.unsigned else q.QuantType.QInt8),
            weight_type=q.QuantType.QUInt8 if scheme.unsigned_weights else q.QuantType.QInt8,
            extra_options={"ActivationSymmetric": scheme.symmetric, **options},
        )
        return load(path)


def reference(net: ModelProto, inputs: Sequence[dict[str, Array]]) -> list[list[Array]]:
    """What onnxruntime computes, operator by operator as the file says it."""
    ort = require_module("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = ort.InferenceSession(net.SerializeToString(), options)
    return [[np.asarray(y) for y in session.run(None, feed)] for feed in inputs]
