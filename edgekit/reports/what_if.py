"""What a library would take with a change to one layer: planned as a build does, not compiled or trained."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from statistics import fmean

from edgekit.codegen.cost import instructions
from edgekit.codegen.kernels.expressions import WEIGHT_LIMIT
from edgekit.codegen.kernels.sources import instance_of, selected_once, variant_of
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.lowering.lower import WeightLimits
from edgekit.codegen.memory.sharing import Ports
from edgekit.codegen.planned_once import Planned, TooManyStepsError, planned_once
from edgekit.codegen.program import Program, compile_graph
from edgekit.core.ir import Graph
from edgekit.core.passes.channels import dead_channels
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize, Target
from edgekit.quantize.pruning.groups import Network
from edgekit.reports.changed_layers import VARIANTS, Kind, Wanted

# Steps, as plans count them, for each layer: of removing channels, and of the plan that the build made
# already; and of a build beside planning, at least: of any, and for each layer.
_REMOVAL, _PLANNED_BEFORE = 8_000, 25_000
_BUILD, _LAYER_BUILT = 6_000_000, 210_000
_CERTAIN = 0.9  # of a share, that is spent: steps take more or less time


@dataclass(frozen=True)
class Change:
    """Of the library, if this were done to the layer."""

    what: str
    weight_bytes: int
    arena_bytes: int
    instructions: int | None  # None where nothing is known of the target's kernels

    def is_dearer_than(self, other: Change) -> bool:
        """Does it take no less of anything?"""
        mine, others = ((c.weight_bytes, c.arena_bytes, c.instructions or 0) for c in (self, other))
        return all(a >= b for a, b in zip(mine, others, strict=True))


@dataclass(frozen=True, eq=False)
class Changes(Mapping[Wanted, Change]):
    """The changes that were looked at."""

    found: Mapping[Wanted, Change]
    left_out: int  # that could be, and were not, as their share of a build had been spent

    def __getitem__(self, wanted: Wanted) -> Change:
        return self.found[wanted]

    def __iter__(self) -> Iterator[Wanted]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


@dataclass(frozen=True)
class Costs:
    """What a plan takes."""

    weight_bytes: int
    arena_bytes: int
    instructions: int | None

    def change_to(self, other: Costs, what: str) -> Change:
        known = other.instructions is not None and self.instructions is not None
        return Change(
            what,
            other.weight_bytes - self.weight_bytes,
            other.arena_bytes - self.arena_bytes,
            (other.instructions or 0) - (self.instructions or 0) if known else None,
        )


def changes(
    graph: Graph,
    target: Target,
    wanted: Sequence[Wanted],
    *,
    optimize: Optimize = "speed",
    ports: Ports = "caller",
    others: int = 0,
    share: float = math.inf,
) -> Changes:
    """What each change does to a library with so many bytes of code and parameters beside its weights. What
    cannot be done is no part of it. The first ones are looked at that take no more than this share of a
    build, counted in steps: a plan that takes more is given up."""
    if not wanted:
        return Changes({}, 0)
    with selected_once(), planned_once() as planned:
        return _planned(graph, wanted, _Plans(target, optimize, ports, others), share, planned)


@dataclass(frozen=True)
class _Plans:
    """How libraries are planned, and what they take."""

    target: Target
    optimize: Optimize
    ports: Ports
    others: int

    def built(self, graph: Graph) -> Program:
        """As a build chooses which layers have small weights."""
        optimize, others = self.optimize, self.others
        return fit(graph, self.target, self.ports, optimize=optimize, others=others, is_trial=True)

    def limited(self, graph: Graph, limits: WeightLimits) -> Program:
        """With these limits of weights."""
        return compile_graph(graph, self.target, self.ports, limits, is_trial=True)

    def costs(self, program: Program) -> Costs:
        run = instructions.estimated(program, self.optimize)
        return Costs(program.library_weight_bytes, program.arena_bytes, run.total if run else None)


def _planned(
    graph: Graph, wanted: Sequence[Wanted], plans: _Plans, share: float, planned: Planned
) -> Changes:
    program, network = plans.built(graph), Network.of(graph)
    # Loops over rows are planned for their gain as well as for their bytes.
    in_build = planned.steps * (2 if plans.target.least_ram or plans.ports == "rows" else 1)
    planned.most = _CERTAIN * share * (_BUILD + _LAYER_BUILT * len(graph.nodes) + in_build)
    planned.steps = _PLANNED_BEFORE * len(graph.nodes)
    before = plans.costs(program)

    @cache
    def without_dead() -> Costs:
        """Channels that are dead already go with half of a layer's: what that saves is not of the change."""
        smaller = dead_channels(graph, in_states=True)
        return before if smaller is graph else plans.costs(plans.built(simplify(smaller)))

    known: dict[Wanted, Change | None] = {}
    found: dict[Wanted, Change] = {}
    taken: defaultdict[Kind, list[float]] = defaultdict(list)  # steps of each change
    left_out = 0
    for result, kind in dict.fromkeys(wanted):
        # Layers of a group lose channels together.
        same = _group(network, result) if kind == "half" else result
        if (same, kind) not in known:
            known[same, kind] = None
            for what, made in _possible(program, network, (result, kind), plans):
                if planned.steps + fmean(taken[kind] or [0.0]) > planned.most:
                    left_out += 1
                    continue
                begin = planned.steps
                try:
                    planned.spend(_REMOVAL * len(graph.nodes) if kind == "half" else 0)
                    old = without_dead() if kind == "half" else before
                    known[same, kind] = old.change_to(plans.costs(made()), what)
                except TooManyStepsError:
                    left_out += 1
                taken[kind].append(planned.steps - begin)
        if change := known[same, kind]:
            found[result, kind] = change
    return Changes(found, left_out)


