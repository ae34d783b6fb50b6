"""Small float networks in ONNX, and what onnxruntime's dynamic quantization makes of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from onnx import ModelProto, load
from support.onnx_models import model, node, tensor
from support.tools import require_module

from edgekit.core.types import Array

Network = Callable[[np.random.Generator], ModelProto]


def _normal(rng: np.random.Generator, *shape: int, scale: float = 0.3) -> Array:
    return np.asarray(rng.standard_normal(shape) * scale, np.float32)


def perceptron(rng: np.random.Generator) -> ModelProto:
    """A Gemm, products with matrices behind several dimensions."""
    nodes = [
        node("Gemm", "x w1 b1", "g", transB=1),
        node("Relu", "g", "r"),
        node("Reshape", "r shape", "cube"),
        node("MatMul", "cube w2", "m"),
        node("Add", "m b2", "y"),
    ]
    constants = {
        "w1": _normal(rng, 33, 13),
        "b1": _normal(rng, 33),
        "shape": np.int64([2, 2, 33]),
        "w2": _normal(rng, 33, 7) + np.float32(0.2),
        "b2": _normal(rng, 7),
    }
    return model(nodes, constants, inputs=[tensor("x", [4, 13])])


def convolutions(rng: np.random.Generator) -> ModelProto:
    """Plain, strided, depthwise and grouped ones over images with a border."""
    nodes = [
        node("Conv", "x w1 b1", "c1", pads=[1, 2, 1, 0]),
        node("Relu", "c1", "r1"),
        node("Conv", "r1 w2 b2", "c2", group=10, strides=[2, 1], pads=[1, 1, 1, 1]),
        node("Conv", "c2 w3", "c3", group=2, dilations=[1, 2]),
        node("Conv", "c3 w4", "y"),
    ]
    constants = {
        "w1": _normal(rng, 10, 3, 3, 3),
        "b1": _normal(rng, 10),
        "w2": _normal(rng, 10, 1, 3, 3) + np.float32(0.1),
        "b2": _normal(rng, 10),
        "w3": _normal(rng, 6, 5, 2, 2),
        "w4": _normal(rng, 7, 6, 1, 1),
    }
    return model(nodes, constants, inputs=[tensor("x", [2, 3, 11, 9])])


def lstm(rng: np.random.Generator, hidden: int = 21, inputs: int = 13) -> ModelProto:
    """Both directions over several sequences, states from outside, and one direction behind them."""
    nodes = [
        node("LSTM", "x w1 r1 b1 - h c", "y1 h1 c1", hidden_size=hidden, direction="bidirectional"),
        node("Transpose", "y1", "t", perm=[0, 2, 1, 3]),
        node("Reshape", "t shape", "both"),
        node("LSTM", "both w2 r2", "y", hidden_size=5, direction="reverse"),
    ]
    constants = {
        "w1": _normal(rng, 2, 4 * hidden, inputs),
        "r1": _normal(rng, 2, 4 * hidden, hidden),
        "b1": _normal(rng, 2, 8 * hidden, scale=0.1),
        "shape": np.int64([6, 3, 2 * hidden]),
        "w2": _normal(rng, 1, 20, 2 * hidden),
        "r2": _normal(rng, 1, 20, 5),
    }
    ports = [tensor("x", [6, 3, inputs]), tensor("h", [2, 3, hidden]), tensor("c", [2, 3, hidden])]
    return model(nodes, constants, inputs=ports, outputs=("y", "h1", "c1"))


def special_lstm(rng: np.random.Generator) -> ModelProto:
    """Sequences of other lengths, peepholes, other functions."""
    nodes = [
        node(
            "LSTM",
            "x w r b lengths - - p",
            "y h c",
            hidden_size=5,
            activations=["Sigmoid", "Softsign", "Tanh"],
        )
    ]
    constants = {
        "w": _normal(rng, 1, 20, 4),
        "r": _normal(rng, 1, 20, 5),
        "b": _normal(rng, 1, 40),
        "lengths": np.int32([3, 4]),
        "p": _normal(rng, 1, 15),
    }
    return model(nodes, constants, inputs=[tensor("x", [4, 2, 4])], outputs=("y", "h", "c"))


def gru(rng: np.random.Generator) -> ModelProto:
    """It stays in floats; the layer behind it does not."""
    nodes = [
        node("GRU", "x w r b", "y h", hidden_size=9, linear_before_reset=1),
        node("MatMul", "h m", "z"),
    ]
    constants = {
        "w": _normal(rng, 1, 27, 6),
        "r": _normal(rng, 1, 27, 9),
        "b": _normal(rng, 1, 54),
        "m": _normal(rng, 9, 4),
    }
    return model(nodes, constants, inputs=[tensor("x", [5, 2, 6])], outputs=("y", "z"))


def attention(rng: np.random.Generator) -> ModelProto:
    """An embedding, a head of attention, a sum with what went in."""
    nodes = [
        node("Gather", "table x", "e"),
        node("MatMul", "e q", "queries"),
        node("MatMul", "e k", "keys"),
        node("MatMul", "e v", "values"),
        node("Transpose", "keys", "turned", perm=[0, 2, 1]),
        node("MatMul", "queries turned", "scores"),
        node("Softmax", "scores", "weights", axis=-1),
        node("MatMul", "weights values", "mixed"),
        node("MatMul", "mixed o", "out"),
        node("Add", "out e", "y"),
    ]
    constants = {"table": _normal(rng, 40, 16), **{n: _normal(rng, 16, 16) for n in "qkvo"}}
    return model(nodes, constants, inputs=[tensor("x", [2, 7], 7)])


NETWORKS: tuple[Network, ...] = (perceptron, convolutions, lstm, special_lstm, gru, attention)


def quantized(net: ModelProto, unsigned: bool, per_channel: bool) -> ModelProto:
    """What onnxruntime.quantization.quantize_dynamic writes."""
    q = require_module("onnxruntime.quantization")
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        path = Path(folder, "quantized.onnx")
        kind = q.QuantType.QUInt8 if unsigned else q.QuantType.QInt8
        # Without VNNI, onnxruntime's kernels saturate sums of pairs, for any weights of LSTM and for others
        # with a sign; with weights of 7 bits these sums fit 16 bits.
        narrow = not unsigned or any(node.op_type == "LSTM" for node in net.graph.node)
        q.quantize_dynamic(net, path, weight_type=kind, per_channel=per_channel, reduce_range=narrow)
        return load(path)


def samples(net: ModelProto, seed: int) -> dict[str, Array]:
    """Inputs of a network."""
    rng = np.random.default_rng(seed)
    found = {}
    for port in net.graph.input:
        kind = port.type.tensor_type
        shape = [d.dim_value for d in kind.shape.dim]
        if kind.elem_type == 7:
            found[port.name] = rng.integers(0, 40, shape)
        else:
            found[port.name] = rng.standard_normal(shape).astype(np.float32)
    return found


def reference(net: ModelProto, inputs: dict[str, Array]) -> list[Array]:
    """What onnxruntime computes on one thread: on several, it quantizes the sequences of a batch apart."""
    ort = require_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(net.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results: list[Array] = session.run(None, inputs)
    return results
