"""Fold batch normalizations behind dense layers of an ONNX model, for tools that only know convolutions."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper


def fold(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same network; weights and biases must be constants."""
    graph = model.graph
    constants = {value.name: value for value in graph.initializer}
    makers = {node.output[0]: node for node in graph.node}
    for norm in [node for node in graph.node if node.op_type == "BatchNormalization"]:
        layer = makers[norm.input[0]]
        assert layer.op_type == "Gemm", layer.op_type
        assert {a.name: a.i for a in layer.attribute if a.name == "transB"} == {"transB": 1}
        scale, shift, mean, variance = (numpy_helper.to_array(constants[n]) for n in norm.input[1:])
        epsilon = next((a.f for a in norm.attribute if a.name == "epsilon"), 1e-5)
        factor = scale / np.sqrt(variance + np.float32(epsilon))
        weights, bias = (numpy_helper.to_array(constants[n]) for n in layer.input[1:])
        new = {
            "weights": weights * factor[:, None],
            "bias": (bias - mean) * factor + shift,
        }
        names = [f"{norm.output[0]}/{what}" for what in new]
        for name, data in zip(names, new.values(), strict=True):
            graph.initializer.append(numpy_helper.from_array(data.astype(np.float32), name))
        folded = helper.make_node(layer.op_type, [layer.input[0], *names], norm.output, name=layer.name)
        folded.attribute.extend(layer.attribute)
        graph.node.insert(list(graph.node).index(norm), folded)
        graph.node.remove(norm)
        graph.node.remove(layer)
        makers[norm.output[0]] = folded
    used = {name for node in graph.node for name in node.input}
    for value in [v for v in graph.initializer if v.name not in used]:
        graph.initializer.remove(value)
    return model
