"""Cross-fitting: ranges that one half of the samples gives are judged by the other half, both ways.

The final ranges are those of all samples. Judged by samples that have a part in them, no range would ever
meet values that it has not seen, and narrow ones would look better than they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core.ir import Graph
from edgekit.core.types import Array
from edgekit.quantize.calibration.calibrated_tensors import CalibratedTensors, GivenFormats
from edgekit.quantize.calibration.calibration_samples import CalibrationSamples, observed
from edgekit.quantize.calibration.observe import Range, Statistics
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.calibration.search_budget import SearchBudget, observing_work
from edgekit.quantize.measure import Measure, OutputQuality, Trial, ratio
from edgekit.quantize.mixed_precision.formats import Formats
from edgekit.quantize.mixed_precision.mixed_range_concat import MixedRangeConcats
from edgekit.quantize.rounding.bias_correction import ExactMeans
from edgekit.quantize.rounding.refinement import exact_means

CrossTrial = Sequence[Trial]  # of each half
Form = Callable[[Graph, Mapping[str, Statistics]], Graph]  # the same function, by what samples show of it
_INT8 = Formats()
_CORRECTED_SHARE = 0.02  # of the budget, for the biases of one half
_SURE = 2.5  # standard errors: samples are few, and ranges many


@dataclass(frozen=True)
class Half:
    """Ranges by some samples, which are `fitting`, and the measure of others."""

    tensors: CalibratedTensors
    measure: Measure
    fitting: Sequence[Sample]
    exact: ExactMeans  # of layers, on those samples

    @staticmethod
    def of(
        statistics: Mapping[str, Statistics],
        measure: Measure,
        fitting: Sequence[Sample],
        given: GivenFormats,
    ) -> Half:
        tensors = CalibratedTensors.of(measure.graph, statistics, given, measure.concats, measure.budget)
        exact = exact_means(measure.graph, fitting, measure.budget, _CORRECTED_SHARE)
        return Half(tensors, measure, fitting, exact)


class CrossFit(OutputQuality[CrossTrial]):
    """Both halves; a single sample judges itself."""

    def __init__(self, halves: Sequence[Half]) -> None:
        self.halves = halves
        self.scores = halves[0].measure.scores
        self.concats = halves[0].measure.concats
        self.budget = halves[0].measure.budget

    @staticmethod
    def both_ways(seen: CalibrationSamples, measure: Measure, most: int, given: GivenFormats) -> CrossFit:
        """`measure` is that of the samples held out. Of the others, `most` judge at most."""
        few = measure if most >= len(measure.samples) else measure.on_some(most, measure.budget)
        halves = [Half.of(seen.statistics, few, seen.kept, given)]
        if seen.held_count:
            kept = measure.on(seen.kept[:most])
            halves.append(Half.of(seen.held_statistics, kept, seen.held, given))
        return CrossFit(halves)

    def on_some(self, count: int, budget: SearchBudget, *, keeps_all: bool = False) -> CrossFit:
        """On so many samples of all; trials may keep all values, to share them."""
        if count >= self.samples and budget is self.budget and not keeps_all:
            return self
        each = -(-count // len(self.halves))
        few = [half.measure.on_some(each, budget, keeps_all=keeps_all) for half in self.halves]
        return CrossFit([replace(half, measure=one) for half, one in zip(self.halves, few, strict=True)])

    def reshaped(self, form: Form, concats: MixedRangeConcats, batch_size: int) -> CrossFit:
        """Other forms of the graph, for each half by what its samples show: what they do not show must not
        help to judge the form."""
        halves = []
        for half in self.halves:
            graph = form(half.measure.graph, half.tensors.statistics)
            statistics = observed(graph, half.fitting, batch_size)
            half.measure.budget.pay(observing_work(graph, len(half.fitting), batch_size))
            measure = half.measure.of_graph(graph, concats)
            halves.append(Half.of(statistics, measure, half.fitting, half.tensors.given))
        return CrossFit(halves)

    def measured_like(self, other: CrossFit) -> CrossFit:
        """On the samples that judge in another one."""
        return CrossFit(
            [
                replace(half, measure=half.measure.on(as_wanted.measure.samples, other.budget))
                for half, as_wanted in zip(self.halves, other.halves, strict=True)
            ]
        )

    def trial(
        self, methods: Mapping[str, str], before: CrossTrial | None = None, formats: Formats = _INT8
    ) -> CrossTrial:
        """Ranges by these methods; values that a trial has in common with an earlier one are taken over."""
        return [
            half.measure.trial(half.tensors.quantized(methods, formats), before[i] if before else None)
            for i, half in enumerate(self.halves)
        ]

    def of(self, trial: CrossTrial, name: str) -> float:
        found = [half.measure.powers(part, name) for half, part in zip(self.halves, trial, strict=True)]
        return ratio(sum(signal for signal, _ in found), sum(noise for _, noise in found))

    def measured_parts(self) -> Sequence[str]:
        return self.halves[0].measure.measured_parts()

    def powers_by_sample(self, trial: CrossTrial, name: str) -> tuple[Array, Array]:
        pairs = zip(self.halves, trial, strict=True)
        found = [half.measure.powers_by_sample(part, name) for half, part in pairs]
        signals, noises = (np.concatenate(powers) for powers in zip(*found, strict=True))
        return signals, noises

    def is_surely_better(self, trial: CrossTrial, before: CrossTrial) -> bool:
        """Is the noise less by more than chance explains? What a single sample gains is chance."""
        gains = np.concatenate(
            [
                half.measure.noises(then) - half.measure.noises(now)
                for half, now, then in zip(self.halves, trial, before, strict=True)
            ]
        )
        if len(gains) < 2:
            return True
        return bool(gains.mean() > _SURE * gains.std(ddof=1) / math.sqrt(len(gains)))

    @property
    def samples(self) -> int:
        """That trials run on."""
        return sum(len(half.measure.samples) for half in self.halves)

    @property
    def batches(self) -> int:
        """That they run in."""
        return sum(len(half.measure.stacks) for half in self.halves)

    @property
    def tensors(self) -> CalibratedTensors:
        """Of one half: what does not depend on ranges is alike in both."""
        return self.halves[0].tensors

    def ends(self, members: Sequence[str], method: str) -> tuple[Range, ...]:
        """The ranges of some tensors by a method, of both halves."""
        return tuple(half.tensors.range(name, method) for half in self.halves for name in members)
