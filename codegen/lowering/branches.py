"""Branches: which nodes of a graph only one side of a choice needs (gated SSA, derived from the graph).

A choice is a `Where` whose condition is a single bool that is computed: what an `If` becomes. A tensor is
guarded by a condition and a side if all its readers are on that side of such choices, or are guarded so
themselves. Nothing has side effects, so that leaving out what is guarded changes no result: see
docs/adr/0060.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.logic import Less, Where
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.scatter import Scatter
from edgekit.core.ops.slice import Slice
from edgekit.core.types import Array, Type

# Products and elements that a branch must save to be worth its jump: less stays a selection.
_MIN_SAVED = 1024


@dataclass(frozen=True)
class Among:
    """A tensor of conditions, of which at most `most` hold: as where a router chooses few of many experts."""

    name: str
    most: int


@dataclass(frozen=True)
class Guard:
    """What must hold for a node to run: the condition, a tensor of one bool, is on this side."""

    condition: str
    side: bool
    among: Among | None = field(default=None, compare=False)

    def other(self) -> Guard:
        return replace(self, side=not self.side)


@dataclass(frozen=True)
class Loop:
    """What repeats while its condition holds, at most so many times."""

    condition: str
    limit: int
    results: tuple[str, ...] = ()  # what is written at the end of each iteration


@dataclass(frozen=True)
class Choice:
    """A node that selects one of two tensors of the type of its result, or constants that broadcast to it."""

    condition: str
    yes: str
    no: str
    among: Among | None

    def side(self, side: bool) -> str:
        return self.yes if side else self.no

    def guard(self, side: bool) -> Guard:
        return Guard(self.condition, side, self.among)


Path = tuple[Guard, ...]  # a side of a branch, behind those that it is within


@dataclass(frozen=True)
class Branches:
    """Choices by their results, and the guards of every tensor that a run may need, the outermost first."""

    choices: Mapping[str, Choice]
    guards: Mapping[str, Path]

    def runs(self, name: str, values: Mapping[str, Array]) -> bool:
        """Does a run with these values compute this tensor?"""
        return all(_holds(guard, values) for guard in self.guards.get(name, ()))

    def taken(self, values: Mapping[str, Array]) -> frozenset[Path]:
        """Of `paths` those that a run with these values takes."""
        return frozenset(path for path in self.paths if all(_holds(guard, values) for guard in path))

    def name(self, path: Path, graph: Graph) -> str:
        """A side of a branch, in the words of the model."""
        condition = path[-1].condition
        result = next(name for name, choice in self.choices.items() if choice.condition == condition)
        node = graph.producer(result)
        assert node is not None
        return f"{node.origin or result} if {condition} is {'true' if path[-1].side else 'false'}"

    @cached_property
    def paths(self) -> frozenset[Path]:
        """Every side of every branch, with those that it is within."""
        inside = {guards[:n] for guards in self.guards.values() for n in range(1, len(guards) + 1)}
        for result, choice in self.choices.items():
            outer = self.guards.get(result)
            if outer is not None:
                sides = {choice.guard(side) for side in (True, False)}
                inside |= {(*outer, side) for side in sides if sides.isdisjoint(outer)}
        return frozenset(inside)


def _holds(guard: Guard, values: Mapping[str, Array]) -> bool:
    return bool(values[guard.condition].item()) is guard.side


def branches(graph: Graph) -> Branches:
    """The branches of a graph that are worth a jump."""
    choices = _choices(graph)
    found = _guards(graph, choices)
    saved = Counter[str]()
    for node in graph.nodes if choices else ():
        for condition in {guard.condition for guard in found.get(node.outputs[0], ())}:
            saved[condition] += _cost(graph, node)
    choices = {name: c for name, c in choices.items() if saved[c.condition] >= _MIN_SAVED}
    # Of nested branches, the outer one has its last choice behind that of the inner one.
    rank = {choice.condition: i for i, choice in enumerate(choices.values())}
    found = _guards(graph, choices)
    ordered = {
        name: tuple(sorted(guards, key=lambda guard: -rank[guard.condition]))
        for name, guards in found.items()
    }
    return Branches(choices, ordered)


def _choices(graph: Graph) -> dict[str, Choice]:
    found = {}
    for node in graph.nodes:
        if not isinstance(node.op, Where):
            continue
        condition, yes, no = node.inputs
        type = graph.type(node.outputs[0])
        same = all(_gives(graph, side, type) for side in (yes, no)) and type.size > 0
        if same and graph.data(condition) is None and graph.type(condition).size == 1:
            while (before := graph.producer(condition)) and isinstance(before.op, Reshape):
                (condition,) = before.inputs
            found[node.outputs[0]] = Choice(condition, yes, no, _among(graph, condition))
    return found


def _gives(graph: Graph, side: str, type: Type) -> bool:
    given = graph.type(side)
    return given == type or (graph.data(side) is not None and replace(given, shape=type.shape) == type)


def _among(graph: Graph, condition: str) -> Among | None:
    """Conditions x > 0 of an x that few numbers are written to, and that is 0 elsewhere."""
    while (node := graph.producer(condition)) and isinstance(node.op, Slice | Reshape):
        (condition,) = node.inputs
    if node is None or not isinstance(node.op, Less) or not _is_zero(graph.data(node.inputs[0])):
        return None
    positive = graph.producer(node.inputs[1])
    while positive is not None and isinstance(positive.op, Reduce) and positive.op.kind == "max":
        positive = graph.producer(positive.inputs[0])
    if positive is None or not isinstance(positive.op, Scatter):
        return None
    x, _, update = positive.inputs
    return Among(condition, graph.type(update).size) if _is_zero(graph.data(x)) else None


def _is_zero(data: Array | None) -> bool:
    return data is not None and not np.any(data)


def _guards(graph: Graph, choices: Mapping[str, Choice]) -> dict[str, frozenset[Guard]]:
    """Of every tensor that is needed."""
    needed: dict[str, frozenset[Guard]] = dict.fromkeys(graph.exits, frozenset())

    def need(name: str, guards: frozenset[Guard]) -> None:
        if not any(guard.other() in guards for guard in guards):
            needed[name] = guards & needed.get(name, guards)

    for node in reversed(graph.nodes) if choices else ():
        uses = [needed[name] for name in node.outputs if name in needed]
        if not uses:
            continue
        guards = frozenset.intersection(*uses)
        if choice := choices.get(node.outputs[0]):
            need(choice.condition, guards)
            for side in (True, False):
                need(choice.side(side), guards | {choice.guard(side)})
        else:
            for name in node.inputs:
                need(name, guards)
    return needed


def _cost(graph: Graph, node: Node) -> int:
    """Products and elements."""
    size = sum(graph.type(name).size for name in node.outputs)
    return size + node.op.macs(*(graph.type(name) for name in node.inputs))


def costliest(costs: Sequence[float], paths: Sequence[tuple[Guard | Loop, ...]]) -> float:
    """The most that things of these costs take in one run: of each branch the more expensive side counts, of
    conditions of which few hold the most expensive ones, and of loops as many iterations as there may be."""
    total = 0.0
    added: dict[Among, list[float]] = {}
    found: dict[str, dict[Guard | Loop, list[int]]] = {}
    for i, path in enumerate(paths):
        if path:
            found.setdefault(path[0].condition, {}).setdefault(path[0], []).append(i)
        else:
            total += costs[i]
    for sides in found.values():
        each = {
            first: (first.limit if isinstance(first, Loop) else 1)
            * costliest([costs[i] for i in inside], [paths[i][1:] for i in inside])
            for first, inside in sides.items()
        }
        first = next(iter(each))
        if isinstance(first, Guard) and first.among:
            no = each.get(replace(first, side=False), 0.0)
            total += no
            added.setdefault(first.among, []).append(each.get(replace(first, side=True), 0.0) - no)
        else:
            total += max(each.values())
    for among, of in added.items():
        total += sum(sorted((max(cost, 0.0) for cost in of), reverse=True)[: among.most])
    return total
