"""Which channels can be taken out, and which only together: the units of pruning.

A channel of one tensor goes with those that depend on it: a residual loses what all its sides lose,
Flatten all pixels of a channel, a convolution in groups one channel of each group. What belongs together is
a unit; it can go if nothing else reads it but layers that mix channels, and the caller does not see it. Units
that are in the same tensors are interchangeable: they are a group, of which some go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.passes.channels import ChannelSearch, PrunableLayer, dead_channels
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array, Value
from edgekit.quantize.preparation.opened_states import OpenedStates


@dataclass(frozen=True)
class Group:
    """Interchangeable units. `cells[value][u]` are the channels of a tensor that belong to unit u."""

    cells: Mapping[str, Array]

    @property
    def size(self) -> int:
        return len(next(iter(self.cells.values())))

    @property
    def name(self) -> str:
        """That of its first tensor."""
        return next(iter(self.cells))


@dataclass(frozen=True)
class Network:
    """A graph, and what can be taken out of it. Layers are named by their results."""

    opened: OpenedStates
    layers: Mapping[str, PrunableLayer]
    groups: Sequence[Group]

    @staticmethod
    def of(graph: Graph) -> Network:
        search = ChannelSearch.of(graph, in_states=True)
        return Network(OpenedStates.of(graph), search.layers, tuple(_groups(search)))

    @property
    def graph(self) -> Graph:
        """With its states as inputs and outputs, so that each step is a sample."""
        return self.opened.graph

    @property
    def whole(self) -> Graph:
        """With its states."""
        return self.opened.whole

    @cached_property
    def mixers(self) -> Mapping[str, PrunableLayer]:
        """The layers that mix channels: units can be taken out of what they read."""
        return {name: layer for name, layer in self.layers.items() if not layer.is_depthwise}

    def input_of(self, layer: str) -> str:
        node = self.graph.producer(layer)
        assert node is not None
        return node.inputs[0]

    def readers(self, group: Group) -> Iterator[tuple[str, Array]]:
        """The layers that mix channels of a group, and the inputs of each [units, inputs of a unit] within a
        group of the layer."""
        for name, layer in self.mixers.items():
            if (x := self.input_of(name)) in group.cells:
                inputs = group.cells[x] % layer.w.shape[-1]
                yield name, np.stack([np.unique(row) for row in inputs])

    def writers(self, group: Group) -> Iterator[tuple[str, Array]]:
        """The layers whose results are in a group, and the outputs [units, outputs of a unit]."""
        for name in self.layers:
            if name in group.cells:
                yield name, group.cells[name]

    def unread(self, gone: Mapping[str, Array]) -> Mapping[str, Array]:
        """The inputs of each layer, as a mask of those in a group of it, that are not read without the
        units that are gone: for each group, by its name, a mask of its units."""
        columns: dict[str, Array] = {}
        for group in self.groups:
            mask = gone.get(group.name)
            if mask is None or not mask.any():
                continue
            for layer, inputs in self.readers(group):
                off = columns.setdefault(layer, np.zeros(self.layers[layer].w.shape[-1], np.bool_))
                off[inputs[mask].reshape(-1)] = True
        return columns

    def masked(self, gone: Mapping[str, Array]) -> Graph:
        """The same graph, of the same shapes, in which the units that are gone are not read."""
        unread = self.unread(gone)
        weights = {name: np.where(off, 0, self.layers[name].w) for name, off in unread.items()}
        return with_constants(self.graph, {(name, 1): w for name, w in weights.items()})

    def pruned(self, gone: Mapping[str, Array]) -> Graph:
        """The whole graph without these units."""
        return self.without_unread(self.masked(gone))

    def without_unread(self, masked: Graph) -> Graph:
        """A masked graph, closed again, without the units that are not read."""
        return dead_channels(self.opened.closed_graph(masked), in_states=True)

    def simplified(self, masked: Graph) -> Graph:
        """The same with less work. No channel of it was dead in the model, so no source says so."""
        return replace(simplify(self.without_unread(masked)), source=masked.source)


def with_constants(graph: Graph, constants: Mapping[tuple[str, int], Array]) -> Graph:
    """The graph with other constants of the same type: by the result of their node, and their position."""
    values, nodes = dict(graph.values), []
    for node in graph.nodes:
        names = list(node.inputs)
        for i, name in enumerate(names):
            data = constants.get((node.outputs[0], i))
            if data is not None:
                if len(graph.users(name)) > 1:  # the others keep it
                    names[i] = f"{node.outputs[0]}/{i}"
                kind = graph.values[name].type
                data = np.ascontiguousarray(data, kind.dtype.numpy)
                data.flags.writeable = False
                values[names[i]] = Value(kind, data)
        nodes.append(replace(node, inputs=tuple(names)))
    return replace(graph, nodes=tuple(nodes), values=values)


def _groups(search: ChannelSearch) -> Iterator[Group]:
    """In the order in which a run computes them."""
    cells = _Cells(search.kept)
    for node in search.graph.nodes:
        _join(search, node, cells)
    for state in search.graph.states:
        every = np.arange(cells.sizes[state.input])
        if state.output in cells.sizes:
            cells.join(state.input, every, state.output, every)
        else:
            cells.fix(state.input)
    for name in (*search.graph.inputs, *search.graph.outputs):
        cells.fix(name)
    units: dict[int, dict[str, list[int]]] = {}
    for name in search.kept:
        for channel, unit in enumerate(cells.units(name)):
            units.setdefault(unit, {}).setdefault(name, []).append(channel)
    alike: dict[tuple[tuple[str, int], ...], list[dict[str, list[int]]]] = {}
    for number, where in units.items():
        if not cells.is_fixed(number):
            alike.setdefault(tuple((name, len(c)) for name, c in where.items()), []).append(where)
    for found in alike.values():
        group = Group({name: np.array([unit[name] for unit in found]) for name in found[0]})
        if group.size > 1 and _is_read(search, group):
            yield group


def _is_read(search: ChannelSearch, group: Group) -> bool:
    """By a layer that can do with less?"""
    users = (node for name in group.cells for node in search.graph.users(name))
    layers = (search.layers.get(node.outputs[0]) for node in users)
    return any(layer is not None and not layer.is_depthwise for layer in layers)


def _join(search: ChannelSearch, node: Node, cells: _Cells) -> None:
    """What a node keeps together."""
    x, y = node.inputs[0] if node.inputs else "", node.outputs[0]
    layer, pairs = search.layers.get(y), search.pairs[y]
    if layer is not None and not layer.is_depthwise:
        cells.join_places(x, layer.op.groups)
        cells.join_places(y, layer.op.groups)
    elif pairs is None:
        for name in (*node.inputs, *node.outputs):
            cells.fix(name)
    else:
        reached = np.zeros(search.kept[y].size, np.bool_)
        for name, pair in zip(node.inputs, pairs, strict=True):
            if pair is None:
                cells.fix(name)
                continue
            reached[pair[1]] = True
            if name in search.kept:
                cells.join(name, pair[0], y, pair[1])
        cells.fix(y, ~reached)


class _Cells:
    """Channels of all tensors, those that belong together joined; some have to stay."""

    def __init__(self, kept: Mapping[str, Array]) -> None:
        self.first: dict[str, int] = {}
        total = 0
        for name, mask in kept.items():
            self.first[name] = total
            total += mask.size
        self.sizes = {name: mask.size for name, mask in kept.items()}
        self.parent = list(range(total))
        self.stays: set[int] = set()

    def root(self, cell: int) -> int:
        parent = self.parent
        while parent[cell] != cell:
            parent[cell] = parent[parent[cell]]
            cell = parent[cell]
        return cell

    def join(self, a: str, of_a: Array, b: str, of_b: Array) -> None:
        for i, j in zip(of_a.tolist(), of_b.tolist(), strict=True):
            self.parent[self.root(self.first[a] + i)] = self.root(self.first[b] + j)

    def join_places(self, name: str, groups: int) -> None:
        """Channels of one place in each group."""
        places = np.arange(self.sizes[name]).reshape(groups, -1)
        for others in places[1:]:
            self.join(name, others, name, places[0])

    def fix(self, name: str, mask: Array | None = None) -> None:
        """These stay, or all; constants belong to no group."""
        if name in self.first:
            chosen = np.arange(self.sizes[name]) if mask is None else np.flatnonzero(mask)
            self.stays.update(self.first[name] + int(i) for i in chosen)

    def units(self, name: str) -> Iterator[int]:
        """Of each channel the unit that it belongs to."""
        for i in range(self.sizes[name]):
            yield self.root(self.first[name] + i)

    @cached_property
    def _fixed(self) -> set[int]:
        return {self.root(cell) for cell in self.stays}

    def is_fixed(self, unit: int) -> bool:
        return unit in self._fixed
