"""Small ONNX models in one line each."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

OPSET = 17
FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    """A node; names are separated by spaces, `-` is a name left out."""
    reads, writes = (["" if name == "-" else name for name in text.split()] for text in (inputs, outputs))
    return helper.make_node(op, reads, writes, f"{op}_{writes[0] if writes else ''}", **attributes)


def tensor(name: str, shape: Sequence[int | str | None] | None, type: int = FLOAT) -> ValueInfoProto:
    """An input or output."""
    return helper.make_tensor_value_info(name, type, shape)


def model(
    nodes: Sequence[NodeProto],
    constants: Mapping[str, Any] | None = None,
    *,
    inputs: Sequence[ValueInfoProto] = (tensor("x", [2, 3]),),
    outputs: Sequence[str] = ("y",),
    opset: int = OPSET,
    functions: Sequence[FunctionProto] = (),
) -> ModelProto:
    """A model that computes the outputs from x[2, 3] and constants."""
    initializers = [
        numpy_helper.from_array(np.asarray(data), name) for name, data in (constants or {}).items()
    ]
    graph = helper.make_graph(nodes, "net", inputs, [tensor(name, None) for name in outputs], initializers)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10)


def function(name: str, nodes: Sequence[NodeProto], inputs: str = "a", outputs: str = "b") -> FunctionProto:
    """A function of the domain `local`."""
    imports = [helper.make_opsetid("", OPSET), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, inputs.split(), outputs.split(), nodes, imports)
