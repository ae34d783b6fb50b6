"""Activations in 16-bit floats become float32, which quantizing starts from; ports keep their type.

Results are not rounded to 16 bits any more: the graph is nearer to the network that was trained.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.reduce import Reduce
from edgekit.core.types import DType

_NARROW = (DType.F16, DType.BF16)


def widened_floats(graph: Graph) -> Graph:
    """The pass."""
    narrow = [node for node in graph.nodes if any(_is_narrow(graph, name) for name in node.outputs)]
    return graph if all(_is_port(graph, node) for node in narrow) else _Widening(graph).run()


def _is_port(graph: Graph, node: Node) -> bool:
    """Does it only narrow what leaves the graph?"""
    from_float32 = isinstance(node.op, Cast) and graph.type(node.inputs[0]).dtype is DType.F32
    return from_float32 and node.outputs[0] in graph.exits and not graph.users(node.outputs[0])


def _wide_op(op: Op) -> Op:
    """What gives float32 in the place of narrow results."""
    if isinstance(op, Cast) and op.to in _NARROW:
        return Cast(DType.F32)
    return replace(op, narrow=False) if isinstance(op, Reduce) else op


def _is_narrow(graph: Graph, name: str) -> bool:
    return graph.type(name).dtype in _NARROW


class _Widening:
    """Makes the graph anew, node by node. Ports and the contents of states exist in both widths."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.kept = frozenset((*graph.entries, *graph.exits))
        self.builder = Builder({name: graph.values[name] for name in graph.entries})
        self.names: dict[str, str] = {}

    def run(self) -> Graph:
        graph, builder = self.graph, self.builder
        for node in graph.nodes:
            builder.origin = node.origin
            operands = [self._wide(name) for name in node.inputs]
            is_cast = isinstance(node.op, Cast) and node.op.to in (*_NARROW, DType.F32)
            if is_cast and builder.type(operands[0]).dtype is DType.F32:
                self.names[node.outputs[0]] = operands[0]
                continue
            hints = [f"{n}_f32" if n in self.kept and _is_narrow(graph, n) else n for n in node.outputs]
            quants = [graph.type(name).quant for name in node.outputs]
            made = builder.add(_wide_op(node.op), *operands, names=hints, quant=quants)
            self.names |= zip(node.outputs, made, strict=True)
        builder.origin = ""
        for name in dict.fromkeys(graph.exits):
            if name in self.names and self.names[name] != name:
                builder.add(Cast(graph.type(name).dtype), self.names[name], names=(name,))
        return replace(graph, nodes=tuple(builder.nodes), values=builder.values)

    def _wide(self, name: str) -> str:
        """The value by its new name, in float32 where it was narrow."""
        if name in self.names:
            return self.names[name]
        value = self.graph.values[name]
        if value.data is not None and _is_narrow(self.graph, name):
            self.names[name] = self.builder.const(value.data.astype(np.float32), hint=name)
        elif value.data is not None:
            self.builder.values[name] = value
            self.names[name] = name
        else:
            is_narrow = _is_narrow(self.graph, name)
            self.names[name] = self.builder.one(Cast(DType.F32), name) if is_narrow else name
        return self.names[name]
