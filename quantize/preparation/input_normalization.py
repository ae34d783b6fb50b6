"""Channels of an input that differ much, as the columns of a table do: normalized in floats, before integers.

A layer w x + b reads (x - m) f instead, and has the weights w / f and the bias b + w m. One scale for all
channels would leave nothing of the narrow ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, Node
from edgekit.core.ops.arithmetic import Mul, Sub
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.types import Array, DType, Value, type_of
from edgekit.quantize.calibration.observe import Statistics
from edgekit.quantize.preparation.equalize import input_factors, is_layer, rescale

_UNEVEN = 8.0  # the common range over that of the narrowest channel, which then has 5 bits left of 8
_SMALL = 1024  # elements that may be floats in any case


@dataclass(frozen=True)
class _Reading:
    """A layer that is the only reader of an input, behind moves."""

    name: str  # of the input
    moved: frozenset[str]  # what it is called on the way
    layer: Node


def normalized_inputs(graph: Graph, statistics: Mapping[str, Statistics]) -> tuple[Graph, frozenset[str]]:
    """The same function, and what is to stay in floats of it. Inputs that would take more memory in floats
    than anything else takes in integers stay as they are."""
    largest = max(value.type.size for value in graph.values.values() if value.data is None)
    real: set[str] = set()
    for found in list(_readings(graph)):
        seen, size = statistics[found.layer.inputs[0]], graph.type(found.name).size
        if _has_mixed_ranges(seen) and (size <= _SMALL or 4 * size <= largest):
            graph, made = _with_level(graph, found, seen)
            real.update(made, found.moved)
    return graph, frozenset(real)


def _readings(graph: Graph) -> Iterator[_Reading]:
    for node in graph.nodes:
        if not is_layer(graph, node):
            continue
        name, moved = node.inputs[0], set()
        while graph.used_once(name) and (before := graph.producer(name)) and before.op.is_data_movement:
            moved.add(name)
            name = before.inputs[0]
        is_real = graph.type(node.outputs[0]).dtype is DType.F32
        if is_real and name in graph.inputs and graph.used_once(name):
            yield _Reading(name, frozenset(moved), node)


def _has_mixed_ranges(seen: Statistics) -> bool:
    assert seen.lows is not None
    assert seen.highs is not None
    widths = seen.highs - seen.lows
    common = max(seen.high, 0.0) - min(seen.low, 0.0)
    return len(widths) > 1 and bool((widths > 0).any()) and common >= _UNEVEN * widths[widths > 0].min()


def _with_level(graph: Graph, found: _Reading, seen: Statistics) -> tuple[Graph, list[str]]:
    assert seen.lows is not None
    assert seen.highs is not None
    node = found.layer
    x, w, b = node.inputs
    is_padded = isinstance(node.op, Conv2d) and any(node.op.pads)
    middle = np.zeros_like(seen.lows) if is_padded else (seen.lows + seen.highs) / 2
    reach = np.maximum(seen.highs - middle, middle - seen.lows)
    # Powers of two, so that products and weights are exact.
    factor = np.exp2(-np.rint(np.log2(np.where(reach > 0, reach, 1.0))))
    values = dict(graph.values)
    fresh = Builder(graph.values).fresh
    middle_name, centred, factor_name, level = (
        fresh(f"{x}_{what}") for what in ("middle", "centred", "factor", "level")
    )
    for name, data in ((middle_name, middle), (factor_name, factor)):
        values[name] = _constant(data)
    values[centred] = values[level] = Value(graph.type(x))
    weights, bias = values[w], values[b]
    assert weights.data is not None
    assert bias.data is not None
    shift = weights.data * input_factors(node, weights, middle)
    values[b] = _constant(bias.data + shift.reshape(len(bias.data), -1).sum(axis=1))
    rescale(values, w, 1 / input_factors(node, weights, factor))
    before = (
        Node(Sub(), (x, middle_name), (centred,), node.origin),
        Node(Mul(), (centred, factor_name), (level,), node.origin),
    )
    at = graph.nodes.index(node)
    reader = replace(node, inputs=(level, w, b))
    nodes = (*graph.nodes[:at], *before, reader, *graph.nodes[at + 1 :])
    return replace(graph, nodes=nodes, values=values), [centred, level]


def _constant(data: Array) -> Value:
    data = np.ascontiguousarray(data, np.float32)
    data.flags.writeable = False
    return Value(type_of(data), data)
