"""Float graphs with conversions to int8 and back between operators, as quantized ONNX models have them."""

from __future__ import annotations

import numpy as np

from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.cast import BitCast
from edgekit.core.ops.flip_sign import FlipSign
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.types import Array, DType, Quant

_LEFT_OUT = 0.15  # of the conversions: some tensors of real models have none
_CALIBRATION = range(3)  # seeds of inputs


def with_conversions(graph: Graph, seed: int) -> Graph:
    """The graph with most of its float32 values rounded to bytes, with and without sign, and weights too."""
    seen = [simulate.run_all(graph, simulate.random_inputs(graph, s)) for s in _CALIBRATION]
    rng = np.random.default_rng(seed)
    builder = Builder()
    names = {name: builder.const(data, hint=name) for name, data in graph.constants()}

    def converted(name: str, x: str) -> str:
        quant = _quant(np.stack([values[name] for values in seen]))
        if graph.type(name).dtype is not DType.F32 or rng.random() < _LEFT_OUT:
            return x
        plain = BitCast(DType.S8) if rng.random() < 0.5 else FlipSign()
        (labelled,) = builder.add(Quantize(), x, quant=quant)
        (again,) = builder.add(plain, builder.one(plain, labelled), quant=quant)
        return builder.one(Dequantize(), again)

    inputs = [builder.input(name, graph.type(name)) for name in graph.inputs]
    names |= {name: converted(name, x) for name, x in zip(graph.inputs, inputs, strict=True)}
    for node in graph.nodes:
        weights = graph.data(node.inputs[1]) if isinstance(node.op, Linear) else None
        if weights is not None:
            names[node.inputs[1]] = builder.const(_on_grid(weights))
        results = builder.add(node.op, *(names[name] for name in node.inputs))
        names |= {name: converted(name, x) for name, x in zip(node.outputs, results, strict=True)}
    return builder.graph("net", inputs, list(dict.fromkeys(names[name] for name in graph.outputs)))


def _quant(values: Array) -> Quant:
    finite = values[np.isfinite(values)].astype(np.float64)
    low, high = finite.min(initial=0.0), finite.max(initial=0.0)
    scale = float(np.float32((high - low) / 255)) or 1.0
    return Quant((scale,), (int(np.clip(np.rint(-128 - low / scale), -128, 127)),))


def _on_grid(weights: Array) -> Array:
    scale = np.abs(weights).reshape(len(weights), -1).max(axis=1, initial=0) / 127
    scale = np.where(scale > 0, scale, 1).astype(np.float32).reshape(-1, *[1] * (weights.ndim - 1))
    return (np.rint(weights / scale) * scale).astype(np.float32)
