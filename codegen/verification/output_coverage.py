"""How much a comparison with expected outputs sees: values that are finite, and depend on the inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.codegen.lowering.branches import Branches, Path, branches
from edgekit.codegen.verification.difference import difference
from edgekit.core import simulate
from edgekit.core.input_ranges import CHOICES
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Min
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.non_max_suppression import NonMaxSuppression
from edgekit.core.ops.non_zero import NonZero
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.while_loop import While
from edgekit.core.types import Array

_SAME = 1e-6  # of a float that differs by less, a wrong network could say the same
ENOUGH = 0.5  # of the values of every output: no further ranges are tried
_WORK = 2e8  # operations that trying other ranges may take
MORE_SEEDS = 24  # of samples that are tried for sides of branches that no other takes
_CALL = 5000  # that one operator costs at least, which counts where it runs again and again
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

    samples: tuple[Mapping[str, Array], ...]
    outputs: tuple[Mapping[str, Array], ...]
    share: float  # of the output of which least is compared
    choice: int  # of the ranges that they are from: see input_ranges
    untaken: tuple[str, ...] = ()  # sides of branches


def drawn(graph: Graph, count: int) -> RandomRun:
    """Seeded inputs that compare as many values of the outputs as possible, within reason, and take each side
    of every branch."""
    simulate.check_work(graph)
    found = branches(graph)
    best: RandomRun | None = None
    score, left = (0.0, 0.0, 0.0), _WORK
    for choice in range(CHOICES):
        samples = tuple(simulate.random_inputs(graph, seed, choice) for seed in range(count))
        now = _compared(graph, samples, choice, found)
        rated = finite_share(now.outputs), -len(now.untaken), now.share
        if best is None or rated > score:
            best, score = now, rated
        left -= count * work(graph)
        if (score[0] == 1 and score[1] == 0 and score[2] >= ENOUGH) or left < 0:
            break
    assert best is not None
    # More samples, for sides that none took so far.
    for seed in range(count, count + MORE_SEEDS):
        left -= work(graph)
        if not best.untaken or left < 0:
            break
        extra = simulate.random_inputs(graph, seed, seed % CHOICES)
        more = _compared(graph, (*best.samples, extra), best.choice, found)
        if len(more.untaken) < len(best.untaken) and finite_share(more.outputs) >= score[0]:
            best = more
    return best


def _compared(
    graph: Graph, samples: tuple[Mapping[str, Array], ...], choice: int, found: Branches
) -> RandomRun:
    session, outputs, taken = simulate.Session(graph), [], set[Path]()
    for sample in samples:
        if not graph.states:
            session.reset()
        values = session.run_all(sample)
        outputs.append({name: values[name] for name in graph.outputs})
        taken |= found.taken(values)
    untaken = named(graph, found, taken)
    parts = [share for name, share in shares(outputs).items() if not is_count(graph, name)]
    return RandomRun(samples, tuple(outputs), min(parts, default=1.0), choice, untaken)


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
    """Does a value say how many rows there are? It may well be the same for all inputs."""
    producers = {result: node for node in graph.nodes for result in node.outputs}
    while (node := producers.get(name)) and isinstance(node.op, (Cast, Min, Reshape)):
        name = node.inputs[0]
    return node is not None and isinstance(node.op, NonMaxSuppression | NonZero) and name == node.outputs[-1]


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
