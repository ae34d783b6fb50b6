"""Dense layers whose results only leave as floats give them in 16 bits, which costs next to nothing.

So do those behind which a function such as tanh leaves: it is computed in floats then, of what int8 would
round away twice.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from edgekit.core.ir import Graph, Node
from edgekit.core.ops._map import Unary
from edgekit.core.ops.dense import Dense
from edgekit.core.passes.integer_labels import keeps_scale
from edgekit.quantize.calibration.scales import runs_in_int8, tied
from edgekit.quantize.mixed_precision.formats import could_be_wide
from edgekit.quantize.mixed_precision.mixed_range_concat import MixedRangeConcats

_MIN_WEIGHTS = 32_768  # bytes, beside which the code of one more kernel is 2%
_FUNCTION_MACS = 100  # multiplications that take as long as a function of floats


def int16_outputs(graph: Graph, concats: MixedRangeConcats, given_weights: Collection[str]) -> frozenset[str]:
    """The results of dense layers, and what is moved of them, that no other layer reads. Where other dense
    layers give int8, there is a kernel more: small networks have no flash for that."""
    group = tied(graph, concats.mixed_range)
    members: dict[str, set[str]] = {}
    for name in could_be_wide(graph, graph.values):
        members.setdefault(group[name], set()).add(name)
    dense = [node for node in graph.nodes if isinstance(node.op, Dense) and runs_in_int8(graph, node)]
    found = set[str]()
    for node in dense:
        own = members.get(group[node.outputs[0]], set())
        if _only_leaves(graph, own, concats) and own.isdisjoint(given_weights):
            found |= own
    weights = sum(graph.type(node.inputs[1]).size for node in dense)
    has_others = any(node.outputs[0] not in found for node in dense)
    return frozenset() if has_others and weights < _MIN_WEIGHTS else frozenset(found)


def float_functions(
    graph: Graph, concats: MixedRangeConcats, given_weights: Collection[str]
) -> frozenset[str]:
    """The functions behind such dense layers, and what moves their results, if that is a small share of the
    time and of the flash."""
    functions = _last_functions(graph)
    weights = sum(graph.type(node.inputs[1]).size for node in graph.nodes if isinstance(node.op, Dense))
    if not functions or weights < _MIN_WEIGHTS:
        return frozenset()
    outputs = int16_outputs(graph, replace(concats, real=concats.real | functions), given_weights)
    found, queue = set[str](), list(outputs)
    while queue:
        made = {y for user in graph.users(queue.pop()) for y in user.outputs} & functions
        queue += made - found
        found |= made
    return frozenset(found - outputs)


def _last_functions(graph: Graph) -> frozenset[str]:
    """Rising or falling functions of one tensor whose results only leave, and what moves these results."""
    macs = sum(node.op.macs(*map(graph.type, node.inputs)) for node in graph.nodes)
    ends = frozenset(graph.outputs) - {state.output for state in graph.states}
    found: set[str] = set()
    for node in reversed(graph.nodes):
        name, users = node.outputs[0], graph.users(node.outputs[0])
        is_function = isinstance(node.op, Unary) and node.op.corners
        is_cheap = is_function and _FUNCTION_MACS * graph.type(name).size <= macs
        leaves = all(_moves(user) and user.outputs[0] in found for user in users)
        if (is_cheap or _moves(node)) and leaves and (users or name in ends):
            found.add(name)
    return frozenset(found)


def _moves(node: Node) -> bool:
    return keeps_scale(node.op) and len(node.inputs) == 1


def _only_leaves(graph: Graph, own: set[str], concats: MixedRangeConcats) -> bool:
    """Do only outputs in floats come of these tensors, which dense layers give, and nothing else?"""
    kept = {*graph.inputs, *graph.exits} - {*graph.outputs}
    makers = [node.op for name in own if (node := graph.producer(name))]
    users = {user.outputs[0] for name in own for user in graph.users(name)}
    return (
        own.isdisjoint(kept)
        and users <= own | concats.real
        and all(isinstance(op, Dense) or keeps_scale(op) for op in makers)
    )
