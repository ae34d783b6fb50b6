"""Sets constant outputs aside while a model is quantized or pruned, and puts them back afterwards.

No sample changes them, so that they say nothing about ranges and quality.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from edgekit.core.ir import Graph, Node
from edgekit.core.types import Value


@dataclass(frozen=True)
class WithoutConstantOutputs:
    """A graph without outputs that depend on no input; `whole` is what it came from."""

    whole: Graph
    graph: Graph

    @staticmethod
    def of(whole: Graph) -> WithoutConstantOutputs:
        """All outputs stay where there is no other."""
        varying = set(whole.entries)
        for node in whole.nodes:
            if not varying.isdisjoint(node.inputs):
                varying.update(node.outputs)
        outputs = tuple(name for name in whole.outputs if name in varying)
        if not outputs or len(outputs) == len(whole.outputs):
            return WithoutConstantOutputs(whole, whole)
        return WithoutConstantOutputs(whole, _kept(replace(whole, outputs=outputs)))

    def joined(self, made: Graph) -> Graph:
        """What was made of the graph, with the constant outputs in their places."""
        if self.graph is self.whole:
            return made
        names = dict(zip(self.graph.outputs, made.outputs, strict=True))
        rest = tuple(name for name in self.whole.outputs if name not in names)
        others = _kept(replace(self.whole, outputs=rest, states=()))
        made = _renamed(made, set(rest), set(others.values))
        others = _renamed(others, set(others.values) - {*rest, *others.inputs}, set(made.values))
        return replace(
            made,
            outputs=tuple(names.get(name, name) for name in self.whole.outputs),
            nodes=(*made.nodes, *others.nodes),
            values={**{n: v for n, v in others.values.items() if n not in others.inputs}, **made.values},
        )


def _kept(graph: Graph) -> Graph:
    """The graph without what none of its outputs needs."""
    needed = {*graph.exits, *graph.entries}
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(node.outputs):
            needed.update((*node.inputs, *node.outputs))
            nodes.append(node)
    values = {name: value for name, value in graph.values.items() if name in needed}
    return replace(graph, nodes=tuple(reversed(nodes)), values=values)


def _renamed(graph: Graph, names: set[str], others: set[str]) -> Graph:
    """The graph with new names for those of these that another graph has, too."""
    to: dict[str, str] = {}
    for name in sorted(names & set(graph.values) & others):
        number = 1
        while (new := f"{name}_{number}") in graph.values or new in others or new in to.values():
            number += 1
        to[name] = new
    if not to:
        return graph

    def over(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(to.get(name, name) for name in names)

    values: dict[str, Value] = {to.get(name, name): value for name, value in graph.values.items()}
    nodes = tuple(replace(node, inputs=over(node.inputs), outputs=over(node.outputs)) for node in graph.nodes)
    return replace(graph, outputs=over(graph.outputs), nodes=nodes, values=values)