def _possible(
    program: Program, network: Network, wanted: Wanted, plans: _Plans
) -> Iterator[tuple[str, Callable[[], Program]]]:
    """What a change makes of a library: in words, and planned. Nothing where it cannot be done."""
    (result, kind), graph = wanted, program.graph
    if kind in ("fast kernel", "small kernel"):
        for what, limits in _other_kernel(program, result, is_fast=kind == "fast kernel"):
            yield what, partial(plans.limited, graph, limits)
        return
    for what, make in VARIANTS[kind](network, result, plans.target):
        yield what, partial(lambda make: plans.built(_sharing(make(), graph)), make)


def _sharing(graph: Graph, other: Graph) -> Graph:
    """The graph with the objects of another one where they are the same: these are planned already."""
    values = dict(graph.values)
    for name in values.keys() & other.values.keys():
        if values[name] is not other.values[name] and values[name] == other.values[name]:
            values[name] = other.values[name]
    known = {node.outputs: node for node in other.nodes}
    nodes = (same if (same := known.get(node.outputs)) == node else node for node in graph.nodes)
    return replace(graph, nodes=tuple(nodes), values=values)


def _group(network: Network, result: str) -> str:
    """The channels that go with those of a layer."""
    return next((group.name for group in network.groups if result in group.cells), result)


def _other_kernel(program: Program, result: str, *, is_fast: bool) -> Iterator[tuple[str, WeightLimits]]:
    """The kernel that takes the least time, or whose weights take the least memory, where the library has the
    other one: fit() chooses among them."""
    limits = dict(program.weight_limits)
    is_limited = limits.pop(result, None) is not None
    if is_limited is not is_fast:
        return
    for line in program.lines:
        if line.call.args[-1].name == result:
            facts = {name: fact for name, fact in line.call.facts.items() if name != WEIGHT_LIMIT}
            facts |= {} if is_limited else {WEIGHT_LIMIT: 0}
            other = variant_of(replace(line.call, facts=facts, file=""), program.target)
            if other is not variant_of(line.call, program.target):
                name = instance_of(other, line.call, program.target).name
                what = f"kernel {name}, with {'larger' if is_limited else 'smaller'} weights"
                yield what, limits if is_limited else {**limits, result: 0}
