"""Cross-layer equalization: channels between layers are rescaled, so that all fill the common range.

Between a norm and the layers that read it this is SmoothQuant: weights take a part of the outlier channels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import Array, Value

_MAX_CHANNEL_FACTOR = 2.0**6  # of the factor for one channel, and of its inverse
_SMOOTHING = 0.5  # of outliers behind norms: the share that weights take


@dataclass(frozen=True)
class EqualizedPair:
    """A layer and the one that reads it, or a norm and all layers that read it."""

    first: Node
    readers: Sequence[Node]
    # What leads from the norm to these layers, where others read it, too: it is computed twice then.
    apart: Sequence[str] = ()


def pairs(graph: Graph) -> list[EqualizedPair]:
    """Layers and norms after which channels can be rescaled: layers clamp at 0, if at all."""
    found = []
    for node in graph.nodes:
        if isinstance(node.op, LayerNorm | RmsNorm):
            if all(graph.data(name) is not None for name in node.inputs[1:]):
                found += _behind_norm(graph, node)
            continue
        if not is_layer(graph, node) or not graph.used_once(node.outputs[0]):
            continue
        (reader,) = graph.users(node.outputs[0])
        assert isinstance(node.op, Linear)
        scales_through = node.op.lo in (0.0, -np.inf) and node.op.hi == np.inf
        if scales_through and is_layer(graph, reader) and reader.inputs[0] == node.outputs[0]:
            found.append(EqualizedPair(node, [reader]))
    return found


def _behind_norm(graph: Graph, norm: Node) -> list[EqualizedPair]:
    """The norm and the layers that read its rows, if there are any; what else reads it, as residuals behind
    post-norm layers do, keeps a norm of its own."""
    (name,) = norm.outputs
    readers = {user.outputs[0]: _readers(graph, name, user) for user in graph.users(name)}
    layers = [layer for found in readers.values() for layer in found]
    if not layers:
        return []
    is_shared = name in graph.exits or not all(readers.values())
    apart = [user for user, found in readers.items() if found] if is_shared else []
    return [EqualizedPair(norm, layers, apart)]


def _readers(graph: Graph, name: str, user: Node) -> list[Node]:
    """The layers that read the rows of a tensor as this node does, or moves them, if nothing else does."""
    if is_layer(graph, user) and isinstance(user.op, Dense) and user.inputs[0] == name:
        return [user]
    (out, *_), last = user.outputs, graph.type(name).shape[-1:]
    if not isinstance(user.op, Reshape) or graph.type(out).shape[-1:] != last or out in graph.exits:
        return []
    behind = [_readers(graph, out, reader) for reader in graph.users(out)]
    return [layer for found in behind for layer in found] if all(behind) else []


def is_layer(graph: Graph, node: Node) -> bool:
    """May the weights of this node become others?"""
    return (
        isinstance(node.op, Conv2d | Dense)
        and node.op.has_integers([graph.values[name] for name in node.inputs])
        and graph.type(node.inputs[0]).dtype.is_float
        and all(len(graph.users(name)) == 1 for name in node.inputs[1:])
    )


def equalize(
    graph: Graph, reach: Mapping[str, Array], shares: tuple[float, float], *, norms_twice: bool = False
) -> Graph:
    """The same function with other weights. `reach` is the largest magnitude of each channel of each tensor.
    `shares`: 1 makes all channels reach as far, 0 leaves them; where the second layer is depthwise, and the
    weights of each channel have a scale of their own, and where it is not. `norms_twice` smooths norms that
    a residual reads, too."""
    values, nodes = dict(graph.values), {node.outputs[0]: node for node in graph.nodes}
    twins: dict[str, Node] = {}  # norms that are computed once more, by the first one's result
    for pair in (pair for pair in pairs(graph) if norms_twice or not pair.apart):
        channels = reach[pair.first.outputs[0]].astype(np.float64)
        if not channels.max():
            continue
        if isinstance(pair.first.op, LayerNorm | RmsNorm):
            factor = _smoothing(pair, values, channels)
            norm = _scaled_norm(pair.first, values, factor)
            if pair.apart:
                (name,) = norm.outputs
                twin = Builder(values).fresh(f"{name}_smoothed")
                values[twin] = values[name]
                twins[name] = replace(norm, outputs=(twin,))
                for user in pair.apart:
                    inputs = (twin if n == name else n for n in nodes[user].inputs)
                    nodes[user] = replace(nodes[user], inputs=tuple(inputs))
            else:
                nodes[pair.first.outputs[0]] = norm
        else:
            (reader,) = pair.readers
            assert isinstance(reader.op, Linear)
            share = shares[not reader.op.is_depthwise(values[reader.inputs[1]].type)]
            factor = np.where(channels > 0, channels.max() / np.maximum(channels, 1e-30), 1.0) ** share
            # Powers of two would be exact; these are rounded once, in float32.
            factor = np.clip(factor, 1 / _MAX_CHANNEL_FACTOR, _MAX_CHANNEL_FACTOR)
            _, w, b = pair.first.inputs
            rescale(values, w, factor.reshape(-1, *[1] * (values[w].type.rank - 1)))
            rescale(values, b, factor)
        for reader in pair.readers:
            weights = reader.inputs[1]
            rescale(values, weights, 1 / input_factors(reader, values[weights], factor))
    made = [[node, twins[name]] if name in twins else [node] for name, node in nodes.items()]
    return replace(graph, nodes=tuple(node for some in made for node in some), values=values)


def _smoothing(pair: EqualizedPair, values: Mapping[str, Value], channels: Array) -> Array:
    """The factor of each channel behind a norm, by what it reaches and the largest weight that reads it."""
    largest = np.zeros_like(channels)
    for reader in pair.readers:
        weights = values[reader.inputs[1]].data
        assert weights is not None
        largest = np.maximum(largest, np.abs(weights).max(axis=tuple(range(weights.ndim - 1))))
    is_used = (channels > 0) & (largest > 0)
    if not is_used.any():
        return np.ones_like(channels)
    weight, reach = (np.where(is_used, values, 1.0) for values in (largest, channels))
    factor = np.where(is_used, weight ** (1 - _SMOOTHING) / reach**_SMOOTHING, 0.0)
    factor *= channels.max() / (channels * factor).max()
    return np.clip(factor, 1 / _MAX_CHANNEL_FACTOR, _MAX_CHANNEL_FACTOR)


def _scaled_norm(node: Node, values: dict[str, Value], factor: Array) -> Node:
    """The norm with constants of its own: equal ones of several norms are one in the graph."""
    names = [node.inputs[0]]
    for name in node.inputs[1:]:
        names.append(Builder(values).fresh(f"{name}_smoothed"))
        values[names[-1]] = values[name]
        rescale(values, names[-1], factor)
    return replace(node, inputs=tuple(names))


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
