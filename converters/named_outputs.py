"""Outputs that a user names (--outputs): a network ends there, and what only later nodes need is left out.

Readers that cut their nodes before they import them (TAKES_OUTPUTS) never ask what the others mean: so a
network whose end has operators that are not read can be read without them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from shlex import quote

from edgekit.core import suggest
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph

_LISTED = 5  # names in a hint
_FEW = 4  # outputs that a hint proposes


def check_outputs(outputs: Sequence[str], made: Collection[str]) -> None:
    """Refuse names of what no node computes, and names that come twice."""
    if twice := next((name for name in outputs if outputs.count(name) > 1), None):
        raise EdgeKitError("E0103", f"--outputs names {twice} twice")
    for name in outputs:
        if name not in made:
            last = ", ".join([*made][-_LISTED:]) or "none"
            close = suggest.closest(name, made)
            hint = f"did you mean {close}?" if close else f"the last tensors: {last}"
            raise EdgeKitError("E0103", f"no node computes {name}, which --outputs names", hint=hint)


def ended_at(graph: Graph, outputs: Sequence[str]) -> Graph:
    """The graph with these outputs, and the inputs and nodes that they, or states, depend on."""
    check_outputs(outputs, [name for node in graph.nodes for name in node.outputs])
    needed = {*outputs, *(state.output for state in graph.states)}
    nodes = []
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs):
            nodes.append(node)
            needed.update(node.inputs)
    inputs = tuple(name for name in graph.inputs if name in needed)
    return replace(graph, inputs=inputs, outputs=tuple(outputs), nodes=tuple(reversed(nodes)))


@dataclass(frozen=True)
class StoredNode:
    """A node as its file has it: names of what it reads and computes, and whether there is a handler."""

    reads: Collection[str]
    makes: Collection[str]
    is_known: bool


def proposal(nodes: Iterable[StoredNode], inputs: Iterable[str]) -> str:
    """What a hint adds for nodes, in their order, of which some are not known: the command that ends the
    network before these, where few tensors lead there."""
    computed, lost = {*inputs}, set[str]()
    ends: dict[str, None] = {}
    first = {*computed}
    for node in nodes:
        if node.is_known and lost.isdisjoint(node.reads):
            if not computed.isdisjoint(node.reads):
                computed.update(node.makes)
            continue
        lost.update(node.makes)
        ends |= dict.fromkeys(name for name in node.reads if name in computed - first)
    if not 0 < len(ends) <= _FEW:
        return ""
    return f"or end the network before it: edgekit convert --outputs {quote(','.join(ends))}"
