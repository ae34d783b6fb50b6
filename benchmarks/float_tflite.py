"""Float TFLite files for LiteRT's quantizers: MLPerf Tiny's without a softmax, the examples written anew.

Needs ai-edge-litert, for its copy of the TFLite schema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from support.tflite_to_onnx import float_tflite

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d, Window
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import Array

SIGNATURE, INPUT, OUTPUT = "serving_default", "x", "y"


def before_softmax(path: Path) -> bytes:
    """A float TFLite file that ends with its scores."""
    model = schema.ModelT.InitFromPackedBuf(float_tflite(path), 0)
    (graph,) = model.subgraphs
    for (
        code
    ) in model.operatorCodes:  # quantizers read only the new field, files before 2020 have only the old
        code.builtinCode = max(code.builtinCode, code.deprecatedBuiltinCode)
    last = graph.operators[-1]
    if model.operatorCodes[last.opcodeIndex].builtinCode == schema.BuiltinOperator.SOFTMAX:
        graph.operators.pop()
        graph.outputs = last.inputs
        _drop_unused(model, graph)
    return _packed(model)


def _drop_unused(model: Any, graph: Any) -> None:
    """Tensors without a producer and operators without a caller: quantizers stumble over them."""
    lists = [graph, *graph.operators]
    tensors = sorted({int(i) for one in lists for i in (*one.inputs, *one.outputs)})
    for one in lists:
        one.inputs, one.outputs = ([tensors.index(i) for i in ends] for ends in (one.inputs, one.outputs))
    graph.tensors = [graph.tensors[i] for i in tensors]
    codes = sorted({operator.opcodeIndex for operator in graph.operators})
    for operator in graph.operators:
        operator.opcodeIndex = codes.index(operator.opcodeIndex)
    model.operatorCodes = [model.operatorCodes[i] for i in codes]


def written(graph: Graph) -> bytes:
    """The TFLite file of a graph of those operators that the examples use."""
    file = _File(graph)
    for node in graph.nodes:
        _WRITE[type(node.op).__name__](file, node.op, node)
    file.subgraph.inputs = [file.indices[name] for name in graph.inputs]
    file.subgraph.outputs = [file.indices[name] for name in graph.outputs]
    return _packed(file.model)


class _File:
    """A TFLite model under construction."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.indices: dict[str, int] = {}
        self.subgraph = schema.SubGraphT()
        self.subgraph.name, self.subgraph.tensors, self.subgraph.operators = b"main", [], []
        self.model = schema.ModelT()
        self.model.version, self.model.description = 3, b"float"
        self.model.buffers, self.model.operatorCodes = [schema.BufferT()], []
        self.model.subgraphs = [self.subgraph]
        for name in graph.inputs:
            self.tensor(name, graph.type(name).shape)

    def tensor(self, name: str, shape: Sequence[int], data: Array | None = None) -> int:
        """The index of a new tensor: a constant where there are data."""
        made = schema.TensorT()
        made.name, made.shape, made.buffer = name.encode(), list(shape), 0
        made.type = schema.TensorType.FLOAT32
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            made.buffer = len(self.model.buffers) - 1
            if data.dtype == np.int32:
                made.type = schema.TensorType.INT32
        self.subgraph.tensors.append(made)
        self.indices[name] = len(self.subgraph.tensors) - 1
        return self.indices[name]

    def numbers(self, name: str, values: Sequence[int]) -> int:
        return self.tensor(name, [len(values)], np.array(values, np.int32))

    def weights(self, name: str, perm: Sequence[int] | None = None) -> int:
        data = self.graph.values[name].data
        assert data is not None, f"{name} is no constant"
        data = data if perm is None else data.transpose(perm)
        return self.tensor(name, data.shape, data)

    def add(self, code: str, node: Node, constants: Sequence[int], options: str, **fields: Any) -> None:
        """Append an operator on the first operand of a node and on constants."""
        operator, number = schema.OperatorT(), getattr(schema.BuiltinOperator, code)
        codes = [known.builtinCode for known in self.model.operatorCodes]
        if number not in codes:
            known = schema.OperatorCodeT()
            known.builtinCode = known.deprecatedBuiltinCode = number
            known.version = 1
            self.model.operatorCodes.append(known)
            codes.append(number)
        operator.opcodeIndex = codes.index(number)
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, options)
        operator.builtinOptions = getattr(schema, f"{options}T")()
        for field, value in fields.items():
            assert hasattr(operator.builtinOptions, field), field
            setattr(operator.builtinOptions, field, value)
        (y,) = node.outputs
        operator.inputs = [self.indices[node.inputs[0]], *constants]
        operator.outputs = [self.tensor(y, self.graph.type(y).shape)]
        self.subgraph.operators.append(operator)


