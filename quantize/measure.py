"""How far an int8 graph is from its float graph, computed again only where a trial differs from the last."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Generic, TypeVar

import numpy as np

from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.non_max_suppression import NonMaxSuppression
from edgekit.core.ops.non_zero import NonZero
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import Array, Type
from edgekit.quantize.calibration.observe import student
from edgekit.quantize.calibration.sample_batches import Sample, SampleBatch, stacks
from edgekit.quantize.calibration.scales import clipped, tied
from edgekit.quantize.calibration.search_budget import (
    SearchBudget,
    float_work,
    graph_work,
    integer_work,
    node_work,
)
from edgekit.quantize.integers.int8 import Quantized
from edgekit.quantize.mixed_precision.mixed_range_concat import NO_MIXED_RANGE, MixedRangeConcats

T = TypeVar("T")  # a trial
_SURE = 1.64  # standard errors: chance explains more in one of twenty cases
CHANCE_DB = 6.0  # beyond what is wanted, at most, where few samples have most of the signal or of the noise
_LEAST_FREEDOM = 0.5  # with less, one sample has nearly all of the signal, and nothing is known of others


def real(array: Array, type: Type) -> Array:
    """The numbers that a tensor of one scale stands for."""
    wide = array.astype(np.float64)
    if type.quant is None:
        return wide
    result: Array = (wide - type.quant.zero[0]) * float(np.float32(type.quant.scale[0]))
    return result


def sqnr(truth: Sequence[Array], found: Sequence[Array]) -> float:
    """Signal to noise in dB; infinite where nothing differs."""
    return ratio(*powers(truth, found))


def powers(truth: Sequence[Array], found: Sequence[Array]) -> tuple[float, float]:
    """Of the signal, and of the noise."""
    noise = sum(float(np.square(a - b).sum()) for a, b in zip(truth, found, strict=True))
    return sum(float(np.square(a.astype(np.float64)).sum()) for a in truth), noise


def ratio(signal: float, noise: float) -> float:
    """Signal to noise in dB."""
    if not noise:
        return math.inf
    quotient = signal / noise  # 0 or NaN where something overflows
    return 10 * math.log10(quotient) if quotient > 0 else -math.inf


def _sure_ratio(signals: Array, noises: Array) -> float:
    """Signal to noise in dB, of samples like these: less than measured by what chance explains in one of
    twenty cases. Where few samples have most of the signal, as with a score that is seldom high, chance is
    that of few samples."""
    signal, noise = signals.sum(), noises.sum()
    if not noise:
        return 200.0
    shares = signals / signal
    freedom = 1 / float(np.square(shares).sum()) - 1
    if freedom < _LEAST_FREEDOM:
        return -math.inf
    spread = math.sqrt(np.square(noises / noise - shares).sum() * len(shares) / (len(shares) - 1))
    return ratio(signal, noise) - student(_SURE, freedom) * spread * 10 / math.log(10)


def with_chance(wanted: float, measured: float, surely: float) -> float:
    """Signal to noise: more than is wanted where other samples have surely less than those measured."""
    return wanted if math.isnan(surely) else wanted + min(max(measured - surely, 0.0), CHANCE_DB)


def _mean_noise(ratios: Sequence[float]) -> float:
    """Of outputs with such signal to noise; those without a signal do not count."""
    noise = [10 ** (-ratio / 10) for ratio in ratios if ratio > -math.inf]
    return sum(noise) / len(noise) if noise else 0.0


def scores(graph: Graph) -> list[str]:
    """The floating outputs; of a softmax what goes into it, since that is where errors still show; of
    integers, such as the index of the largest score, what decides them; of rows that NonMaxSuppression or
    NonZero selects what they are selected from, since the smallest error may put another row in the place of
    one."""
    selected = _selected(graph)
    found: dict[str, None] = {}
    for output in graph.outputs:
        for name in selected.get(output, (output,)):
            found |= dict.fromkeys(_judged(graph, name))
    return list(found)


def _judged(graph: Graph, output: str) -> Iterator[str]:
    """The floats by which an output is judged."""
    queue, seen = [output], set[str]()
    while queue:
        name = queue.pop()
        node = graph.producer(name)
        if name in seen or graph.data(name) is not None:
            continue
        seen.add(name)
        if graph.type(name).dtype.is_float and not (node and isinstance(node.op, Softmax)):
            yield name
        elif node is not None:
            queue += reversed(node.inputs)


def _selected(graph: Graph) -> dict[str, tuple[str, ...]]:
    """What depends on selected rows, and what they are selected from."""
    found: dict[str, tuple[str, ...]] = {}
    for node in graph.nodes:
        own = node.inputs[:2] if isinstance(node.op, NonMaxSuppression) else node.inputs
        if isinstance(node.op, NonMaxSuppression | NonZero) or any(name in found for name in own):
            sources = (source for name in own for source in found.get(name, (name,)))
            found |= dict.fromkeys(node.outputs, tuple(dict.fromkeys(sources)))
    return found


class OutputQuality(ABC, Generic[T]):
    """The quality of outputs, of which `of` tells the signal to noise in a trial."""

    scores: Sequence[str]
    concats: MixedRangeConcats

    @abstractmethod
    def of(self, trial: T, name: str) -> float:
        """Signal to noise of one value of the float graph; nan for what a state holds."""

    def output(self, trial: T, name: str) -> float:
        """Signal to noise of one output, the least of what it is joined of: small parts count, too."""
        return min(self.of(trial, part) for part in self.parts(name))

    def worst(self, trial: T) -> tuple[float, str]:
        """Signal to noise of the worst output, which is what a gate judges, and its name; at most 200 dB."""
        found = [(min(self.output(trial, name), 200.0), name) for name in self.scores]
        return min(found, default=(200.0, ""))

    def quality(self, trial: T) -> float:
        """Signal to noise of the outputs, of several that of their mean noise: the worst ones count most, and
        every step in a search counts. At most 200 dB."""
        parts = [part for name in self.scores for part in self.parts(name)]
        mean = _mean_noise([ratio for part in parts if not math.isnan(ratio := self.of(trial, part))])
        return min(-10 * math.log10(mean), 200.0) if mean else 200.0

    def parts(self, name: str) -> Sequence[str]:
        """What an output is joined of."""
        return self.concats.parts.get(name) or (name,)

    def measured_parts(self) -> Sequence[str]:
        """All that outputs are joined of, where it is known for each sample."""
        return [part for name in self.scores for part in self.parts(name)]

    @abstractmethod
    def powers_by_sample(self, trial: T, name: str) -> tuple[Array, Array]:
        """Of the signal and of the noise of one value, in each sample."""

    def surely(self, trial: T) -> tuple[float, str]:
        """Signal to noise of the worst output that other samples should have, too, and its name; at most 200
        dB."""
        parts = ((part, *self.powers_by_sample(trial, part)) for part in self.measured_parts())
        found = [(_sure_ratio(signals, noises), part) for part, signals, noises in parts if signals.any()]
        return min(found, default=(200.0, ""))


@dataclass
class Trial:
    """An int8 graph and its values on each stack of samples."""

    quantized: Quantized
    values: list[dict[str, Array]]


class Measure(OutputQuality[Trial]):
    """The float graph's answers to the samples, and what trials make of them."""

    def __init__(
        self,
        graph: Graph,
        samples: Sequence[Sample],
        concats: MixedRangeConcats = NO_MIXED_RANGE,
        *,
        batch_size: int | None = None,
        budget: SearchBudget | None = None,
    ) -> None:
        """`batch_size` is how many samples run at once, if that is known; trials are paid from `budget`."""
        self.graph = graph
        self.concats = concats
        self.samples = samples
        self.scores = scores(graph)
        self.stacks = stacks(graph, samples, batch_size)
        self.batch_size = batch_size
        self.budget = budget or SearchBudget()
        self.only: Set[str] | None = None  # what trials keep: all
        self.work = {name: node_work(graph, node) for node in graph.nodes for name in node.outputs[:1]}
        self.clipped = clipped(graph, tied(graph, concats.mixed_range))
        self.truth = self._floats({*super().measured_parts()})

    @cached_property
    def all_truth(self) -> list[dict[str, Array]]:
        """Every value of the float graph, which takes memory."""
        return self._floats(None)

    def _floats(self, only: Set[str] | None) -> list[dict[str, Array]]:
        self.pay_floats(self.work)
        return _run(self.graph, self.stacks, [stack.values for stack in self.stacks], only)

    def trial(self, quantized: Quantized, before: Trial | None = None) -> Trial:
        """Run an int8 graph; values that it has in common with an earlier one are taken over, where they are
        kept."""
        graph = quantized.graph
        self.budget.pay(graph_work(graph))
        work = {made: self.work[name] for name, made in quantized.names.items() if name in self.work}
        if before is None or self.only is not None:
            self._pay(work, [name for node in graph.nodes for name in node.outputs[:1]])
            only = None if self.only is None else {quantized.names[name] for name in self.only}
            return Trial(
                quantized, _run(graph, self.stacks, [self._given(graph, s) for s in self.stacks], only)
            )
        dirty = changed(before.quantized.graph, graph)
        self._pay(work, dirty)
        values = []
        for stack, old in zip(self.stacks, before.values, strict=True):
            many = stack.graph(graph)
            new = {name: old[name] for name in graph.inputs}
            new |= graph.constants()
            for node in many.nodes:
                if any(name in dirty for name in node.outputs):
                    new |= simulate.compute(many, node, new)
                else:
                    new |= {name: old[name] for name in node.outputs}
            values.append(new)
        return Trial(quantized, values)

    def noises(self, trial: Trial) -> Array:
        """The noise of each sample, as a share of the signal of all, the mean of the outputs."""
        powers = (self.powers_by_sample(trial, part) for part in self.measured_parts())
        found = [noises / signals.sum() for signals, noises in powers if signals.any()]
        return np.mean(found, axis=0) if found else np.zeros(len(self.samples))

    def measured_parts(self) -> Sequence[str]:
        return [name for name in super().measured_parts() if self.truth and name in self.truth[0]]

    def powers_by_sample(self, trial: Trial, name: str) -> tuple[Array, Array]:
        made = trial.quantized.names[name]
        type = trial.quantized.graph.type(made)
        signals, noises = [], []
        for stack, truth, values in zip(self.stacks, self.truth, trial.values, strict=True):
            wide = truth[name].astype(np.float64)
            signals.append(_by_sample(np.square(wide), stack.count))
            noises.append(_by_sample(np.square(wide - real(values[made], type)), stack.count))
        return np.concatenate(signals), np.concatenate(noises)

    def on_some(self, count: int, budget: SearchBudget, *, keeps_all: bool = False) -> Measure:
        """On some of the samples, from all of their sequence; trials may keep all values, to share them."""
        step = max(len(self.samples) / max(count, 1), 1.0)
        some = [self.samples[int(i * step)] for i in range(min(count, len(self.samples)))]
        made = self.on(some, budget)
        made.only = None if keeps_all else made.only
        return made

    def on(self, samples: Sequence[Sample], budget: SearchBudget | None = None) -> Measure:
        """On other samples."""
        budget = budget or self.budget
        made = Measure(self.graph, samples, self.concats, batch_size=self.batch_size, budget=budget)
        return made if self.only is None else made.of_outputs(budget)

    def of_outputs(self, budget: SearchBudget) -> Measure:
        """The same on a budget of its own, where trials keep no other values, which take memory."""
        made = copy(self)
        made.budget, made.only = budget, set(super().measured_parts())
        return made

    def of_graph(self, graph: Graph, concats: MixedRangeConcats) -> Measure:
        """On the same samples, of another form of the graph."""
        return Measure(graph, self.samples, concats, batch_size=self.batch_size, budget=self.budget)

    def trial_work(self) -> float:
        """What a trial of all layers takes, about."""
        nodes, count, batches = len(self.graph.nodes), len(self.samples), len(self.stacks)
        return integer_work(sum(self.work.values()), count, batches, nodes) + graph_work(self.graph)

    def _pay(self, work: Mapping[str, int], computed: Iterable[str]) -> None:
        count, batches = len(self.samples), len(self.stacks)
        self.budget.pay(sum(integer_work(work.get(name, 0), count, batches) for name in computed))

    def _given(self, graph: Graph, stack: SampleBatch) -> Sample:
        """The samples as the inputs of the int8 graph, which are floats here."""
        return dict(zip(graph.inputs, (stack.values[name] for name in self.graph.inputs), strict=True))

    def of(self, trial: Trial, name: str) -> float:
        return ratio(*self.powers(trial, name))

    def powers(self, trial: Trial, name: str) -> tuple[float, float]:
        """Of the signal and of the noise of one value, or of what a clip leaves of it."""
        name = self.clipped.get(name, name)
        made = trial.quantized.names[name]
        truth = self.truth if name in super().measured_parts() else self.all_truth
        if any(name not in values for values in truth):
            return math.nan, math.nan
        type = trial.quantized.graph.type(made)
        return powers(
            [values[name] for values in truth], [real(values[made], type) for values in trial.values]
        )

    def noise_of_floats(self, found: Sequence[Mapping[str, Array]]) -> float:
        """The mean noise of the outputs as a share of their signal, of other values of the float graph."""
        parts = [part for name in self.scores for part in self.parts(name)]
        truth, wide = self.truth, np.float64
        return _mean_noise(
            [sqnr([v[p] for v in truth], [v[p].astype(wide) for v in found]) for p in parts if p in truth[0]]
        )

    def pay_floats(self, computed: Iterable[str]) -> None:
        """For results that were computed again in floats."""
        count, batches = len(self.samples), len(self.stacks)
        self.budget.pay(sum(float_work(self.work.get(name, 0), count, batches) for name in computed))


