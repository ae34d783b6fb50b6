"""Cross-layer equalization: channels between two layers are rescaled, so that all fill the common range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.types import Array, Value

_MAX_CHANNEL_FACTOR = 2.0**6  # of the factor for one channel, and of its inverse


@dataclass(frozen=True)
class EqualizedPair:
    """Two layers, the second the only reader of the first."""

    first: Node
    second: Node


def pairs(graph: Graph) -> list[EqualizedPair]:
    """Layers that channels can be rescaled between: the first clamps at 0, if at all."""
    found = []
    for node in graph.nodes:
        if not is_layer(graph, node) or not graph.used_once(node.outputs[0]):
            continue
        (reader,) = graph.users(node.outputs[0])
        assert isinstance(node.op, Linear)
        scales_through = node.op.lo in (0.0, -np.inf) and node.op.hi == np.inf
        if scales_through and is_layer(graph, reader) and reader.inputs[0] == node.outputs[0]:
            found.append(EqualizedPair(node, reader))
    return found


def is_layer(graph: Graph, node: Node) -> bool:
    """May the weights of this node become others?"""
    return (
        isinstance(node.op, Conv2d | Dense)
        and node.op.has_integers([graph.values[name] for name in node.inputs])
        and graph.type(node.inputs[0]).dtype.is_float
        and all(len(graph.users(name)) == 1 for name in node.inputs[1:])
    )


def equalize(graph: Graph, reach: Mapping[str, Array], shares: tuple[float, float]) -> Graph:
    """The same function with other weights. `reach` is the largest magnitude of each channel of each tensor.
    `shares`: 1 makes all channels reach as far, 0 leaves them; where the second layer is depthwise, and the
    weights of each channel have a scale of their own, and where it is not."""
    values = dict(graph.values)
    for pair in pairs(graph):
        channels = reach[pair.first.outputs[0]].astype(np.float64)
        assert isinstance(pair.second.op, Linear)
        share = shares[not pair.second.op.is_depthwise(values[pair.second.inputs[1]].type)]
        if not channels.max() or not share:
            continue
        factor = np.where(channels > 0, channels.max() / np.maximum(channels, 1e-30), 1.0) ** share
        # Powers of two would be exact; these are rounded once, in float32.
        factor = np.clip(factor, 1 / _MAX_CHANNEL_FACTOR, _MAX_CHANNEL_FACTOR)
        (_, w, b), (_, reader, _) = pair.first.inputs, pair.second.inputs
        rescale(values, w, factor.reshape(-1, *[1] * (values[w].type.rank - 1)))
        rescale(values, b, factor)
        rescale(values, reader, 1 / input_factors(pair.second, values[reader], factor))
    return replace(graph, values=values)


def input_factors(node: Node, weights: Value, factor: Array) -> Array:
    """A factor for each input channel, as the weights [O, ..., I / groups] of a layer take it."""
    if isinstance(node.op, Dense):
        return factor
    assert isinstance(node.op, Conv2d)
    outputs, _, _, depth = weights.type.shape
    group = np.arange(outputs) // (outputs // node.op.groups)
    result: Array = factor[group[:, None] * depth + np.arange(depth)][:, None, None, :]
    return result


def rescale(values: dict[str, Value], name: str, factor: Array) -> None:
    """Multiply a constant in place."""
    value = values[name]
    assert value.data is not None
    data = np.ascontiguousarray(value.data * factor, np.float32)
    data.flags.writeable = False
    values[name] = Value(value.type, data)
