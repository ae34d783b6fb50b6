"""Which layers of a library run as loops over rows: for the least memory, or for memory of a given size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

from edgekit.codegen.cost.weight_loads import total_loads
from edgekit.codegen.lowering.lower import NO_LIMITS, WeightLimits, lowered
from edgekit.codegen.lowering.row_search import RowPlan, RowSearch
from edgekit.codegen.memory.planner import MemoryPlan, assign, bytes_at_least
from edgekit.codegen.memory.sharing import LoweredLayer, Ports, on_whole_tensors
from edgekit.codegen.planned_once import planned
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.target import Target

# Plans with lower and lower peaks that are tried, as gaps between buffers make an arena larger than its peak.
_TRIES = 8
# The factor from one limit of memory to the next, for the list of tradeoffs.
_STEP = 0.7
# Steps of a plan with loops, for each pair of layers, beside the search for an arena: planned_once.py.
_STEPS = 130


@dataclass(frozen=True)
class RowGain:
    """What loops over rows gain, and what they cost."""

    layers: int  # in loops; none where whole tensors take no more memory, or as little as is asked for
    loops: int
    whole_arena_bytes: int  # that the same layers need on whole tensors
    more: float  # instructions, as a share: an estimate
    whole_weight_load_bytes: int | None  # that a run on whole tensors loads; None where a kernel does not say


@dataclass(frozen=True)
class RowTradeoff:
    """Memory to work in, inputs and outputs included, and the instructions that it costs, as a share."""

    working_bytes: int
    more: float


def tradeoffs(
    graph: Graph, target: Target, ports: Ports, limits: WeightLimits = NO_LIMITS
) -> tuple[RowTradeoff, ...]:
    """From whole tensors to the least memory, each with fewer bytes than the one before it. Weights
    have the limits that are given for a layer's first result."""
    found = lowered(graph, target, ports, limits, ())
    whole = replace(graph, values={**graph.values, **found.values})
    return RowPlanner(whole, found.layers, target, ports).tradeoffs()


@dataclass
class RowPlanner:
    """Layers of a graph as loops over rows."""

    graph: Graph
    layers: Sequence[LoweredLayer]
    target: Target
    ports: Ports

    def __post_init__(self) -> None:
        self._search = RowSearch.of(self.graph, self.layers, self.target, self.ports)

    @cached_property
    def whole(self) -> MemoryPlan:
        """On whole tensors."""
        return assign(self.graph, self.layers, self.target.align, on_whole_tensors(self.ports))

    def planned(self) -> tuple[MemoryPlan, RowGain]:
        """What the target asks for."""
        if not self.target.ram_limit:
            return self._gained(*self._least())
        if self.ports != "rows" and self._fits(self.whole):
            return self._on_whole_tensors()
        peak = self.target.ram_limit - self._ports_bytes
        for _ in range(_TRIES):
            plan = self._search.within(peak)
            if plan is None:
                break
            if self._fits(memory := self._memory(plan)):
                return self._gained(plan, memory)
            peak = min(peak, plan.peak) - (self._working_bytes(memory) - self.target.ram_limit)
        least = self._search.least(inf)
        if self._fits(memory := self._memory(least)):
            return self._gained(least, memory)
        raise self._refusal(min(map(self._working_bytes, (self.whole, memory))))

    def tried(self) -> MemoryPlan:
        """The same memory, without a plan on whole tensors where that takes more for sure."""
        if self.target.ram_limit:
            return self.planned()[0]
        _, memory = self._least()
        if self.ports == "rows":
            return memory
        if memory.arena.size < bytes_at_least(self.graph, self.layers, self.target.align, self.ports):
            return memory
        return memory if memory.arena.size < self.whole.arena.size else self.whole

    def tradeoffs(self) -> tuple[RowTradeoff, ...]:
        least = self._search.least(inf)
        plans, peak = [least], max(least.peak, 1) / _STEP
        while peak < self.whole.arena.size:
            if plan := self._search.within(int(peak)):
                plans.append(plan)
            peak /= _STEP
        found = [RowTradeoff(self._working_bytes(self.whole), 0.0)]
        for plan in reversed(plans):
            bytes = self._working_bytes(self._memory(plan))
            if bytes < found[-1].working_bytes:
                found.append(RowTradeoff(bytes, plan.more))
        return tuple(found)

    def _least(self) -> tuple[RowPlan, MemoryPlan]:
        """The plan with the lowest peak; where gaps between buffers make its arena larger, one of fewer
        instructions that takes no more."""
        plan = self._search.least()
        memory = self._memory(plan)
        while memory.arena.size > plan.peak:
            other = self._search.within(memory.arena.size)
            if other is None or other.more >= plan.more:
                break
            tried = self._memory(other)
            if tried.arena.size > memory.arena.size:
                break
            plan, memory = other, tried
        return plan, memory

    def _memory(self, plan: RowPlan) -> MemoryPlan:
        planned().spend(_STEPS * len(plan.layers) ** 2)
        return assign(self.graph, plan.layers, self.target.align, self.ports)

    def _on_whole_tensors(self) -> tuple[MemoryPlan, RowGain]:
        return self.whole, RowGain(0, 0, self.whole.arena.size, 0.0, total_loads(self.whole.calls))

    def _gained(self, plan: RowPlan, memory: MemoryPlan) -> tuple[MemoryPlan, RowGain]:
        if memory.arena.size >= self.whole.arena.size and self.ports != "rows":
            return self._on_whole_tensors()
        loops = [layer.rows.loop for layer in plan.layers if layer.rows]
        loads = total_loads(self.whole.calls)
        return memory, RowGain(len(loops), len({*loops}), self.whole.arena.size, plan.more, loads)

    def _fits(self, memory: MemoryPlan) -> bool:
        return self._working_bytes(memory) <= self.target.ram_limit

    @property
    def _ports_bytes(self) -> int:
        """Inputs and outputs, where they are the caller's."""
        names = (*self.graph.inputs, *self.graph.outputs) if self.ports == "caller" else ()
        return sum(self.graph.type(name).bytes for name in names)

    def _working_bytes(self, memory: MemoryPlan) -> int:
        return memory.arena.size + self._ports_bytes

    def _refusal(self, least: int) -> EdgeKitError:
        limit, name = self.target.ram_limit, self.graph.name
        hint = f"--ram {least} is the least that there is for it"
        if self._ports_bytes:
            hint += f"; {self._ports_bytes:,} B of that are inputs and outputs: --ports arena may need less"
        message = f"{name} works in {least:,} B of RAM at least, --ram allows {limit:,} B"
        return EdgeKitError("E0604", message, hint=hint)
