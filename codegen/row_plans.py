"""Which layers of a library run as loops over rows: for the least memory, or for memory of a given size."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import inf

from edgekit.codegen.lowering.lower import lowered
from edgekit.codegen.lowering.row_search import RowPlan, RowSearch
from edgekit.codegen.memory.planner import MemoryPlan, assign
from edgekit.codegen.memory.sharing import LoweredLayer, Ports
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.target import Target

# Placing buffers may leave gaps: how often a plan with a lower peak is tried then.
_TRIES = 8
# From one limit of memory, for which instructions are told, to the next.
_STEP = 0.7


@dataclass(frozen=True)
class RowGain:
    """What loops over rows gain, and what they cost."""

    layers: int  # in loops
    loops: int
    whole_arena_bytes: int  # that the same layers need on whole tensors
    more: float  # instructions, as a share: an estimate


@dataclass(frozen=True)
class RowTradeoff:
    """Memory to work in, inputs and outputs included, and the instructions that it costs, as a share."""

    working_bytes: int
    more: float


def tradeoffs(
    graph: Graph, target: Target, ports: Ports, compact: Collection[str] = ()
) -> tuple[RowTradeoff, ...]:
    """From whole tensors to the least memory, each with fewer bytes than the one before it. Of layers whose
    results are named in `compact`, weights take less memory."""
    found = lowered(graph, target, ports, compact, ())
    whole = replace(graph, values={**graph.values, **found.values})
    memory = assign(whole, found.layers, target.align, ports)
    return RowPlanner(whole, found.layers, target, ports, memory).tradeoffs()


@dataclass
class RowPlanner:
    """Layers of a graph, whose memory on whole tensors is known, as loops over rows."""

    graph: Graph
    layers: Sequence[LoweredLayer]
    target: Target
    ports: Ports
    whole: MemoryPlan

    def __post_init__(self) -> None:
        self._search = RowSearch.of(self.graph, self.layers, self.target, self.ports)

    def planned(self) -> tuple[MemoryPlan, RowGain | None]:
        """What the target asks for."""
        if not self.target.ram_limit:
            return self._gained(*self._assigned(self._search.least()))
        if self._working_bytes(self.whole) <= self.target.ram_limit:
            return self.whole, None
        peak = self.target.ram_limit - self._ports_bytes
        for _ in range(_TRIES):
            plan = self._search.within(peak) if peak > 0 else None
            if plan is None:
                break
            memory = assign(self.graph, plan.layers, self.target.align, self.ports)
            over = self._working_bytes(memory) - self.target.ram_limit
            if over <= 0:
                return self._gained(memory, plan)
            peak = min(peak, plan.peak) - over
        raise self._refusal()

    def tradeoffs(self) -> tuple[RowTradeoff, ...]:
        least = self._search.least(inf)
        plans, peak = [least], least.peak / _STEP
        while peak < self.whole.arena.size:
            if plan := self._search.within(int(peak)):
                plans.append(plan)
            peak /= _STEP
        found = [RowTradeoff(self._working_bytes(self.whole), 0.0)]
        for plan in reversed(plans):
            bytes = self._working_bytes(self._assigned(plan)[0])
            if bytes < found[-1].working_bytes:
                found.append(RowTradeoff(bytes, plan.more))
        return tuple(found)

    def _assigned(self, plan: RowPlan) -> tuple[MemoryPlan, RowPlan]:
        return assign(self.graph, plan.layers, self.target.align, self.ports), plan

    def _gained(self, memory: MemoryPlan, plan: RowPlan) -> tuple[MemoryPlan, RowGain | None]:
        if memory.arena.size >= self.whole.arena.size:
            return self.whole, None
        loops = [layer.rows.loop for layer in plan.layers if layer.rows]
        return memory, RowGain(len(loops), len({*loops}), self.whole.arena.size, plan.more)

    @property
    def _ports_bytes(self) -> int:
        """Inputs and outputs, where they are the caller's."""
        names = (*self.graph.inputs, *self.graph.outputs) if self.ports == "caller" else ()
        return sum(self.graph.type(name).bytes for name in names)

    def _working_bytes(self, memory: MemoryPlan) -> int:
        return memory.arena.size + self._ports_bytes

    def _refusal(self) -> EdgeKitError:
        least = min(self._working_bytes(self.whole), self.tradeoffs()[-1].working_bytes)
        limit, name = self.target.ram_limit, self.graph.name
        hint = f"--ram {least} is the least that there is for it"
        if self.ports == "caller" and self._ports_bytes:
            hint += f"; {self._ports_bytes:,} B of that are inputs and outputs: --ports arena may need less"
        message = f"{name} works in {least:,} B of RAM at least, --ram allows {limit:,} B"
        return EdgeKitError("E0604", message, hint=hint)
