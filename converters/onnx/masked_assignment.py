"""x[mask] = number, as PyTorch's exporter writes it: positions of the mask, and as many copies of the number.

How many there are is known at run time only. The same without a count is a choice for each element, which the
operator MaskedFill of this package's own domain stands for; nodes that only that count was for are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from onnx import GraphProto, NodeProto, helper

from edgekit.converters.onnx.nodes import needed_nodes

DOMAIN = "edgekit"
_COPIES = ("Expand", "Reshape", "Identity", "Unsqueeze", "Squeeze", "Cast")


def chosen_by_masks(graph: GraphProto) -> Sequence[NodeProto]:
    """The nodes of a graph, with such an assignment as one node."""
    made = {name: node for node in graph.node for name in node.output}
    single = _single(graph)
    fills = {
        i: found for i, node in enumerate(graph.node) if (found := _fill(node, made, single)) is not None
    }
    if not fills:
        return [*graph.node]
    nodes = [fills.get(i, node) for i, node in enumerate(graph.node)]
    return needed_nodes(nodes, {value.name for value in graph.output})


def _single(graph: GraphProto) -> dict[str, bool]:
    """Which constants have one element."""
    found = {tensor.name: prod(tensor.dims) == 1 for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            values = [a for a in node.attribute if a.name in ("value", "value_float", "value_int")]
            found[node.output[0]] = all(a.name != "value" or prod(a.t.dims) == 1 for a in values) and bool(
                values
            )
    return found


def _fill(node: NodeProto, made: dict[str, NodeProto], single: dict[str, bool]) -> NodeProto | None:
    """The choice in place of a ScatterND at the positions of a mask."""
    if node.op_type != "ScatterND" or node.domain or node.attribute:
        return None
    turned = made.get(node.input[1])
    places = made.get(turned.input[0]) if turned is not None and turned.op_type == "Transpose" else None
    if turned is None or places is None or places.op_type != "NonZero":
        return None
    if any(list(a.ints) != [1, 0] for a in turned.attribute if a.name == "perm"):
        return None
    name = node.input[2]
    while name not in single and name in made and made[name].op_type in _COPIES:
        name = made[name].input[0]
    if not single.get(name):
        return None
    inputs = [node.input[0], places.input[0], name]
    return helper.make_node("MaskedFill", inputs, node.output, node.name, domain=DOMAIN)
