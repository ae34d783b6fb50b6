"""Dead channels removed: those that are constant, as their range proves, and those that are not read.

A channel is a cell of the last dimension. An all-zero filter makes a constant channel, which stays constant
through activations, pooling and depthwise filters; the next layer that mixes channels takes the constants
into its bias and loses the weights that read them. What would have computed them goes, and so does what no
weight but 0 reads. Results are the same: bit by bit for quantized networks, up to the order of additions for
floats (all of them finite).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import repeat

import numpy as np

from edgekit.core.ir import Graph, Node, State
from edgekit.core.ops._linear import Linear
from edgekit.core.passes import drop_dead
from edgekit.core.passes.removed_work import with_removed_work
from edgekit.core.types import Array, Type, Value
from edgekit.core.value_ranges import Known, Pairs, channels, known


def dead_channels(graph: Graph, *, in_states: bool = False) -> Graph:
    """The pass. Entries of a library share states, so these stay as they are, unless they may be cut, too."""
    if not any(isinstance(node.op, Linear) for node in graph.nodes):
        return graph
    search = ChannelSearch.of(graph, in_states=in_states)
    search.run()
    if all(mask.all() for mask in search.kept.values()):
        return graph
    return with_removed_work(graph, search.result())


def ranges(graph: Graph, wanted: Iterable[str]) -> dict[str, Known]:
    """What is known of these values, and of those that they depend on: inputs can be anything."""
    needed = {*wanted}
    path = []
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(node.outputs):
            needed.update(node.inputs)
            path.append(node)
    results = {name for node in path for name in node.outputs}
    facts = {name: known(graph.values[name]) for name in needed - results}
    for node in reversed(path):
        outs = [graph.type(name) for name in node.outputs]
        found = None
        if all(t.size for t in (*outs, *map(graph.type, node.inputs))):  # nothing has no extremes
            found = node.op.bounds([facts[name] for name in node.inputs], outs)
        for name, range in zip(node.outputs, found or repeat(None, len(outs)), strict=True):
            facts[name] = known(graph.values[name], range)
    return facts


@dataclass(frozen=True)
class PrunableLayer:
    """A layer with constant weights whose channels may go."""

    op: Linear
    w: Array
    b: Array

    @staticmethod
    def of(graph: Graph, node: Node) -> PrunableLayer | None:
        if not isinstance(node.op, Linear):
            return None
        w, b = (graph.data(name) for name in node.inputs[1:])
        x = graph.values[node.inputs[0]]
        if (
            w is None
            or b is None
            or not w.size
            or x.data is not None
            or not (x.type.dtype.is_float or x.type.quant)
        ):
            return None
        if x.type.quant is None and graph.type(node.inputs[1]).quant:  # its scales are not cut
            return None
        return PrunableLayer(node.op, w, b)

    @property
    def is_depthwise(self) -> bool:
        """Has each output one input of its own?"""
        return self.op.groups > 1 and self.w.shape[-1] == 1

    @cached_property
    def reads(self) -> Array:
        """Which output reads which input with a weight other than 0? [outputs, inputs]"""
        return np.asarray((self.w != 0).any(axis=tuple(range(1, self.w.ndim - 1))))

    def needs(self, y: Array, spared: Array) -> Array:
        """The inputs that the outputs in a mask need, but for those that are spared. Groups stay of one size:
        inputs that are in one place of each group stay or go together, and so do outputs (`alike`)."""
        groups = self.op.groups
        read = self.reads.reshape(groups, -1, self.reads.shape[-1]) & y.reshape(groups, -1, 1)
        return _alike(read.any(axis=1).reshape(-1) & ~spared, groups)

    def alike(self, y: Array) -> Array:
        """A mask of outputs, with those that stay beside them."""
        return _alike(y, self.op.groups)

    def takes(self, x: Known) -> Array:
        """The inputs that are constants which the bias can take: the same at every tap of every window."""
        return x.is_constant & (x.lo == x.zero) if self.op.skips_taps else x.is_constant

    def bias_with(self, x: Known, gone: Array) -> Array:
        """The bias with what the inputs that are gone add to each output."""
        taps = self.w.reshape(self.w.shape[0], -1, self.w.shape[-1]).astype(np.float64).sum(axis=1)
        constants = np.where(gone & x.is_constant, x.lo.astype(np.float64) - x.zero, 0)
        groups = self.op.groups
        sums = taps.reshape(groups, -1, taps.shape[-1]) @ constants.reshape(groups, -1, 1)
        return np.asarray(self.b.astype(np.float64) + sums.reshape(-1)).astype(self.b.dtype)


@dataclass(frozen=True)
class ChannelSearch:
    """Which channels of each computed value are kept, and the graph without the others."""

    graph: Graph
    facts: Mapping[str, Known]  # of what layers that mix channels read, and of what that depends on
    layers: Mapping[str, PrunableLayer]  # by the name of their result
    pairs: Mapping[str, Sequence[Pairs | None] | None]  # of the nodes that mix no channels, likewise
    kept: dict[str, Array]
    states: Sequence[State] = ()  # whose channels may go

    @staticmethod
    def of(graph: Graph, *, in_states: bool = False) -> ChannelSearch:
        layers = {node.outputs[0]: layer for node in graph.nodes if (layer := PrunableLayer.of(graph, node))}
        pairs = {node.outputs[0]: _pairs(graph, node, layers.get(node.outputs[0])) for node in graph.nodes}
        computed = [name for name in graph.values if graph.data(name) is None]
        kept = {name: np.zeros(channels(graph.type(name)), np.bool_) for name in computed}
        states = graph.states if in_states else ()
        stays = (*graph.inputs, *graph.outputs) if in_states else (*graph.entries, *graph.exits)
        for name in stays:
            if name in kept:
                kept[name][:] = True
        mixing = {name for name, layer in layers.items() if not layer.is_depthwise}
        read = [node.inputs[0] for node in graph.nodes if node.outputs[0] in mixing]
        return ChannelSearch(graph, ranges(graph, read), layers, pairs, kept, states)

    def run(self) -> None:
        """Keep what is needed, and what belongs together with it."""
        steps: Sequence[Node | State] = (*self.graph.nodes, *self.states)
        touching: dict[str, list[int]] = {}
        for i, step in enumerate(steps):
            for name in self._names(step):
                touching.setdefault(name, []).append(i)
        self._settle(steps, touching, range(len(steps)))
        for name, mask in self.kept.items():
            if mask.size and not mask.any():
                mask[0] = True  # a tensor of nothing is no gain: its first channel stays
                self._settle(steps, touching, touching.get(name, ()))

    def _names(self, step: Node | State) -> Sequence[str]:
        """The values of a node that may lose channels, or those of a state, before and after a run."""
        names = (step.input, step.output) if isinstance(step, State) else (*step.inputs, *step.outputs)
        return [name for name in dict.fromkeys(names) if name in self.kept]

    def _settle(
        self,
        steps: Sequence[Node | State],
        touching: Mapping[str, Sequence[int]],
        changed: Iterable[int],
    ) -> None:
        """Visit these nodes and states, the last one first, and those that what they keep concerns, until
        nothing changes."""
        waiting = {*changed}
        heap = [-i for i in waiting]
        heapify(heap)
        while heap:
            i = -heappop(heap)
            waiting.remove(i)
            step = steps[i]
            names = self._names(step)
            before = [np.count_nonzero(self.kept[name]) for name in names]
            if isinstance(step, State):
                self._keep_state(step)
            else:
                self.keep_needed(step)
            for name, count in zip(names, before, strict=True):
                if np.count_nonzero(self.kept[name]) != count:  # once more for this one, too
                    for j in touching[name]:
                        if j not in waiting:
                            waiting.add(j)
                            heappush(heap, -j)

    def _keep_state(self, state: State) -> None:
        """Keep the same channels before and after a run; all of a state that becomes a constant."""
        read, written = self.kept[state.input], self.kept.get(state.output)
        read |= True if written is None else written
        if written is not None:
            written |= read

    def keep_needed(self, node: Node) -> None:
        """Keep what one node needs for what is kept of its result."""
        layer, pairs = self.layers.get(node.outputs[0]), self.pairs[node.outputs[0]]
        if layer is not None and not layer.is_depthwise:
            x, y = node.inputs[0], self.kept[node.outputs[0]]
            y |= layer.alike(y)
            self.kept[x] |= layer.needs(y, layer.takes(self.facts[x]))
            self.kept[x] |= _alike(self.kept[x], layer.op.groups)
            return
        if pairs is None:
            for name in (*node.inputs, *node.outputs):
                if name in self.kept:
                    self.kept[name][:] = True
            return
        y = self.kept[node.outputs[0]]
        y |= ~_reached(pairs, y.size)
        for name, pair in zip(node.inputs, pairs, strict=True):
            # Nothing else needs anything of a constant; but what one of its channels becomes stays together.
            kept = self.kept.get(name, ~_all(self.graph.type(name)))
            if pair is None:
                kept[:] = True
                continue
            of_x, of_y = pair
            np.logical_or.at(y, of_y, kept[of_x])
            np.logical_or.at(kept, of_x, y[of_y])
            np.logical_or.at(y, of_y, kept[of_x])

    def result(self) -> Graph:
        """The graph without the channels that are not kept."""
        values = dict(self.graph.values)
        for name, mask in self.kept.items():
            values[name] = cut(values[name], mask, values[name].type.rank - 1)
        nodes = []
        for node in self.graph.nodes:
            out = self.kept[node.outputs[0]]
            ins = [self.kept.get(name, _all(self.graph.type(name))) for name in node.inputs]
            names = list(node.inputs)
            for i, value in self.constants(node, ins, out):
                if value != self.graph.values[names[i]]:
                    names[i] = _fresh(values, names[i])
                    values[names[i]] = value
            whole = all(mask.all() for mask in (*ins, out))
            op = node.op if whole else node.op.narrowed(ins, out)
            nodes.append(replace(node, op=op, inputs=tuple(names)))
        states = tuple(
            replace(state, initial=cut(state.initial, self.kept[state.input], state.initial.type.rank - 1))
            for state in self.graph.states
        )
        return drop_dead(replace(self.graph, nodes=tuple(nodes), values=values, states=states))

    def constants(self, node: Node, ins: list[Array], out: Array) -> Iterator[tuple[int, Value]]:
        """The constant operands of a node for the channels that are kept, by position; `ins` learns what is
        kept of them."""
        layer = self.layers.get(node.outputs[0])
        if layer is not None:
            w, b = (self.graph.values[name] for name in node.inputs[1:])
            if not layer.is_depthwise:
                b = Value(b.type, layer.bias_with(self.facts[node.inputs[0]], ~ins[0]))
                w = cut(w, ins[0][: w.type.shape[-1]], w.type.rank - 1)
            yield 1, cut(w, out, 0)
            yield 2, cut(b, out, 0)
            return
        for i, pair in enumerate(self.pairs[node.outputs[0]] or ()):
            value = self.graph.values[node.inputs[i]]
            if pair is not None and value.data is not None:
                ins[i] = np.zeros_like(ins[i])
                ins[i][pair[0]] = out[pair[1]]
                yield i, cut(value, ins[i], value.type.rank - 1)


def _pairs(graph: Graph, node: Node, layer: PrunableLayer | None) -> Sequence[Pairs | None] | None:
    """Which channels of each operand belong to which of the result; None where all are needed."""
    if layer is not None:
        outputs = np.arange(layer.w.shape[0])
        return [(outputs // (outputs.size // layer.op.groups), outputs), None, None]
    if len(node.outputs) != 1 or isinstance(node.op, Linear):
        return None
    return node.op.channels([graph.type(name) for name in node.inputs], graph.type(node.outputs[0]))


def _alike(mask: Array, groups: int) -> Array:
    """All channels whose place in their group is that of one in the mask."""
    return np.tile(mask.reshape(groups, -1).any(axis=0), groups)


def _reached(pairs: Sequence[Pairs | None], n: int) -> Array:
    """The channels of the result that come from channels of an operand."""
    reached = np.zeros(n, np.bool_)
    for pair in pairs:
        if pair is not None:
            reached[pair[1]] = True
    return reached


def _all(type: Type) -> Array:
    return np.ones(channels(type), np.bool_)


def cut(value: Value, mask: Array, axis: int) -> Value:
    """The value without the cells of a dimension that are not in the mask."""
    t, quant = value.type, value.type.quant
    if mask.all() or axis < 0:
        return value
    if quant is not None and quant.axis == axis:
        scale, zero = (tuple(np.array(per)[mask].tolist()) for per in (quant.scale, quant.zero))
        quant = replace(quant, scale=scale, zero=zero)
    shape = (*t.shape[:axis], int(mask.sum()), *t.shape[axis + 1 :])
    data = None if value.data is None else np.ascontiguousarray(value.data.compress(mask, axis))
    return Value(replace(t, shape=shape, quant=quant), data)


def _fresh(values: Mapping[str, Value], hint: str) -> str:
    """A name for a constant that is cut."""
    i = 1
    while f"{hint}_{i}" in values:
        i += 1
    return f"{hint}_{i}"
