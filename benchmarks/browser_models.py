"""Models as peers in browsers read them: TFLite with floats at both ends, operators of TensorFlow.js."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.arithmetic import Add, Clip
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import Array


def with_float_ends(path: Path) -> bytes:
    """An int8 TFLite file that takes and gives floats: LiteRT.js knows no tensors of int8."""
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes(), 0)
    (graph,) = model.subgraphs
    model.signatureDefs = []
    graph.inputs, graph.outputs = list(graph.inputs), list(graph.outputs)
    for ends, kind in ((graph.inputs, "QUANTIZE"), (graph.outputs, "DEQUANTIZE")):
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, kind)
        code.version = 1
        model.operatorCodes.append(code)
        for i, inner in enumerate(tuple(ends)):
            outer = schema.TensorT()
            outer.name, outer.shape = f"{kind}_{i}".encode(), graph.tensors[inner].shape
            outer.type = schema.TensorType.FLOAT32
            graph.tensors.append(outer)
            ends[i] = len(graph.tensors) - 1
            step = schema.OperatorT()
            step.opcodeIndex = len(model.operatorCodes) - 1
            at_start = kind == "QUANTIZE"
            step.inputs, step.outputs = ([ends[i]], [inner]) if at_start else ([inner], [ends[i]])
            graph.operators.insert(0 if at_start else len(graph.operators), step)
    builder = flatbuffers.Builder(0)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def fused_operators(graph: Graph) -> bytes:
    """What browser/engines/tfjs.js runs: the size of a list in JSON, the list, and the numbers it names."""
    (given,) = graph.inputs
    places = {given: 0}
    steps: list[dict[str, Any]] = []
    numbers: list[Array] = []
    for node in graph.nodes:
        operands = [graph.values[name] for name in node.inputs]
        weights = [] if isinstance(node.op, Clip) else [v for v in operands if v.data is not None]
        step = _step(graph, node)
        step["inputs"] = [places[name] for name in node.inputs if name in places]
        step["weights"] = []
        for value in weights:
            assert value.data is not None
            data = np.asarray(value.data, np.float32)
            if data.ndim > 1:  # from outputs first to the order that TensorFlow.js has
                data = data.transpose(
                    {"conv": (1, 2, 3, 0), "depthwise": (1, 2, 0, 3), "dense": (1, 0)}[step["op"]]
                )
            step["weights"].append([list(data.shape), sum(n.size for n in numbers)])
            numbers.append(np.ascontiguousarray(data).reshape(-1))
        steps.append(step)
        places[node.outputs[0]] = len(steps)
    head = json.dumps({"shape": list(graph.type(given).shape), "steps": steps}).encode()
    head += b" " * (-len(head) % 4)
    return len(head).to_bytes(4, "little") + head + np.concatenate(numbers).tobytes()


def _step(graph: Graph, node: Node) -> dict[str, Any]:
    match node.op:
        case Conv2d(strides=strides, pads=pads, groups=groups):
            x, w = (graph.type(name).shape for name in node.inputs[:2])
            op = "conv" if groups == 1 else "depthwise"
            assert groups in (1, x[3])
            same = [_same(x[i + 1], w[i + 1], strides[i]) for i in (0, 1)]
            is_same = [(pads[i], pads[i + 2]) for i in (0, 1)] == same
            assert is_same or not any(pads)
            pad = "same" if is_same else "valid"
            return {"op": op, "strides": list(strides), "pad": pad, "activation": _activation(node.op)}
        case Dense():
            return {"op": "dense", "activation": _activation(node.op)}
        case Pool2d(kind="mean", size=size, strides=strides):
            return {"op": "mean", "size": list(size), "strides": list(strides)}
        case Reshape(shape=shape):
            return {"op": "reshape", "shape": list(shape)}
        case Add():
            return {"op": "add"}
        case Clip():
            return {"op": "relu"}
        case Softmax():
            return {"op": "softmax"}
    raise AssertionError(f"no operator of TensorFlow.js for {node.op}")


def _same(size: int, window: int, stride: int) -> tuple[int, int]:
    """What TensorFlow pads with by SAME."""
    total = max((-(-size // stride) - 1) * stride + window - size, 0)
    return total // 2, total - total // 2


def _activation(op: Conv2d | Dense) -> str:
    assert (op.lo, op.hi) in ((0, inf), (-inf, inf))
    return "relu" if op.lo == 0 else "linear"
