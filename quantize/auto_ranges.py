"""`--calibrate auto`: ranges by trial, within a time budget, and never behind the best single method.

Ranges are judged by samples that have no part in them (cross-fitting). Trials run on some of the samples; the
choice that they led to, and the best single methods, are then compared on more of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from edgekit.core.ir import Graph
from edgekit.core.progress import Milestone, Progress
from edgekit.quantize import reserves
from edgekit.quantize.calibrated import Calibrated
from edgekit.quantize.calibration.calibrated_tensors import HEADROOM
from edgekit.quantize.calibration.calibration_samples import CalibrationSamples
from edgekit.quantize.calibration.cross_fit import CrossFit, CrossTrial, Form
from edgekit.quantize.calibration.observe import RANGES, Statistics
from edgekit.quantize.calibration.range_search import PATIENCE, RangeChoice, choose, singles, work
from edgekit.quantize.calibration.search_budget import (
    INTEGER,
    SearchBudget,
    graph_work,
    observing_work,
    pass_work,
)
from edgekit.quantize.measure import CHANCE_DB
from edgekit.quantize.mixed_precision.mixed_range_concat import MixedRangeConcats
from edgekit.quantize.preparation.equalize import equalize, pairs
from edgekit.quantize.preparation.input_normalization import normalized_inputs
from edgekit.quantize.rounding.refinement import CORRECTION, refined
from edgekit.quantize.settings import LEAST_SQNR

_SHARES = (1.0, 0.5)  # of what would make channels equal, before depthwise and before other layers
_WORTH_FLOATS_DB = 3.0  # that outputs must gain where inputs are normalized in floats
_WORTH_NORMS_DB = 0.5  # where norms are computed twice
_MIN_SAMPLES = 8  # that each trial runs on, where so many are there
_SEARCH_SHARE = 0.55  # of the budget: the rest is for comparing what came of it with the single methods
_NOISY_SHARE = 0.3  # of that, where layers will need better formats
_CLOSE_DB = 2.0  # corrected biases may turn a smaller difference round
_RIVALS = 4  # single methods that the choice is compared with: the best on some of the samples
_FINALISTS = 3
# Of the budget: for candidates on more samples, for their biases, and at most for what was before.
_COMPARED_SHARE, _FINALISTS_SHARE, _OTHERS_SHARE = 0.2, 0.15, 0.35


def with_best_ranges(known: Calibrated, fit: CrossFit, budget: SearchBudget) -> Calibrated:
    """The same with ranges chosen for each tensor, and with normalized inputs and equalized channels where
    that is better; or a single method where none of that is, or with effort `quick`."""
    search = budget.part(_SEARCH_SHARE * budget.limit - min(budget.spent, _OTHERS_SHARE * budget.limit))
    few = fit.on_some(_affordable(fit, search), search, keeps_all=True)
    tried = singles(few, known.progress, RANGES)
    _reserve_formats(known, few, tried)
    tried = singles(few, known.progress, HEADROOM, tried)
    rivals = list(tried.values())
    others = [known.by(rival.methods, fit) for rival in rivals[:_RIVALS]]
    is_quick = known.settings.effort == "quick"
    more = (
        ""
        if is_quick
        else "; choosing ranges tensor by tensor while that pays, which --effort quick leaves out"
    )
    known.progress(Milestone(f"quick calibration: {few.worst(rivals[0].trial)[0]:.1f} dB{more}"))
    if is_quick:
        return _best(others, known.progress)
    is_noisy = known.settings.is_mixed_by_need and few.worst(rivals[0].trial)[0] < LEAST_SQNR
    if is_noisy and _finalists(fit) < _FINALISTS:  # better formats will do more in the time that there is
        search.limit *= _NOISY_SHARE
        others = others[:1]
    plain = _Start(known.graph, known.seen, few, rivals[0], [*tried][:_RIVALS])
    start, choice = _searched(known, plain)
    chosen = known.by(choice.methods, fit)
    if start.graph is not known.graph:
        measure = known.measure.of_graph(start.graph, start.fit.concats)
        chosen = Calibrated.of(start.seen, measure, choice.methods, known.settings, known.progress)
        chosen = replace(chosen, fit=start.fit.measured_like(fit))
    is_single = any(start.graph is known.graph and choice.methods == other.methods for other in others)
    return _best(others if is_single else [chosen, *others], known.progress)


def _reserve_formats(known: Calibrated, few: CrossFit, tried: Mapping[str, RangeChoice]) -> None:
    """Leave a part of the budget for better formats, where the best method so far makes these likely."""
    quality = few.worst(next(iter(tried.values())).trial)[0]
    if known.settings.is_mixed_by_need and quality < LEAST_SQNR + CHANCE_DB:
        is_likely = quality < LEAST_SQNR
        known.measure.budget.reserved += reserves.better_formats(known.measure, is_likely=is_likely)


def _best(candidates: Sequence[Calibrated], progress: Progress) -> Calibrated:
    """The one with the least noise at the worst output, biases corrected."""
    if len(candidates) == 1:
        return candidates[0]
    ranked: list[tuple[tuple[float, float], CrossTrial, Calibrated]] = []
    for number, candidate in enumerate(candidates, 1):
        progress(f"comparing on all samples, {number} of {len(candidates)}")
        assert candidate.fit is not None
        if ranked and not candidate.fit.budget.left:
            break
        trial = candidate.fit.trial(candidate.methods)
        ranked.append((_quality(candidate.fit, trial), trial, candidate))
    ranked.sort(key=lambda entry: entry[0], reverse=True)
    least = ranked[0][0][0] - _CLOSE_DB
    few = _finalists(candidates[0].fit) if len(candidates) > 2 else 1  # of two the better one, as it is
    close = [(trial, candidate) for quality, trial, candidate in ranked[:few] if quality[0] >= least]
    if len(close) < 2:
        return ranked[0][2]
    return max(close, key=lambda pair: _quality_corrected(*pair))[1]


def _finalists(fit: CrossFit | None) -> int:
    """How many candidates there is time to correct the biases of."""
    assert fit is not None
    corrected = CORRECTION * sum(len(half.exact.samples) for half in fit.halves)
    cost = (corrected + INTEGER * fit.samples) * pass_work(fit.halves[0].measure.graph)
    return fit.budget.samples(_FINALISTS_SHARE, cost, _FINALISTS, 1)


def compared_samples(graph: Graph, budget: SearchBudget, most: int) -> int:
    """How many samples of each half candidates are compared on."""
    return budget.samples(_COMPARED_SHARE, 2 * INTEGER * (_RIVALS + 1) * pass_work(graph), most, 4)


def _quality(fit: CrossFit, trial: CrossTrial) -> tuple[float, float]:
    return fit.worst(trial)[0], fit.quality(trial)


def _quality_corrected(trial: CrossTrial, known: Calibrated) -> tuple[float, float]:
    """With biases by the samples that the ranges come from."""
    fit, progress = known.fit, known.progress
    assert fit is not None
    better = [
        refined(part, half.exact, half.measure, progress)
        for half, part in zip(fit.halves, trial, strict=True)
    ]
    return _quality(fit, better)


@dataclass(frozen=True)
class _Start:
    """A form of the graph, and the best single method for its ranges."""

    graph: Graph
    seen: CalibrationSamples
    fit: CrossFit
    choice: RangeChoice
    methods: Sequence[str]  # that are worth a trial in another form

    @property
    def worst(self) -> float:
        """Signal to noise of the worst output: no other one makes up for it."""
        return self.quality[0]

    @property
    def quality(self) -> tuple[float, float]:
        """Where the worst output is alike, the others decide."""
        return _quality(self.fit, self.choice.trial)

    def other(self, form: Form, concats: MixedRangeConcats, progress: Progress) -> _Start:
        """Of another form; the same where there is no time for it."""
        if self.fit.budget.left < self._work_of_other:
            return self
        graph = form(self.graph, self.seen.together())
        fit = self.fit.reshaped(form, concats, self.seen.batch_size)
        seen = self.seen.again(graph)
        self.fit.budget.pay(observing_work(graph, seen.in_memory, seen.batch_size))
        best = next(iter(singles(fit, progress, self.methods).values()))
        return _Start(graph, seen, fit, best, self.methods)

    @property
    def _work_of_other(self) -> float:
        """What another form takes: to look at samples twice, trials, and the floats of what judges it."""
        seen, graph, count = self.seen, self.graph, self.fit.samples
        trial = INTEGER * count * pass_work(graph) + len(self.fit.halves) * graph_work(graph)
        floats = (count + 2 * seen.in_memory) * pass_work(graph)
        looks = 2 * observing_work(graph, seen.in_memory, seen.batch_size)
        return looks + len(self.methods) * trial + floats


def _searched(known: Calibrated, start: _Start) -> tuple[_Start, RangeChoice]:
    """The form of the graph, and the methods that trials found for its tensors."""
    graph, progress = known.graph, known.progress
    is_float = known.settings.io == "float"
    flat, real = normalized_inputs(graph, start.seen.together()) if is_float else (graph, frozenset[str]())
    if real:
        progress("normalizing inputs")
        concats = replace(start.fit.concats, real=start.fit.concats.real | real)
        better = start.other(lambda _graph, _statistics: flat, concats, progress)
        if better.worst > start.worst + _WORTH_FLOATS_DB:
            start = better
    start = _with_equalized_channels(start, progress)
    patience = inf if known.settings.effort == "high" else PATIENCE
    return start, choose(start.fit, start.choice, progress, patience)


def _with_equalized_channels(start: _Start, progress: Progress) -> _Start:
    """The same, or the form with equalized channels that is better."""
    found = pairs(start.graph)
    best = start
    for norms_twice in (False, True):
        if not any(bool(pair.apart) is norms_twice for pair in found):
            continue
        progress("equalizing channels" + ", with norms for layers and for residuals" * norms_twice)
        form = partial(_equalized, norms_twice=norms_twice)
        better = start.other(form, start.fit.concats, progress)
        if better.quality > best.quality and (not norms_twice or better.worst > best.worst + _WORTH_NORMS_DB):
            best = better
    return best


def _equalized(graph: Graph, statistics: Mapping[str, Statistics], *, norms_twice: bool) -> Graph:
    reach = {name: s.reaches for name, s in statistics.items() if s.reaches is not None}
    return equalize(graph, reach, _SHARES, norms_twice=norms_twice)


def _affordable(fit: CrossFit, budget: SearchBudget) -> int:
    """How many of the samples the trials of all methods for all tensors can run on."""
    fixed = work(fit, 0)
    return max(int((budget.left - fixed) / max(work(fit, 1) - fixed, 1)), _MIN_SAMPLES)
