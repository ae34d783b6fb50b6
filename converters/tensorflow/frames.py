"""Loops of TensorFlow 1: circles of Enter, Merge, Switch, NextIteration and Exit, as condition and body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgekit.converters.tensorflow.graph import Function, Node, Reference, reachable
from edgekit.core.errors import EdgeKitError


@dataclass(frozen=True)
class FrameLoop:
    """A loop, by the nodes that its values pass: one of each kind for each value that is carried."""

    condition: Reference
    enters: Sequence[Node]
    merges: Sequence[str]
    switches: Sequence[str]
    following: Sequence[Reference]  # what NextIteration passes on
    exits: Mapping[str, int]  # which of these values a node gives to what comes after the loop
    fixed: Sequence[Node]  # Enter of what is the same in each iteration

    @property
    def starts(self) -> list[str]:
        """The nodes that have to run before the loop."""
        return [r.node for enter in (*self.enters, *self.fixed) for r in enter.references]


def loops_of(function: Function) -> Mapping[str, FrameLoop]:
    """The loops of a function, by the names of their Exit nodes."""
    nodes = function.nodes
    ends = {name: _operand(function, node, 0) for name, node in nodes.items() if node.op == "Exit"}
    if not ends:
        return {}
    conditions = {_operand(function, nodes[switch], 1) for switch in ends.values()}
    switches: dict[str, list[str]] = {name: [] for name in conditions}
    for name, node in nodes.items():
        if node.op == "Switch" and (condition := _operand(function, node, 1)) in switches:
            switches[condition].append(name)
    found: dict[str, FrameLoop] = {}
    for condition, own in switches.items():
        loop = _loop(function, function.node(condition), own, {n: s for n, s in ends.items() if s in own})
        found |= dict.fromkeys(loop.exits, loop)
    return found


def _loop(function: Function, condition: Node, switches: Sequence[str], ends: Mapping[str, str]) -> FrameLoop:
    merges = [_operand(function, function.node(name), 0) for name in switches]
    enters, following = [], []
    for merge in (function.node(name) for name in merges):
        parts = {(part := function.node(r.node)).op: part for r in merge.operands}
        if set(parts) != {"Enter", "NextIteration"} or condition.op != "LoopCond":
            raise EdgeKitError("E0205", "the graph runs in circles", f"node {merge.name}")
        enters.append(parts["Enter"])
        following.append(next(parts["NextIteration"].operands))
    frame = enters[0].attributes.get("frame_name")
    inside = reachable(function, [condition.name, *(r.node for r in following)])
    fixed = [
        node
        for node in inside
        if node.op == "Enter" and node not in enters and node.attributes.get("frame_name") == frame
    ]
    exits = {name: switches.index(switch) for name, switch in ends.items()}
    return FrameLoop(next(condition.operands), enters, merges, switches, following, exits, fixed)


def _operand(function: Function, node: Node, index: int) -> str:
    operands = list(node.operands)
    if len(operands) <= index:
        raise EdgeKitError("E0401", f"{node.op} has {len(operands)} operands", f"node {node.name}")
    return function.node(operands[index].node).name
