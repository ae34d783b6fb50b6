"""Dense layers whose results only leave as floats give them in 16 bits, which costs next to nothing."""

from __future__ import annotations

from collections.abc import Collection

from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.core.passes.integer_labels import keeps_scale
from edgekit.quantize.calibration.scales import runs_in_int8, tied
from edgekit.quantize.mixed_precision.formats import could_be_wide
from edgekit.quantize.mixed_precision.mixed_range_concat import MixedRangeConcats

_MIN_WEIGHTS = 32_768  # bytes, beside which the code of one more kernel is 2%


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
