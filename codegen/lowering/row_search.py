"""Which layers run as loops over rows, and in how large blocks: for little memory and few instructions.

The peak is the least that can be had for a bounded number of further instructions. See docs/adr/0186.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from edgekit.codegen.lowering.row_chains import Chain, ChainFinder
from edgekit.codegen.lowering.row_inputs import refusal
from edgekit.codegen.lowering.row_sums import RunningSums, with_running_sums
from edgekit.codegen.lowering.row_views import in_row_order, with_rings_viewed, without_renaming
from edgekit.codegen.memory.sharing import LoweredLayer, Ports
from edgekit.codegen.planned_once import planned
from edgekit.core.ir import Graph
from edgekit.core.target import Target

# Rows of the layer with the most rows, that a block may have.
PERIODS = (1, 2, 3, 4, 6, 8, 12, 16)
# Instructions that a lower peak may cost, as a share of those of a run.
INSTRUCTION_BUDGET = 0.03
# Layers of one loop at most: the search tries all ranges of them.
MAX_LAYERS = 64
_ALL_MEMORY = 1 << 62


@dataclass(frozen=True)
class RowPlan:
    """The layers, some of them as loops over rows, and an estimate of the instructions that these loops cost
    beside layers on whole tensors, as a share of those of all that can be in such a loop."""

    layers: tuple[LoweredLayer, ...]
    more: float
    peak: int  # bytes that it takes, by the search


@dataclass(frozen=True)
class _Option:
    """A way to run some layers."""

    bytes: float  # infinite where layers must be in a loop
    extra: float
    chain: Chain | None  # None: one layer, on whole tensors


@dataclass(frozen=True)
class _Ways:
    """How all layers run."""

    last: Sequence[tuple[int, Chain | None]]  # for each layer behind: where the part in front of it begins
    extra: float


def _cheapest_loop(layers: int) -> float:
    """Instructions more of a loop of so many layers at least: one that saves nothing is none."""
    return float(layers) if layers > 1 else 0.0


@dataclass
class RowSearch:
    """Plans for the layers of a graph."""

    finder: ChainFinder
    sums: RunningSums
    _apart: list[_Option] = field(init=False)
    _found: dict[tuple[int, int, int], Chain | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        readers = self.finder.arriving.readers if self.finder.arriving else 0
        self._apart = [
            _Option(inf if i < readers else self.finder.apart(i), 0.0, None)
            for i in range(len(self.finder.layers))
        ]

    @staticmethod
    def of(graph: Graph, layers: Sequence[LoweredLayer], target: Target, ports: Ports) -> RowSearch:
        sums = with_running_sums(in_row_order(without_renaming(graph, layers)), target)
        return RowSearch(ChainFinder(graph, sums.layers, target, ports), sums)

    def least(self, share: float | None = None) -> RowPlan:
        """The plan with the lowest peak within so many more instructions; if there is none, the one with the
        fewest."""
        return self._best((INSTRUCTION_BUDGET if share is None else share) * self._total)

    def within(self, peak: int) -> RowPlan | None:
        """The plan with the fewest instructions more that has no higher peak; None where there is none."""
        return self._plan(peak, inf)

    @property
    def _total(self) -> float:
        return sum(axis.instructions for axis in self.finder.axes if axis)

    def _best(self, budget: float) -> RowPlan:
        found = {option.bytes for option in self._apart} | {chain.bytes for chain in self._tightest()}
        peaks = sorted(int(bytes) for bytes in found if bytes < inf)
        most = max((option.bytes for option in self._apart), default=0)
        peaks = peaks[: bisect_left(peaks, most) + 1]
        plan = self._plan(peaks[self._first_that_fits(peaks, budget)], budget) if peaks else None
        if arriving := self.finder.arriving:
            plan = plan or self._plan(_ALL_MEMORY, inf)
            if plan is None:
                names = ", ".join(layer.node.origin for layer in self.finder.layers[: arriving.readers])
                raise refusal(self.finder.graph, f"no loop over rows has {names}")
        return plan or RowPlan(tuple(self.sums.joined(self.finder.layers)), 0.0, int(most))

    def _first_that_fits(self, peaks: Sequence[int], budget: float) -> int:
        """The number of the lowest peak that has a plan, or of the last one: in growing steps from what the
        same model took with other layers, or else upwards, as low peaks leave few ranges to look at."""
        known = planned().peak
        low, high, step = 0, len(peaks) - 1, 1
        start = bisect_left(peaks, known) if known is not None else high
        if start < high and self._cheapest(peaks[start], budget):
            high = start
            while low < high:
                at = max(high - step, low)
                if not self._cheapest(peaks[at], budget):
                    low = at + 1
                    break
                high, step = at, 2 * step
        elif start < high:
            low = start + 1
        step = 1
        while low < high:
            at = min(low + step, high) - 1
            if self._cheapest(peaks[at], budget):
                high = at
                break
            low, step = at + 1, 2 * step
        while low < high:
            middle = (low + high) // 2
            if self._cheapest(peaks[middle], budget):
                high = middle
            else:
                low = middle + 1
        planned().peak = peaks[low]
        return low

    def _tightest(self) -> list[Chain]:
        """The chains that take the least memory."""
        n = len(self.finder.layers)
        found = (self._chain(i, j, 1) for i in range(n) for j in range(i + 1, min(i + MAX_LAYERS, n) + 1))
        return [chain for chain in found if chain]

    def _chain(self, start: int, end: int, period: int) -> Chain | None:
        key = (start, end, period)
        if key not in self._found:
            self._found[key] = self.finder.chain(start, end, period)
        return self._found[key]

    def _options(self, start: int, end: int, peak: int) -> list[_Option]:
        """Ways to run these layers within so many bytes."""
        if end == start + 1 and self._apart[start].bytes < inf:
            return [self._apart[start]] if self._apart[start].bytes <= peak else []
        tightest = self._chain(start, end, 1)
        if not tightest or tightest.bytes > peak:
            return []
        found = []
        for period in PERIODS:
            chain = self._chain(start, end, period)
            if chain and chain.bytes > peak:
                break  # larger blocks take no less
            if chain:
                found.append(_Option(chain.bytes, max(chain.made.extra, _cheapest_loop(end - start)), chain))
        return found

    def _cheapest(self, peak: int, budget: float) -> _Ways | None:
        """The ways that fit into the peak with the fewest instructions more, if the budget has those."""
        n = len(self.finder.layers)
        least = [0.0] + [inf] * n
        last: list[tuple[int, Chain | None]] = [(0, None)] * (n + 1)
        for j in range(1, n + 1):
            alone = least[j - 1] if self._apart[j - 1].bytes <= peak else inf
            for i in range(max(j - MAX_LAYERS, 0), j):
                if least[i] + _cheapest_loop(j - i) > min(budget, alone, least[j]):
                    continue
                for option in self._options(i, j, peak):
                    extra = least[i] + option.extra
                    if extra < least[j]:
                        least[j], last[j] = extra, (i, option.chain)
        return None if least[n] > budget or least[n] == inf else _Ways(last, least[n])

    def _plan(self, peak: int, budget: float) -> RowPlan | None:
        """The layers by these ways."""
        if (ways := self._cheapest(peak, budget)) is None:
            return None
        parts: list[list[LoweredLayer]] = []
        at = len(self.finder.layers)
        while at:
            at, chain = ways.last[at]
            parts.append(self.finder.lowered(chain) if chain else [self.finder.layers[at]])
        layers = with_rings_viewed([*self.sums.joined([layer for part in reversed(parts) for layer in part])])
        return RowPlan(tuple(layers), ways.extra / max(self._total, 1), peak)
