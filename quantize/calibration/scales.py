"""Which tensors share a scale, and the scale that a range becomes."""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np

from edgekit.core.fixed import activation_quant
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops._map import Map, Unary
from edgekit.core.ops.arithmetic import Clip, Max, Min
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.logic import Where
from edgekit.core.ops.recurrent import Recurrent
from edgekit.core.ops.resample import Resample
from edgekit.core.ops.softmax import Softmax
from edgekit.core.passes.integer_labels import keeps_scale
from edgekit.core.types import DType, Quant
from edgekit.quantize.calibration.observe import Range
from edgekit.quantize.integers.integer_io import raw_bytes
from edgekit.quantize.integers.recurrent import states
from edgekit.quantize.preparation.attention_masks import without_masked

SOFTMAX = Quant((1 / 256,), (-128,))


def runs_in_int8(graph: Graph, node: Node) -> bool:
    """Is there an integer form of this node?"""
    if any(graph.type(name).dtype is not DType.F32 for name in node.outputs):
        return False
    if len(node.outputs) != 1 and not isinstance(node.op, Recurrent):
        return False
    return node.op.has_integers([graph.values[name] for name in node.inputs]) and all(
        graph.type(name).dtype is DType.F32 for name in quantized_operands(graph, node)
    )


def quantized_operands(graph: Graph, node: Node) -> list[str]:
    """The operands of a node that scales are needed for: what is computed, without indices."""
    computed = [name for name in node.inputs if graph.data(name) is None]
    return [name for name in computed if not keeps_scale(node.op) or graph.type(name).dtype.is_float]


def reads_numbers(op: Op) -> bool:
    """Are all operands but the first reals, which stay so beside quantized tensors?"""
    return isinstance(op, LayerNorm | RmsNorm | Resample) or (
        isinstance(op, Map) and op.tabled and not isinstance(op, Max | Min | Where)
    )


def given(graph: Graph) -> dict[str, Quant]:
    """Scales that are not chosen: those of a softmax, and of bytes that come in as they are."""
    softmax = {node.outputs[0]: SOFTMAX for node in graph.nodes if isinstance(node.op, Softmax)}
    return softmax | raw_bytes(graph)


def tied(graph: Graph, mixed_range: Set[str] = frozenset()) -> dict[str, str]:
    """Each name's representative among those that must share a scale, because what computes one of another
    only moves elements. Where a scale is given, and the tensor joined with others, it is converted; so are
    the operands of `mixed_range` joins."""
    parent: dict[str, str] = {}
    settled = set(given(graph))  # and what is moved of them

    def root(name: str) -> str:
        while parent.get(name, name) != name:
            name = parent[name]
        return name

    for node in graph.nodes:
        if isinstance(node.op, Recurrent) and runs_in_int8(graph, node):
            for _, names in states(node):
                for name in names:
                    if name not in settled and graph.data(name) is None:
                        parent[root(name)] = root(names[-1])
        if keeps_scale(node.op) and node.outputs[0] not in mixed_range and runs_in_int8(graph, node):
            operands = quantized_operands(graph, node)
            if len(operands) == 1:
                settled.update(node.outputs if operands[0] in settled else ())
            else:
                operands = [name for name in operands if name not in settled]
            for name in (*operands, *node.outputs):
                parent[root(name)] = root(node.outputs[0])
    return {name: root(name) for name in graph.values}


def clipped(graph: Graph, group: Mapping[str, str]) -> dict[str, str]:
    """What only a clip of the same scale reads, and its result: values that it cuts off need no room."""
    clips = ((node.inputs[0], node.outputs[0]) for node in graph.nodes if isinstance(node.op, Clip))
    return {x: y for x, y in clips if graph.used_once(x) and group[x] == group[y]}


def last_values(graph: Graph) -> frozenset[str]:
    """The outputs, and what they are a function of, element by element."""
    found, queue = set[str](), list(graph.outputs)
    while queue:
        name = queue.pop()
        node = graph.producer(name)
        if name in found or graph.data(name) is not None:
            continue
        found.add(name)
        if node is not None and (keeps_scale(node.op) or isinstance(node.op, Unary | Softmax)):
            queue += node.inputs
    return frozenset(found)


def looked_up(graph: Graph) -> dict[str, Range]:
    """The ranges of what is taken from tables: all of a table, since samples name few of its rows."""
    tables = {
        node.outputs[0]: graph.values[node.inputs[0]] for node in graph.nodes if isinstance(node.op, Gather)
    }
    return {
        name: table.span
        for name, table in tables.items()
        if table.data is not None and table.data.size and table.data.dtype.kind == "f"
        if np.isfinite(table.span).all()
    }


def scales(
    graph: Graph, ranges: Mapping[str, Range], mixed_range: Set[str] = frozenset()
) -> dict[str, Quant]:
    """The scale of each tensor: ranges are by name, those of tied tensors are joined."""
    group = tied(graph, mixed_range)
    joined: dict[str, Range] = {}
    results = clipped(graph, group)
    for name, (low, high) in (without_masked(graph, ranges) | looked_up(graph)).items():
        if results.get(name) in ranges:
            continue
        before = joined.get(group[name], (0.0, 0.0))
        joined[group[name]] = (min(low, before[0]), max(high, before[1]))
    settled = {group[name]: quant for name, quant in given(graph).items()}
    return {name: settled.get(group[name]) or activation_quant(*joined[group[name]]) for name in ranges}