def _activation(op: Conv2d | Dense) -> int:
    kinds = {(-inf, inf): "NONE", (0.0, inf): "RELU", (0.0, 6.0): "RELU6"}
    return int(getattr(schema.ActivationFunctionType, kinds[op.lo, op.hi]))


def _window(file: _File, node: Node, window: Window) -> dict[str, int]:
    """Strides and padding; TFLite's SAME puts the odd cell behind."""
    shapes = [file.graph.type(name).shape[1:3] for name in (node.inputs[0], node.outputs[0])]
    same = []
    for size, out, k, stride in zip(*shapes, window.size, window.strides, strict=True):
        total = max(0, (out - 1) * stride + k - size)
        same.append((total // 2, total - total // 2))
    (top, bottom), (left, right) = same
    assert window.dilations == (1, 1)
    if any(window.pads):
        assert window.pads == (top, left, bottom, right), "TFLite has no such padding"
    padding = schema.Padding.SAME if any(window.pads) else schema.Padding.VALID
    return {"padding": padding, "strideH": window.strides[0], "strideW": window.strides[1]}


def _conv2d(file: _File, op: Conv2d, node: Node) -> None:
    _, w, b = node.inputs
    fields = _window(file, node, op.window(file.graph.type(w)))
    fields["fusedActivationFunction"] = _activation(op)
    if op.groups == 1:
        file.add("CONV_2D", node, [file.weights(w), file.weights(b)], "Conv2DOptions", **fields)
    else:
        constants = [file.weights(w, perm=(3, 1, 2, 0)), file.weights(b)]
        fields["depthMultiplier"] = 1
        file.add("DEPTHWISE_CONV_2D", node, constants, "DepthwiseConv2DOptions", **fields)


def _dense(file: _File, op: Dense, node: Node) -> None:
    _, w, b = node.inputs
    constants = [file.weights(w), file.weights(b)]
    file.add(
        "FULLY_CONNECTED",
        node,
        constants,
        "FullyConnectedOptions",
        fusedActivationFunction=_activation(op),
    )


def _pool2d(file: _File, op: Pool2d, node: Node) -> None:
    assert op.kind == "max"
    fields = _window(file, node, op.window) | {"filterHeight": op.size[0], "filterWidth": op.size[1]}
    file.add("MAX_POOL_2D", node, [], "Pool2DOptions", **fields)


def _add(file: _File, op: Add, node: Node) -> None:
    file.add("ADD", node, [file.indices[node.inputs[1]]], "AddOptions")


def _reduce(file: _File, op: Reduce, node: Node) -> None:
    assert op.kind == "mean"
    axes = file.numbers(f"{node.outputs[0]}/axes", op.axes)
    file.add("MEAN", node, [axes], "ReducerOptions", keepDims=op.keepdims)


def _reshape(file: _File, op: Reshape, node: Node) -> None:
    shape = file.numbers(f"{node.outputs[0]}/shape", op.shape)
    file.add("RESHAPE", node, [shape], "ReshapeOptions", newShape=list(op.shape))


_WRITE: dict[str, Callable[[_File, Any, Node], None]] = {
    "Add": _add,
    "Conv2d": _conv2d,
    "Dense": _dense,
    "Pool2d": _pool2d,
    "Reduce": _reduce,
    "Reshape": _reshape,
}


def _packed(model: Any) -> bytes:
    """The file, with the one signature that ai-edge-quantizer asks for."""
    (graph,) = model.subgraphs
    signature = schema.SignatureDefT()
    signature.signatureKey, signature.subgraphIndex = SIGNATURE, 0
    signature.inputs = [_named(INPUT, index) for index in graph.inputs]
    signature.outputs = [_named(OUTPUT, index) for index in graph.outputs]
    model.signatureDefs = [signature]
    builder = flatbuffers.Builder(0)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _named(name: str, index: int) -> Any:
    end = schema.TensorMapT()
    end.name, end.tensorIndex = name, int(index)
    return end