def _run(
    graph: Graph, stacks: Sequence[SampleBatch], given: Sequence[Sample], only: Set[str] | None = None
) -> list[dict[str, Array]]:
    """Every value, or some, stack by stack. Where the graph has states, samples are steps of one sequence,
    and what the states held is left out: there would be a copy for each step."""
    if graph.states:
        session = simulate.Session(graph)
        held = {name for s in graph.states for name in (s.input, s.output)}
        runs: Iterable[dict[str, Array]] = (session.run_all(values) for values in given)
        kept = (graph.values.keys() - held) | set(graph.outputs)
    else:
        pairs = zip(stacks, given, strict=True)
        runs = (simulate.run_all(stack.graph(graph), values) for stack, values in pairs)
        kept = set(graph.values)
    wanted = kept if only is None else only
    return [{name: v for name, v in values.items() if name in wanted} for values in runs]


def scores_of(
    graph: Graph, samples: Sequence[Sample], earlier: Sequence[Sample] = ()
) -> Iterator[tuple[Array, ...]]:
    """The scores for each sample. The samples of a graph with states follow `earlier` steps."""
    names, parts = scores(graph), stacks(graph, [*earlier, *samples])
    runs = _run(graph, parts, [part.values for part in parts], {*names})
    every = (
        zip(*(part.apart(values[name].astype(np.float64)) for name in names), strict=True)
        for part, values in zip(parts, runs, strict=True)
    )
    return islice(chain.from_iterable(every), len(earlier), None)


def _by_sample(errors: Array, count: int) -> Array:
    """The sums of so many samples; what is no row of each concerns all alike."""
    if not errors.ndim or len(errors) % count:
        return np.full(count, errors.sum() / count)
    sums: Array = errors.reshape(count, -1).sum(axis=1)
    return sums


def changed(before: Graph, after: Graph) -> set[str]:
    """The values of `after` that `before` lacks, or may have computed to other numbers."""
    dirty = {name for name, value in after.values.items() if not _same(before, name, value.type)}
    dirty |= {
        name for name, data in after.constants() if name not in dirty and not _equal(before, name, data)
    }
    for node in after.nodes:
        old = before.producer(node.outputs[0])
        is_new = old is None or (old.op, old.inputs) != (node.op, node.inputs)
        if is_new or dirty.intersection((*node.inputs, *node.outputs)):
            dirty.update(node.outputs)
    return dirty


def _same(graph: Graph, name: str, type: Type) -> bool:
    return name in graph.values and graph.type(name) == type


def _equal(graph: Graph, name: str, data: Array) -> bool:
    old = graph.data(name)
    return old is not None and (old is data or np.array_equal(old, data))
