"""The graphs in attributes of nodes, and the names that nodes read with these."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import AttributeProto, GraphProto, NodeProto


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
