"""The graphs in attributes of nodes, the names that nodes read with these, and which nodes outputs need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from onnx import AttributeProto, GraphProto, NodeProto, ValueInfoProto

from edgekit.converters.named_outputs import check_outputs


def graphs_in(attribute: AttributeProto) -> Iterator[GraphProto]:
    """Branches, or the body of a loop; a field that is not set is no graph."""
    if attribute.HasField("g"):
        yield attribute.g
    yield from attribute.graphs


def names_read(node: NodeProto) -> Iterator[str]:
    """The operands of a node, and of all nodes in its graphs, whose outputs count as well."""
    yield from node.input
    for attribute in node.attribute:
        for graph in graphs_in(attribute):
            yield from (value.name for value in graph.output)
            yield from (name for inner in graph.node for name in names_read(inner))


def needed_nodes(nodes: Sequence[NodeProto], outputs: set[str]) -> list[NodeProto]:
    """Nodes that outputs or graphs within nodes may depend on."""
    uses = Counter(name for node in nodes for name in names_read(node)) + Counter(outputs)
    left = []
    for node in reversed(nodes):
        if any(uses[name] for name in node.output):
            left.append(node)
        else:
            uses.subtract(names_read(node))
    return left[::-1]


def end_at(graph: GraphProto, outputs: Sequence[str]) -> None:
    """Leave these outputs, and what they depend on."""
    check_outputs(outputs, [name for node in graph.node for name in node.output if name])
    read = {*outputs, *(name for node in needed_nodes(graph.node, {*outputs}) for name in names_read(node))}
    types = {value.name: value for value in (*graph.value_info, *graph.output)}
    ends = [types.get(name, ValueInfoProto(name=name)) for name in outputs]
    ends = [ValueInfoProto.FromString(value.SerializeToString()) for value in ends]
    del graph.output[:]
    graph.output.extend(ends)
    for part in (graph.input, graph.initializer):
        _leave(part, [value.name in read for value in part])
    _leave(graph.node, [not read.isdisjoint(node.output) for node in graph.node])


def _leave(part: Any, left: Sequence[bool]) -> None:
    """In place, as weights are large."""
    for i in reversed(range(len(part))):
        if not left[i]:
            del part[i]
