"""Small layers between layers of floats stay floats: conversions cost more than they save, and round."""

from __future__ import annotations

from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.passes.integer_labels import keeps_scale
from edgekit.quantize.calibration.scales import given, runs_in_int8


def float_islands(
    graph: Graph, real: frozenset[str] = frozenset(), *, has_float_ports: bool
) -> frozenset[str]:
    """The layers with an integer form that stay floats, by their results: those of `real`, and those whose
    computed operands come from layers of floats, and whose results go to such layers or, where ports are
    floats, leave the graph. A reshape costs nothing in either form: conversions go behind it."""
    found = {node.outputs[0]: node for node in graph.nodes if node.outputs[0] in real}
    settled = given(graph)  # raw bytes are integers, though a cast gives them
    ends = frozenset(graph.exits) - (frozenset(graph.outputs) if has_float_ports else frozenset())
    for node in graph.nodes:
        computed = [name for name in node.inputs if graph.data(name) is None]
        is_apart = bool(computed) and settled.keys().isdisjoint(computed)
        if is_apart and _is_cheap(node.op) and all(_is_float(graph, n, found) for n in computed):
            found[node.outputs[0]] = node
    while True:
        kept = {n: node for n, node in found.items() if n in real or _stays(graph, node, found, ends)}
        if len(kept) == len(found):
            return frozenset(name for name, node in kept.items() if runs_in_int8(graph, node))
        found = kept


def _is_cheap(op: Op) -> bool:
    """Are floats as fast as integers here? Functions such as tanh are a table for integers."""
    return keeps_scale(op) or isinstance(op, Add | Sub | Mul | Reduce | Pool2d)


def _is_float(graph: Graph, name: str, found: dict[str, Node]) -> bool:
    """Does a layer give it that has no integer form, or stays in floats?"""
    node = graph.producer(name)
    return node is not None and (node.outputs[0] in found or not runs_in_int8(graph, node))


def _stays(graph: Graph, node: Node, found: dict[str, Node], ends: frozenset[str]) -> bool:
    computed = [name for name in node.inputs if graph.data(name) is None]
    if not all(_is_float(graph, name, found) for name in computed):
        return False
    users = {user.outputs[0]: user for name in node.outputs for user in graph.users(name)}
    goes_on = all(name in found or not runs_in_int8(graph, user) for name, user in users.items())
    return isinstance(node.op, Reshape) or (goes_on and ends.isdisjoint(node.outputs))
