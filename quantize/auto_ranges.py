"""`--calibrate auto`: ranges by trial, within a time budget, and never behind the best single method.

Trials run on some of the held-out samples; the choice that they led to, and each single method, are then
compared on all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.quantize.calibrated import Calibrated
from edgekit.quantize.calibration.calibration_samples import CalibrationSamples
from edgekit.quantize.calibration.observe import RANGES
from edgekit.quantize.calibration.range_search import (
    CalibratedTensors,
    RangeChoice,
    best_single,
    choose,
    work,
)
from edgekit.quantize.calibration.search_budget import SearchBudget, pass_work
from edgekit.quantize.measure import Measure, Trial
from edgekit.quantize.mixed_precision.formats import Formats
from edgekit.quantize.mixed_precision.mixed_range_concat import MixedRangeConcats
from edgekit.quantize.preparation.equalize import equalize, pairs
from edgekit.quantize.preparation.input_normalization import normalized_inputs

_SHARES = (1.0, 0.5)  # of what would make channels equal, before depthwise and before other layers
_WORTH_FLOATS_DB = 3.0  # that outputs must gain where inputs are normalized in floats
_MIN_SAMPLES = 8  # that each trial runs on, where so many are held out
_SEARCH_SHARE = 0.65  # of the budget: the rest is for comparing what came of it with the single methods
_CLOSE_DB = 2.0  # corrected biases may turn a smaller difference round
_FINALISTS = 3
_INT8 = Formats()


def with_best_ranges(known: Calibrated, budget: SearchBudget) -> Calibrated:
    """The same with ranges chosen for each tensor, and with normalized inputs and equalized channels where
    that is better; or a single method where none of that is."""
    search = SearchBudget(_SEARCH_SHARE * budget.limit, budget.spent)
    start, choice = _searched(known, search)
    measure = known.measure
    if start.graph is not known.graph:
        measure = measure.of_graph(start.graph, start.measure.concats)
    chosen = Calibrated.of(start.seen, measure, choice.methods, known.settings, known.progress)
    singles = [known.by(dict.fromkeys(known.methods, method)) for method in RANGES]
    is_single = any(start.graph is known.graph and choice.methods == one.methods for one in singles)
    return _best([*([] if is_single else [chosen]), *singles], known.progress)


def _best(candidates: list[Calibrated], progress: Progress) -> Calibrated:
    """The one with the least noise at the worst output, biases corrected."""
    ranked = []
    for number, candidate in enumerate(candidates, 1):
        progress(f"comparing on all held-out samples, {number} of {len(candidates)}")
        ranked.append((_quality(candidate, candidate.plain(_INT8)), candidate))
    ranked.sort(key=lambda pair: pair[0], reverse=True)
    least = ranked[0][0][0] - _CLOSE_DB
    close = [candidate for quality, candidate in ranked[:_FINALISTS] if quality[0] >= least]
    if len(close) == 1:
        return close[0]
    return max(close, key=lambda candidate: _quality(candidate, candidate.corrected()))


def _quality(known: Calibrated, trial: Trial) -> tuple[float, float]:
    return known.measure.worst(trial)[0], known.measure.quality(trial)


@dataclass(frozen=True)
class _Start:
    """A form of the graph, and the best single method for its ranges."""

    graph: Graph
    seen: CalibrationSamples
    tensors: CalibratedTensors
    measure: Measure
    choice: RangeChoice

    @staticmethod
    def of(graph: Graph, seen: CalibrationSamples, measure: Measure, progress: Progress) -> _Start:
        tensors = CalibratedTensors.of(graph, seen.statistics, concats=measure.concats)
        return _Start(graph, seen, tensors, measure, best_single(tensors, measure, progress))

    @property
    def worst(self) -> float:
        """Signal to noise of the worst output: no other one makes up for it."""
        return self.measure.worst(self.choice.trial)[0]

    def other(self, graph: Graph, concats: MixedRangeConcats, progress: Progress) -> _Start:
        """Of another form."""
        seen, budget = self.seen.again(graph), self.measure.budget
        budget.spent += (len(seen.kept) + seen.held_count) * pass_work(graph)
        return _Start.of(graph, seen, self.measure.of_graph(graph, concats), progress)


def _searched(known: Calibrated, budget: SearchBudget) -> tuple[_Start, RangeChoice]:
    """The form of the graph, and the methods that trials found for its tensors."""
    graph, seen, progress = known.graph, known.seen, known.progress
    few = known.measure.on_some(_affordable(known, budget), budget)
    start = _Start.of(graph, seen, few, progress)
    is_float = known.settings.io == "float"
    flat, real = normalized_inputs(graph, seen.statistics) if is_float else (graph, frozenset[str]())
    if real:
        progress("normalizing inputs")
        concats = replace(few.concats, real=few.concats.real | real)
        better = start.other(flat, concats, progress)
        if better.worst > start.worst + _WORTH_FLOATS_DB:
            start = better
    if pairs(start.graph):
        progress("equalizing channels")
        reach = {name: s.reaches for name, s in start.seen.statistics.items() if s.reaches is not None}
        better = start.other(equalize(start.graph, reach, _SHARES), start.measure.concats, progress)
        if better.worst > start.worst:
            start = better
    return start, choose(start.tensors, start.measure, start.choice, progress)


def _affordable(known: Calibrated, budget: SearchBudget) -> int:
    """How many of the held-out samples the trials of all methods for all tensors can run on."""
    return max(int(budget.left / max(work(known.tensors, 1), 1)), _MIN_SAMPLES)
