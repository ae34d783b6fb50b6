"""Common subexpressions: equal constants are stored once, equal nodes are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgekit.ir import Graph, Node, Type
from edgekit.ops import Op
from edgekit.passes import Edit, drop_dead, sweep


def common(graph: Graph) -> Graph:
    """The pass."""
    known: dict[tuple[Op, tuple[str, ...], tuple[Type, ...]], Node] = {}

    def reuse(edit: Edit, node: Node) -> Sequence[str] | None:
        key = (node.op, node.inputs, tuple(edit.type(name) for name in node.outputs))
        first = known.get(key)
        if first is not None and edit.producer(first.outputs[0]) is first:  # it may have died since
            return first.outputs
        known[key] = node
        return None

    return sweep(_equal_constants(graph), reuse)


def _equal_constants(graph: Graph) -> Graph:
    first: dict[tuple[object, ...], str] = {}
    same: dict[str, str] = {}
    for name, data in graph.constants():
        kept = first.setdefault((graph.type(name), data.tobytes()), name)
        if kept != name and name not in graph.outputs:
            same[name] = kept
    if not same:
        return graph
    nodes = tuple(replace(n, inputs=tuple(same.get(i, i) for i in n.inputs)) for n in graph.nodes)
    return drop_dead(replace(graph, nodes=nodes))
