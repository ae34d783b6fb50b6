"""What units cost: multiplications, weights or instructions, for any number of units left in each group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array
from edgekit.quantize.pruning.groups import Group, Network

Unit = Literal["macs", "weights"]
# What each layer of a graph takes, by its origin.
Costs = Callable[[Graph], Mapping[str, float]]
_VARIANTS = 12  # graphs that are measured: what inputs and outputs cost, together and apart, shows in any few


@dataclass(frozen=True)
class PruningCost:
    """A sum over layers: of each a constant, and parts in proportion to the shares of its inputs, of its
    outputs, and of both that are left."""

    parts: Array  # [layers, 4]
    inputs: Array  # [layers, groups]: the share of a layer's inputs that a group is
    outputs: Array

    @staticmethod
    def of(network: Network, unit: Unit) -> PruningCost:
        graph, nodes, full = network.graph, [], []
        for name, layer in network.layers.items():
            node = graph.producer(name)
            assert node is not None
            nodes.append(node)
            types = [graph.type(n) for n in node.inputs]
            full.append(node.op.macs(*types) if unit == "macs" else layer.w.size)
        inputs, outputs = _shares(network, nodes)
        # A depthwise layer has one input for each output: it shrinks once.
        inputs[[layer.is_depthwise for layer in network.layers.values()]] = 0
        return PruningCost(np.outer(full, [0.0, 0.0, 0.0, 1.0]), inputs, outputs)

    @staticmethod
    def measured(network: Network, costs: Costs, multiple: int) -> PruningCost:
        """From what a few variants of the network take, with numbers of channels that are multiples."""
        network = _told_apart(network)
        nodes = network.graph.nodes
        inputs, outputs = _shares(network, nodes)
        shares, taken = [], []
        for gone in _variants(network.groups, multiple):
            units = zip(network.groups, gone, strict=True)
            masks = {group.name: np.arange(group.size) < n for group, n in units}
            found = costs(simplify(network.pruned(masks)))
            shares.append([n / group.size for group, n in zip(network.groups, gone, strict=True)])
            taken.append([found.get(node.origin, 0.0) for node in nodes])
        features = np.stack([_features(inputs, outputs, np.array(each)) for each in shares])
        columns = np.array(taken, np.float64).T
        parts = [np.linalg.lstsq(features[:, i], y, rcond=1e-9)[0] for i, y in enumerate(columns)]
        return PruningCost(np.array(parts), inputs, outputs)

    def __call__(self, gone: Array) -> float:
        """With these shares of each group gone."""
        return float((self.parts * _features(self.inputs, self.outputs, gone)).sum())


def _features(inputs: Array, outputs: Array, gone: Array) -> Array:
    """What costs are in proportion to [layers, 4]."""
    left_in, left_out = 1 - inputs @ gone, 1 - outputs @ gone
    return np.stack([np.ones_like(left_in), left_in, left_out, left_in * left_out], axis=1)


def _told_apart(network: Network) -> Network:
    """The same, each node with an origin of its own."""
    graph = network.graph
    nodes = tuple(replace(node, origin=node.outputs[0]) for node in graph.nodes)
    opened = replace(network.opened, graph=replace(graph, nodes=nodes))
    return replace(network, opened=opened)


def _shares(network: Network, nodes: Sequence[Node]) -> tuple[Array, Array]:
    """Of the inputs and of the outputs of each node, the shares that groups are."""
    shape = len(nodes), len(network.groups)
    names = [(node.inputs[0] if node.inputs else node.outputs[0], node.outputs[0]) for node in nodes]
    found = [[[_share(network.graph, group, name) for group in network.groups] for name in p] for p in names]
    inputs, outputs = np.array(found, np.float64).reshape(shape[0], 2, shape[1]).transpose(1, 0, 2).copy()
    return inputs, outputs


def _share(graph: Graph, group: Group, name: str) -> float:
    cells = group.cells.get(name)
    return 0.0 if cells is None else cells.size / graph.type(name).shape[-1]


def _variants(groups: Sequence[Group], multiple: int) -> Sequence[Sequence[int]]:
    """How many units are gone of each group: none, about half of all, and by chance."""
    chance = np.random.default_rng(0)
    found = [[0] * len(groups), [_gone(group.size, 0.5, multiple) for group in groups]]
    while len(found) < _VARIANTS:
        shares = chance.choice([0.0, 0.5, 0.75], len(groups), p=[0.5, 0.35, 0.15])
        found.append([_gone(group.size, x, multiple) for group, x in zip(groups, shares, strict=True)])
    return list(dict.fromkeys(map(tuple, found)))


def _gone(size: int, share: float, multiple: int) -> int:
    """So many that a multiple is left, or all of them."""
    left = max(round((1 - share) * size / multiple), 1) * multiple
    return 0 if not share else max(size - left, 0)
