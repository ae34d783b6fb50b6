"""The tables of an .ort file as the messages of ONNX."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    SparseTensorProto,
    TensorProto,
    ValueInfoProto,
)

from edgekit.core.errors import EdgeKitError
from edgekit.core.flatbuffer import Record

_TENSOR_TYPE = 1  # of a value
_SIZE, _NAME = 1, 2  # of a dimension
_FUSED = 1  # a node that an execution provider compiled
_BLOCKED = "com.microsoft.nchwc"
_LEVEL = "save it with graph_optimization_level ORT_ENABLE_EXTENDED"
_EXTERNAL = "save it without external initializers"


def model_of(session: Record) -> ModelProto:
    stored = session["model"]
    if stored is None or stored["graph"] is None:
        raise EdgeKitError("E0401", "the file holds no graph", hint="is the download complete?")
    made = ModelProto(ir_version=stored["ir_version"], producer_name=stored["producer_name"])
    made.producer_version = stored["producer_version"]
    for opset in stored["opset_import"]:
        made.opset_import.add(domain=opset["domain"], version=opset["version"])
    made.graph.CopyFrom(_graph(stored["graph"]))
    return made


def _graph(stored: Record) -> GraphProto:
    made = GraphProto()
    types = {info["name"]: info["type"] for info in stored["node_args"]}
    made.input.extend(_value(name, types.get(name)) for name in stored["inputs"])
    made.output.extend(_value(name, types.get(name)) for name in stored["outputs"])
    made.initializer.extend(map(_tensor, stored["initializers"]))
    made.sparse_initializer.extend(map(_sparse, stored["sparse_initializers"]))
    made.node.extend(map(_node, _in_order(stored["nodes"])))
    return made


def _in_order(nodes: Sequence[Record]) -> Iterator[Record]:
    """Each node after those that it reads: fusions leave them in another order. Without need, none moves."""
    makers = {name: i for i, node in enumerate(nodes) for name in node["outputs"] if name}
    reads = [
        {makers[n] for n in (*node["inputs"], *node["implicit_inputs"]) if n in makers} for node in nodes
    ]
    readers: list[list[int]] = [[] for _ in nodes]
    for i, own in enumerate(reads):
        for maker in own:
            readers[maker].append(i)
    missing = list(map(len, reads))
    ready = [i for i, count in enumerate(missing) if not count]
    done = 0
    while ready:
        i = heapq.heappop(ready)
        yield nodes[i]
        done += 1
        for reader in readers[i]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, reader)
    if done < len(nodes):
        raise EdgeKitError("E0401", "nodes need their own results")


def _node(stored: Record) -> NodeProto:
    where = f"node {stored['name']:.80}"
    if stored["type"] == _FUSED:
        hint = "save the model with the CPU provider alone"
        raise EdgeKitError("E0205", f"compiled for {stored['provider']:.60} by ONNX Runtime", where, hint)
    if stored["domain"] == _BLOCKED:
        raise EdgeKitError("E0205", "laid out for the processor that it was saved on", where, _LEVEL)
    made = NodeProto(name=stored["name"], domain=stored["domain"], op_type=stored["op_type"])
    made.input.extend(stored["inputs"])
    made.output.extend(stored["outputs"])
    made.attribute.extend(map(_attribute, stored["attributes"]))
    return made


def _attribute(stored: Record) -> AttributeProto:
    kind = stored["type"]
    if kind not in _VALUES:
        raise EdgeKitError("E0205", f"attribute {stored['name']:.60} of type {kind} is not supported")
    field, convert = _VALUES[kind]
    made = AttributeProto(name=stored["name"], type=kind)
    value = stored[field]
    if isinstance(value, tuple):
        getattr(made, field).extend(map(convert, value))
    elif field in ("t", "g"):
        getattr(made, field).CopyFrom(convert(value))
    else:
        setattr(made, field, convert(value))
    return made


def _tensor(stored: Record | None) -> TensorProto:
    if stored is None:
        raise EdgeKitError("E0401", "a tensor is missing")
    if stored["external_data_offset"] >= 0:
        message = f"tensor {stored['name']:.80} is in a file of its own"
        raise EdgeKitError("E0205", message, hint=_EXTERNAL)
    made = TensorProto(name=stored["name"], dims=stored["dims"], data_type=stored["data_type"])
    if stored["data_type"] == TensorProto.STRING:
        made.string_data.extend(map(str.encode, stored["string_data"]))
    else:
        made.raw_data = bytes(stored["raw_data"])
    return made


def _sparse(stored: Record) -> SparseTensorProto:
    made = SparseTensorProto(dims=stored["dims"])
    made.values.CopyFrom(_tensor(stored["values"]))
    made.indices.CopyFrom(_tensor(stored["indices"]))
    return made


def _inner(stored: Record | None) -> GraphProto:
    if stored is None:
        raise EdgeKitError("E0401", "a graph is missing")
    return _graph(stored)


def _value(name: str, type: Record | None) -> ValueInfoProto:
    """A value whose type is not that of a tensor has none here."""
    made = ValueInfoProto(name=name)
    tensor = type["tensor"] if type and type["kind"] == _TENSOR_TYPE else None
    if tensor is None:
        return made
    made.type.tensor_type.elem_type = tensor["elem_type"]
    if tensor["shape"] is not None:
        made.type.tensor_type.shape.SetInParent()
        for dim in tensor["shape"]["dim"]:
            size, own = dim["value"], made.type.tensor_type.shape.dim.add()
            if size and size["kind"] == _SIZE:
                own.dim_value = size["size"]
            elif size and size["kind"] == _NAME:
                own.dim_param = size["name"]
    return made


# The field of an attribute that has the value of each type, in both formats, and what becomes of it.
_VALUES: Mapping[int, tuple[str, Callable[[Any], Any]]] = {
    AttributeProto.FLOAT: ("f", float),
    AttributeProto.INT: ("i", int),
    AttributeProto.STRING: ("s", str.encode),
    AttributeProto.TENSOR: ("t", _tensor),
    AttributeProto.GRAPH: ("g", _inner),
    AttributeProto.FLOATS: ("floats", float),
    AttributeProto.INTS: ("ints", int),
    AttributeProto.STRINGS: ("strings", str.encode),
    AttributeProto.TENSORS: ("tensors", _tensor),
    AttributeProto.GRAPHS: ("graphs", _inner),
}
