"""The finished graph of an import, with the names that the file gives its tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, Node, Source, State
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import Value


@dataclass(frozen=True)
class ModelState:
    """A state of the model: the edge that it is read from, what is there next, and what is there first."""

    read: str
    next: Tensor
    initial: Value


def named_graph(
    builder: Builder,
    name: str,
    inputs: Sequence[str],
    outputs: Sequence[tuple[str, Tensor]],
    scope: Mapping[str, Tensor],
    source: Source,
    memories: Sequence[ModelState] = (),
) -> Graph:
    """Give edges the names of the file back; what is an input, a constant or another output too is copied."""
    rename: dict[str, str] = {}
    taken = {*inputs, *(memory.read for memory in memories)}
    for public, tensor in [*outputs, *((f"{m.read}_next", m.next) for m in memories)]:
        edge = tensor.name
        if edge in taken or edge in rename or tensor.data is not None:
            edge = builder.fresh(public)
            builder.values[edge] = Value(tensor.type)
            builder.nodes.append(Node(Reshape(tensor.shape), (tensor.name,), (edge,), public))
        rename[edge] = public if public not in taken else edge  # one name cannot be both
    exits = list(rename)
    public_names = {*rename.values(), *taken}
    for own, tensor in scope.items():
        if tensor.name not in taken and tensor.name not in rename and own not in public_names:
            rename[tensor.name] = own
    states = [State(m.read, edge, m.initial) for m, edge in zip(memories, exits[len(outputs) :], strict=True)]
    graph = builder.graph(name, inputs, exits[: len(outputs)], source, states)
    return _renamed(graph, rename)


def _renamed(graph: Graph, rename: Mapping[str, str]) -> Graph:
    """The graph with other edge names; names in the way get out of it."""
    wanted = {old: new for old, new in rename.items() if old in graph.values}
    clash = (set(wanted.values()) & set(graph.values)) - set(wanted)
    final = dict(wanted)
    taken = set(graph.values) | set(wanted.values())
    for name in sorted(clash):
        i = 1
        while f"{name}_{i}" in taken:
            i += 1
        final[name] = f"{name}_{i}"
        taken.add(final[name])
    to = {name: final.get(name, name) for name in graph.values}
    return replace(
        graph,
        outputs=tuple(to[n] for n in graph.outputs),
        nodes=tuple(
            replace(n, inputs=tuple(to[i] for i in n.inputs), outputs=tuple(to[o] for o in n.outputs))
            for n in graph.nodes
        ),
        values={to[n]: v for n, v in graph.values.items()},
        states=tuple(replace(s, output=to[s.output]) for s in graph.states),
    )
