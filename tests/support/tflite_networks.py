"""Writes TFLite models of several operators and graphs, as tables of the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
from support.tools import require_module

from edgekit.core.types import Array


@dataclass(frozen=True)
class Step:
    """An operator between tensors, which are given by their names."""

    kind: str
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    options: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Subgraph:
    """Steps; `shapes` of float tensors by name, of resources None; those with `data` are constants."""

    steps: Sequence[Step]
    shapes: Mapping[str, tuple[int, ...] | None]
    data: Mapping[str, Array] = field(default_factory=dict)
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()


def network(*graphs: Subgraph) -> bytes:
    """The file of a model."""
    s = require_module("ai_edge_litert.schema_py_generated")
    made = s.ModelT()
    made.version = 3
    made.buffers = [s.BufferT()]
    made.operatorCodes = []
    made.subgraphs = []
    kinds = sorted({step.kind for graph in graphs for step in graph.steps})
    for kind in kinds:
        code = s.OperatorCodeT()
        code.builtinCode = getattr(s.BuiltinOperator, kind)
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.version = 1
        made.operatorCodes.append(code)
    for graph in graphs:
        names = list(graph.shapes)
        g = s.SubGraphT()
        g.tensors = [_tensor(s, made, name, graph) for name in names]
        g.inputs, g.outputs = (_indices(names, ends) for ends in (graph.inputs, graph.outputs))
        g.operators = []
        for step in graph.steps:
            op = s.OperatorT()
            op.opcodeIndex = kinds.index(step.kind)
            op.inputs, op.outputs = (_indices(names, ends) for ends in (step.inputs, step.outputs))
            if step.options:
                op.builtinOptionsType = getattr(s.BuiltinOptions, step.options)
                op.builtinOptions = getattr(s, f"{step.options}T")()
                for key, value in step.values.items():
                    assert hasattr(op.builtinOptions, key), key
                    setattr(op.builtinOptions, key, value)
            g.operators.append(op)
        made.subgraphs.append(g)
    builder = flatbuffers.Builder(1024)
    builder.Finish(made.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _tensor(s: Any, made: Any, name: str, graph: Subgraph) -> Any:
    t = s.TensorT()
    t.name = name.encode()
    shape = graph.shapes[name]
    t.shape = np.array(shape or (), np.int32)
    t.type = s.TensorType.RESOURCE if shape is None else s.TensorType.FLOAT32
    t.buffer = 0
    if name in graph.data:
        buffer = s.BufferT()
        buffer.data = np.frombuffer(np.ascontiguousarray(graph.data[name]).tobytes(), np.uint8)
        made.buffers.append(buffer)
        t.buffer = len(made.buffers) - 1
    return t


def _indices(names: Sequence[str], wanted: Sequence[str]) -> Array:
    return np.array([names.index(name) for name in wanted], np.int32)
