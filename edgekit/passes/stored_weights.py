"""Compressed weights stay compressed: what a file stores in 16 bits ships so, and is computed with as floats.

Readers widen what a file stores in fewer bytes, so that passes see plain numbers. Behind them, weights that
are still numbers of a narrow format take that format again: nothing is rounded. Formats that the file does
not use are not tried.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgekit.builder import MIN_NARROW
from edgekit.ir import Array, DType, Graph, Node, Value
from edgekit.ops._linear import Linear
from edgekit.ops.cast import Cast
from edgekit.ops.gather import Gather
from edgekit.passes import drop_dead

_HALVES = (DType.F16, DType.BF16)


def stored_weights(graph: Graph) -> Graph:
    """Weights of layers and tables in the formats of `graph.narrow`, where that changes no number."""
    made = _Shrink(graph).run() if graph.narrow else graph
    return replace(made, narrow=()) if graph.narrow else graph


def widened_weights(graph: Graph) -> Graph:
    """The graph with weights and tables in float32: what quantizing and pruning start from."""
    values = dict(graph.values)
    nodes: list[Node] = []

    def wide(name: str) -> str:
        made = f"{name}_f32"
        if made not in values:
            values[made] = _wide(graph.values[name])
        return made

    for node in graph.nodes:
        table = graph.producer(node.inputs[0]) if node.op == Cast(DType.F32) else None
        if isinstance(node.op, Linear) and _is_narrow(graph, node.inputs[1]):
            if graph.type(node.inputs[0]).dtype is DType.F32:
                x, w, *rest = node.inputs
                node = replace(node, inputs=(x, wide(w), *rest))
        elif table is not None and isinstance(table.op, Gather) and _is_narrow(graph, table.inputs[0]):
            node = replace(table, inputs=(wide(table.inputs[0]), table.inputs[1]), outputs=node.outputs)
        nodes.append(node)
    if tuple(nodes) == graph.nodes:
        return graph
    return drop_dead(replace(graph, nodes=tuple(nodes), values=values))


def narrow_weights(graph: Graph) -> dict[str, int]:
    """The bytes of weights and tables that floats are computed with in another format, by that."""
    found: dict[str, int] = {}
    names = set()
    for node in graph.nodes:
        if isinstance(node.op, Linear) and graph.type(node.inputs[0]).dtype is DType.F32:
            names.add(node.inputs[1])
        elif isinstance(node.op, Gather):
            names.add(node.inputs[0])
    for name in sorted(names):
        if _is_narrow(graph, name):
            type = graph.type(name)
            found[type.dtype.value] = found.get(type.dtype.value, 0) + type.bytes
    return found


class _Shrink:
    """Gives constants a narrow format, each once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values = dict(graph.values)
        self.nodes: list[Node] = []
        self.narrow: dict[str, str] = {}  # names of narrow constants; empty where there is none

    def run(self) -> Graph:
        for node in self.graph.nodes:
            if isinstance(node.op, Linear):
                self._layer(node)
            elif isinstance(node.op, Gather):
                self._table(node)
            else:
                self.nodes.append(node)
        return drop_dead(replace(self.graph, nodes=tuple(self.nodes), values=self.values))

    def _layer(self, node: Node) -> None:
        x, w, *rest = node.inputs
        name = self._half(w) if self.graph.type(x).dtype is DType.F32 else ""
        self.nodes.append(replace(node, inputs=(x, name or w, *rest)))

    def _table(self, node: Node) -> None:
        """Rows of a table become float32 when they were found."""
        table, index = node.inputs
        name = self._half(table)
        if not name:
            self.nodes.append(node)
            return
        (result,) = node.outputs
        row = self._fresh(f"{result}_{self.values[name].type.dtype.value}")
        self.values[row] = Value(replace(self.graph.type(result), dtype=self.values[name].type.dtype))
        self.nodes.append(Node(node.op, (name, index), (row,), node.origin))
        self.nodes.append(Node(Cast(DType.F32), (row,), (result,), node.origin))

    def _half(self, name: str) -> str:
        """The constant in 16 bits, if that is what it was."""
        data = self.graph.data(name)
        if data is None or data.dtype != np.float32 or data.size < MIN_NARROW:
            return ""
        if name not in self.narrow:
            formats = (dtype for dtype in _HALVES if dtype in self.graph.narrow)
            found = next((dtype for dtype in formats if _is_exact(data, dtype)), None)
            self.narrow[name] = "" if found is None else self._constant(name, data.astype(found.numpy))
        return self.narrow[name]

    def _constant(self, name: str, data: Array) -> str:
        dtype = DType.of(data.dtype)
        made = self._fresh(f"{name}_{dtype.value}")
        data.flags.writeable = False
        self.values[made] = Value(replace(self.graph.type(name), dtype=dtype), data)
        return made

    def _fresh(self, name: str) -> str:
        while name in self.values:
            name += "_"
        return name


def _is_exact(data: Array, dtype: DType) -> bool:
    """Are these numbers of that format?"""
    with np.errstate(over="ignore"):
        return bool((data.astype(dtype.numpy).astype(np.float32) == data).all())


def _is_narrow(graph: Graph, name: str) -> bool:
    return graph.data(name) is not None and graph.type(name).dtype in _HALVES


def _wide(value: Value) -> Value:
    assert value.data is not None, "weights of layers are constant"
    data = value.data.astype(np.float32)
    data.flags.writeable = False
    return Value(replace(value.type, dtype=DType.F32, quant=None), data)
