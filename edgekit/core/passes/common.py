"""Common subexpressions: equal constants are stored once, equal nodes are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from zlib import crc32

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Add, Max, Min, Mul
from edgekit.core.passes import Edit, drop_dead, sweep
from edgekit.core.types import Array, Type


def common(graph: Graph) -> Graph:
    """The pass."""
    known: dict[tuple[Op, tuple[str, ...], tuple[Type, ...]], Node] = {}

    def reuse(edit: Edit, node: Node) -> Sequence[str] | None:
        either_way = isinstance(node.op, Add | Mul | Max | Min)
        inputs = tuple(sorted(node.inputs)) if either_way else node.inputs
        key = (node.op, inputs, tuple(edit.type(name) for name in node.outputs))
        first = known.get(key)
        if first is not None and edit.producer(first.outputs[0]) is first:  # it may have died since
            return first.outputs
        known[key] = node
        return None

    return sweep(_equal_constants(graph), reuse)


def _equal_constants(graph: Graph) -> Graph:
    alike: dict[tuple[Type, int], list[str]] = {}
    same: dict[str, str] = {}
    exits = frozenset(graph.exits)
    for name, data in graph.constants():
        others = alike.setdefault((graph.type(name), _checksum(data)), [])
        equal = next((other for other in others if graph.values[other] == graph.values[name]), None)
        if equal is None:
            others.append(name)
        elif name not in exits:
            same[name] = equal
    if not same:
        return graph
    nodes = tuple(replace(n, inputs=tuple(same.get(i, i) for i in n.inputs)) for n in graph.nodes)
    return drop_dead(replace(graph, nodes=nodes))


def _checksum(data: Array) -> int:
    return crc32(np.ascontiguousarray(data).reshape(-1).view(np.uint8).data)
