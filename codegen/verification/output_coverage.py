"""How much a comparison with expected outputs sees: values that are finite, and depend on the inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from edgekit.codegen.lowering.branches import Branches, Path, branches
from edgekit.codegen.verification.difference import difference
from edgekit.codegen.verification.provoking import KINDS, not_finite, provoking
from edgekit.core import simulate
from edgekit.core.input_ranges import CHOICES
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add, Max, Min, Sub
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.logic import Less, LessOrEqual, Where
from edgekit.core.ops.non_max_suppression import NonMaxSuppression
from edgekit.core.ops.non_zero import NonZero
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.while_loop import While
from edgekit.core.types import Array, DType

_SAME = 1e-6  # of a float that differs by less, a wrong network could say the same
ENOUGH = 0.5  # of the values of every output: no further ranges are tried
_WORK = 2e8  # operations that trying other ranges may take
MORE_SEEDS = 24  # of samples that are tried for sides of branches that no other takes
_CALL = 5000  # that one operator costs at least, which counts where it runs again and again
_NUMBERS = (Add, Cast, Less, LessOrEqual, Max, Min, Reshape, Sub, Where)  # of which counts are made
_MOVE = 10  # operations that computing one element costs, whatever the operator


class VaryingElements:
    """The expectations of one output, sample by sample: an element that is never finite, or the same for all
    samples, would be right by chance. A single sample must at least have different elements."""

    def __init__(self) -> None:
        self._first: Array | None = None
        self._differs: Array = np.zeros((), bool)
        self._finite: Array = np.zeros((), np.int64)
        self._samples = 0

    def add(self, expected: Array, counts: Array | bool = True) -> None:
        """The next sample. `counts`: which elements are told from wrong ones at all."""
        values = expected if expected.dtype.kind in "iu" else expected.astype(np.float64)
        good = np.isfinite(values) & counts
        if self._first is None:
            self._first = values
        near = _SAME * np.abs(np.nan_to_num(self._first)) if expected.dtype.kind == "f" else 0
        self._differs = self._differs | (difference(values, self._first) > near)
        self._finite = self._finite + good
        self._samples += 1

    @property
    def share(self) -> float:
        """Of all elements of all samples, those that a comparison says something about."""
        if self._first is None or not self._first.size:
            return 1.0
        differs = self._differs
        if self._samples == 1 and self._first.size > 1:
            differs = np.full(self._first.shape, np.ptp(np.nan_to_num(self._first)) > 0)
        elif self._samples == 1:
            differs = np.ones(self._first.shape, bool)
        return float((self._finite * differs).sum()) / (self._samples * self._first.size)


@dataclass(frozen=True)
class RandomRun:
    """Made-up inputs, and what the simulator makes of them."""

    graph: Graph
    choice: int  # of the ranges that they are from: see input_ranges
    found: Branches
    samples: tuple[Mapping[str, Array], ...] = ()
    outputs: tuple[Mapping[str, Array], ...] = ()
    taken: frozenset[Path] = frozenset()  # sides of branches
    odd: Mapping[str, int] = field(default_factory=dict)  # the most elements of a value that are not finite
    states: Mapping[str, Array] | None = None  # after these samples; None: as at the start

    @cached_property
    def share(self) -> float:
        """Of the output of which least is compared."""
        parts = [share for name, share in shares(self.outputs).items() if not is_count(self.graph, name)]
        return min(parts, default=1.0)

    @property
    def untaken(self) -> tuple[str, ...]:
        """Sides of branches that no sample takes."""
        return named(self.graph, self.found, self.taken)

    @property
    def rated(self) -> tuple[float, int, float]:
        return finite_share(self.outputs), -len(self.untaken), self.share

    def extended(self, sample: Mapping[str, Array]) -> RandomRun:
        """With one more sample."""
        values = simulate.run_all(self.graph, sample, self.states)
        return replace(
            self,
            samples=(*self.samples, sample),
            outputs=(*self.outputs, {name: values[name] for name in self.graph.outputs}),
            taken=self.taken | self.found.taken(values),
            odd={name: max(not_finite(value), self.odd.get(name, 0)) for name, value in values.items()},
            states={state.input: values[state.output] for state in self.graph.states} or None,
        )


def drawn(graph: Graph, count: int) -> RandomRun:
    """Seeded inputs that compare as many values of the outputs as possible, within reason."""
    simulate.check_work(graph)
    found = branches(graph)
    runs, left = list[RandomRun](), _WORK
    for choice in range(CHOICES):
        run = RandomRun(graph, choice, found)
        for seed in range(count):
            run = run.extended(simulate.random_inputs(graph, seed, choice))
        runs.append(run)
        left -= count * work(graph)
        finite, missing, share = run.rated
        if (finite == 1 and missing == 0 and share >= ENOUGH) or left < 0:
            break
    return max(runs, key=lambda run: run.rated)


def provoked(run: RandomRun) -> RandomRun:
    """With samples that provoke errors, and others that take sides of branches, or move elements of outputs,
    that none did so far. Of large graphs, one sample is added."""
    graph, left = run.graph, _WORK
    for kind in KINDS:
        for sample in provoking(graph, kind, run.choice):
            left -= work(graph)
            longer = run.extended(sample)
            if longer.odd == run.odd:  # where more overflows, the order of sums decides what is NaN
                run = longer
                break
        if left < 0:
            break
    count = len(run.samples)
    for seed in range(count, count + MORE_SEEDS):
        left -= work(graph)
        if left < 0 or (run.share >= ENOUGH and not run.untaken):
            break
        more = run.extended(simulate.random_inputs(graph, seed, seed % CHOICES))
        if more.rated > run.rated:
            run = more
    return run


def untaken(graph: Graph, samples: Iterable[Mapping[str, Array]]) -> tuple[str, ...]:
    """The sides of branches that no sample takes; where there are states, the samples are one stream."""
    found = branches(graph)
    if not found.choices:
        return ()
    session = simulate.Session(graph)
    return named(graph, found, {path for sample in samples for path in found.taken(session.run_all(sample))})


def named(graph: Graph, found: Branches, taken: Collection[Path]) -> tuple[str, ...]:
    """The sides that were not taken; of those within others only where the outer one was."""
    left = found.paths.difference(taken)
    return tuple(sorted(found.name(path, graph) for path in left if path[:-1] not in left))


def shares(outputs: Sequence[Mapping[str, Array]]) -> dict[str, float]:
    """Of each output the share of values that are compared."""
    meters: dict[str, VaryingElements] = {}
    for sample in outputs:
        for name, values in sample.items():
            meters.setdefault(name, VaryingElements()).add(values)
    return {name: meter.share for name, meter in meters.items()}


def is_count(graph: Graph, name: str) -> bool:
    """Does a value say how many rows there are, or of how many of them a condition holds? It may well be the
    same for all inputs."""
    producers = {result: node for node in graph.nodes for result in node.outputs}
    queue, seen = [(name, False)], set[tuple[str, bool]]()
    has_count = False
    while queue:
        step = name, is_summed = queue.pop()
        if step in seen or graph.data(name) is not None:
            continue
        seen.add(step)
        node = producers.get(name)
        if node is None:
            return False
        if isinstance(node.op, NonMaxSuppression | NonZero) and name == node.outputs[-1]:
            has_count = True
        elif is_summed and graph.type(name).dtype is DType.BOOL:
            continue
        elif isinstance(node.op, Reduce) and node.op.kind == "sum" and not graph.type(name).dtype.is_float:
            queue += [(one, True) for one in node.inputs]
        elif isinstance(node.op, _NUMBERS):
            queue += [(one, is_summed) for one in node.inputs]
        else:
            return False
    return has_count


def finite_share(outputs: Sequence[Mapping[str, Array]]) -> float:
    """Of the output with fewest finite values, their share."""
    parts = [np.isfinite(v).mean() for sample in outputs for v in sample.values() if v.size]
    return float(min(parts, default=1.0))


def work(graph: Graph) -> float:
    """About how many operations a run of the simulator takes."""
    loops = [node.op for node in graph.nodes if isinstance(node.op, While)]
    return sum(op.limit * (_CALL * len(op.nodes) + work(op.graph)) for op in loops) + sum(
        _MOVE * sum(graph.type(name).size for name in node.outputs)
        + node.op.macs(*(graph.type(name) for name in node.inputs))
        for node in graph.nodes
    )
