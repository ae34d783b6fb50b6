"""What the formats of a quantized model cost on a target that they were not chosen for."""

from __future__ import annotations

import shlex

from edgekit.core import format_costs
from edgekit.core.ir import Graph
from edgekit.core.ops._linear import Linear
from edgekit.core.target import Target

_SLOWER = 0.98  # than floats: what an estimate that is as fast may say


def formats_note(graph: Graph, target: Target) -> str:
    """That floats are faster there, or how the formats compare with them where they were chosen for other
    machines; empty where they are at home, and faster, or all int8."""
    source = graph.source
    if not source.machine or target.gpu:
        return ""
    costs = format_costs.of(target)
    speedup = costs.speedup(graph)
    is_settled = costs.machine == source.machine or not _is_mixed(graph)  # it would be the same again
    model = shlex.quote(source.file or "MODEL")
    again = f"edgekit quantize {model} --data DATA --target {target.name} chooses formats for it"
    if speedup < _SLOWER:
        times = f"{1 / speedup:.2f} times as long as the float model"
        return f"on {target.name} a run takes an estimated {times}: " + (
            f"edgekit build {model} --target {target.name} builds that" if is_settled else again
        )
    if is_settled:
        return ""
    chosen = "no machine in particular" if source.machine == format_costs.NEUTRAL else source.machine
    ratio = f"an estimated {speedup:.2f} times as fast as floats"
    return f"formats of layers were chosen for {chosen}; on {target.name} they are {ratio}: {again}"


def _is_mixed(graph: Graph) -> bool:
    """Do layers with weights compute in other formats than int8?"""
    layers = (node for node in graph.nodes if isinstance(node.op, Linear))
    return any(not format_costs.format_of(graph, node).startswith("s8") for node in layers)
