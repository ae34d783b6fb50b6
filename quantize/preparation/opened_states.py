"""Opens the states of a model, so that each step of a stream is a sample, and closes them again as integers.

What a state was before a step is an input of the open graph, and what it is next an output: ranges, biases
and formats are chosen as for any other graph, on samples that hold the states of the float stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, Node, State
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.ops.recurrent import Recurrent
from edgekit.core.passes import drop_dead
from edgekit.core.passes.integer_labels import keeps_scale
from edgekit.core.simulate import Session
from edgekit.core.types import Value
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.calibration.scales import runs_in_int8
from edgekit.quantize.integers.int8 import Quantized


@dataclass(frozen=True)
class OpenedStates:
    """A graph without states, whose last inputs and outputs are those of `whole`; or itself."""

    whole: Graph
    graph: Graph
    real: frozenset[str] = frozenset()  # layers that stay floats, by their first results

    @staticmethod
    def of(whole: Graph, real: frozenset[str] = frozenset()) -> OpenedStates:
        if not whole.states:
            return OpenedStates(whole, whole, real)
        return OpenedStates(whole, replace(whole, inputs=whole.entries, outputs=whole.exits, states=()), real)

    def samples(self, samples: Iterable[Sample]) -> Iterable[Sample]:
        """The steps of one stream, each with what the float states are before it."""
        return _Steps(self.whole, samples) if self.whole.states else samples

    def closed(self, quantized: Quantized) -> Quantized:
        """What was made of the open graph, with states again. One that integers are moved into, and read from
        at the same scale, is stored as these integers."""
        if not self.whole.states:
            return quantized
        graph = self.closed_graph(quantized.graph)
        for state in graph.states:
            graph = _in_integers(graph, state)
        return replace(quantized, graph=drop_dead(graph))

    def closed_graph(self, made: Graph) -> Graph:
        """What was made of the open graph, with states again, which are stored as they were."""
        inputs, outputs = len(self.whole.inputs), len(self.whole.outputs)
        kept = zip(self.whole.states, made.inputs[inputs:], made.outputs[outputs:], strict=True)
        states = tuple(State(read, written, state.initial) for state, read, written in kept)
        return replace(made, inputs=made.inputs[:inputs], outputs=made.outputs[:outputs], states=states)


@dataclass(frozen=True)
class _Steps:
    """Samples may be gone through again, and the stream starts again then."""

    whole: Graph
    samples: Iterable[Sample]

    def __iter__(self) -> Iterator[Sample]:
        session = Session(self.whole)
        for sample in self.samples:
            yield {**sample, **session.states}
            session.run(sample)


def _in_integers(graph: Graph, state: State) -> Graph:
    """The graph with a state in the integers that it is converted from and to; the same graph where these
    differ, or where floats are computed for it."""
    maker = graph.producer(state.output)
    if maker is None or not isinstance(maker.op, Dequantize) or maker.inputs[0] in graph.exits:
        return graph
    (written,) = maker.inputs
    type = graph.type(written)
    readers = [user for user in graph.users(state.input) if isinstance(user.op, Quantize)]
    made = {user.outputs[0] for user in readers if graph.type(user.outputs[0]) == type}
    if not made or not made.isdisjoint(graph.exits) or state.input in graph.exits:
        return graph
    start = Quantize(type.dtype).integer([state.start], [state.initial.type], [type])[0]
    start.flags.writeable = False
    values = {name: value for name, value in graph.values.items() if name not in made}
    values[state.input] = Value(type)
    real = Builder(graph.values).fresh(f"{state.input}_float")
    values[real] = Value(state.initial.type)
    names = {state.input: real, **dict.fromkeys(made, state.input)}
    nodes = [
        replace(node, inputs=tuple(names.get(name, name) for name in node.inputs))
        for node in graph.nodes
        if made.isdisjoint(node.outputs)
    ]
    first = Node(Dequantize(), (state.input,), (real,))
    integers = State(state.input, written, Value(type, start))
    states = tuple(integers if other is state else other for other in graph.states)
    return replace(graph, nodes=(first, *nodes), values=values, states=states)


def state_updates(graph: Graph, *, has_integer_sums: bool) -> frozenset[str]:
    """The layers, by their first results, through which a state comes back to itself, and is computed with:
    what a step adds may be less than a step of integers, and what is rounded adds up from step to step. Where
    a state is moved alone, as in a ring buffer, or by a recurrent layer, which has 16 bits for what adds up,
    integers do as well; so do sums with constant weights on the way, if they may."""
    ahead = {state.input: _reached(graph.nodes, [state.input]) for state in graph.states}
    follows = {a.input: {b.input for b in graph.states if b.output in ahead[a.input]} for a in graph.states}
    found: set[str] = set()
    for group in _cycles(follows):
        outputs = {state.output for state in graph.states if state.input in group}
        behind = _needed(graph.nodes, outputs)
        around = [
            node
            for node in graph.nodes
            if any(not ahead[name].isdisjoint(node.outputs) for name in group)
            and not behind.isdisjoint(node.outputs)
        ]
        rest = [node for node in around if not (has_integer_sums and _adds_up(graph, node))]
        if not all(keeps_scale(node.op) for node in rest):
            found.update(node.outputs[0] for node in rest)
    return frozenset(found)


def _adds_up(graph: Graph, node: Node) -> bool:
    """Are these sums of integers with constant weights?"""
    return isinstance(node.op, Linear | Recurrent) and runs_in_int8(graph, node)


def _reached(nodes: Iterable[Node], names: Iterable[str]) -> set[str]:
    """All that depends on any of these, and they themselves."""
    found = set(names)
    for node in nodes:
        if not found.isdisjoint(node.inputs):
            found.update(node.outputs)
    return found


def _needed(nodes: Sequence[Node], names: Iterable[str]) -> set[str]:
    """All that any of these depends on, and they themselves."""
    found = set(names)
    for node in reversed(nodes):
        if not found.isdisjoint(node.outputs):
            found.update(node.inputs)
    return found


def _cycles(follows: Mapping[str, set[str]]) -> Iterator[frozenset[str]]:
    """The groups of states that come back to each other (strongly connected components)."""
    closure = {name: set(others) for name, others in follows.items()}
    for middle in closure:
        for others in closure.values():
            if middle in others:
                others |= closure[middle]
    for name, others in closure.items():
        if name in others:
            yield frozenset(other for other in others if name in closure[other])
