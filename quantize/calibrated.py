"""A graph whose ranges are chosen: it can be quantized to any formats from there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.quantize.calibration.calibrated_tensors import CalibratedTensors, GivenFormats
from edgekit.quantize.calibration.calibration_samples import CalibrationSamples
from edgekit.quantize.calibration.cross_fit import CrossFit
from edgekit.quantize.calibration.search_budget import pass_work
from edgekit.quantize.gate import Judge
from edgekit.quantize.measure import Measure, Trial
from edgekit.quantize.mixed_precision.float_islands import FloatIslands
from edgekit.quantize.mixed_precision.format_search import FormatSearch
from edgekit.quantize.mixed_precision.formats import Formats, could_be_wide, int4_layers
from edgekit.quantize.rounding.bias_correction import ExactMeans
from edgekit.quantize.rounding.refinement import exact_means, refined
from edgekit.quantize.settings import Settings

UNSEEN_SHARE = 0.05  # of the budget, for what samples show that give no ranges
_UNSEEN_WORK = 3.0  # float passes: one of the float graph, and one of integers, twice as long


def given_formats(graph: Graph, settings: Settings) -> GivenFormats:
    """The formats that users ask for."""
    narrow = int4_layers(graph) if settings.weights == "int4" else {}
    return GivenFormats(narrow, settings.has_int16_outputs)


@dataclass(frozen=True)
class Unseen:
    """The quality on samples that have no part in ranges; nan where there are none."""

    sqnr_db: float = math.nan  # of the worst output
    surely_db: float = math.nan  # that other samples should have, too
    output: str = ""  # that has it


@dataclass(frozen=True)
class Calibrated:
    """What is known of it. `tensors` are those of all samples: what was held out has made the choice."""

    graph: Graph
    seen: CalibrationSamples
    measure: Measure
    methods: Mapping[str, str]
    tensors: CalibratedTensors
    settings: Settings
    progress: Progress
    fit: CrossFit | None = None  # judges the ranges by samples that did not give them
    _finished: dict[bool, Trial] = field(
        default_factory=dict
    )  # without formats, by effort: it is asked for often

    @staticmethod
    def of(
        seen: CalibrationSamples,
        measure: Measure,
        methods: Mapping[str, str],
        settings: Settings,
        progress: Progress,
    ) -> Calibrated:
        graph = measure.graph
        given = given_formats(graph, settings)
        tensors = CalibratedTensors.of(graph, seen.together(), given, measure.concats, measure.budget)
        return Calibrated(graph, seen, measure, methods, tensors, settings, progress)

    def by(self, methods: Mapping[str, str], fit: CrossFit) -> Calibrated:
        """The same with ranges by other methods, which `fit` can judge."""
        return replace(self, methods=methods, fit=fit, _finished={})

    def plain(self, formats: Formats) -> Trial:
        """The graph in these formats, as it is."""
        return self.measure.trial(self.tensors.quantized(self.methods, self._with_wide(formats)))

    def unseen(self, formats: Formats, most: int) -> Unseen:
        """The quality where half of the samples give the ranges for the other half, on so many of them."""
        if not self.seen.held_count:
            return Unseen()
        budget = self.measure.budget
        count = budget.samples(UNSEEN_SHARE, _UNSEEN_WORK * pass_work(self.graph), most, 4)
        fit = self._crossed(count).on_some(count, budget)
        trial = fit.trial(self.methods, formats=self._with_wide(formats))
        return Unseen(fit.worst(trial)[0], *fit.surely(trial))

    def judged_by_others(self) -> Calibrated:
        """The same with ranges by half of the samples, judged by the others: the half that fares worse."""
        if not self.seen.held_count:
            return self
        count = 2 * len(self.measure.samples)
        fit = self._crossed(
            self.measure.budget.samples(UNSEEN_SHARE, _UNSEEN_WORK * pass_work(self.graph), count, 8)
        )
        pairs = zip(fit.halves, fit.trial(self.methods), strict=True)
        half, _ = min(pairs, key=lambda pair: pair[0].measure.worst(pair[1])[0])
        graph, measure, seen = half.measure.graph, half.measure, replace(self.seen, kept=half.fitting)
        return replace(self, graph=graph, measure=measure, seen=seen, tensors=half.tensors, _finished={})

    def _crossed(self, most: int) -> CrossFit:
        if self.fit is not None:
            return self.fit
        few = self.measure.on_some(most // 2, self.measure.budget)
        return CrossFit.both_ways(self.seen, few, most // 2, self.tensors.given)

    def _with_wide(self, formats: Formats) -> Formats:
        wide = could_be_wide(self.graph, self.methods) if self.settings.activations == "int16" else ()
        return replace(formats, wide=formats.wide | frozenset(wide))

    def finish(self, formats: Formats) -> Trial:
        """The graph in these formats, biases corrected, and weights rounded with high effort."""
        high = self.settings.effort == "high"
        return self._refined(formats, high=high) if formats != Formats() else self.corrected(high=high)

    def corrected(self, *, high: bool = False) -> Trial:
        """The graph in int8, biases corrected."""
        if high not in self._finished:
            self._finished[high] = self._refined(Formats(), high=high)
        return self._finished[high]

    def _refined(self, formats: Formats, *, high: bool) -> Trial:
        plain, kept = self.plain(formats), self.seen.kept
        return refined(plain, self._exact, self.measure, self.progress, kept if high else ())

    @cached_property
    def _exact(self) -> ExactMeans:
        """What biases are corrected by: that of the choice of ranges, where it was for the same graph."""
        known = None
        for half in self.fit.halves if self.fit else ():
            if half.exact.graph is self.graph and half.fitting is self.seen.kept:
                known = half.exact
        found = exact_means(self.graph, self.seen.kept, self.measure.budget)
        return known if known and len(known.samples) == len(found.samples) else found

    def search(self, judge: Judge) -> FormatSearch:
        """The search for the cheapest formats that pass."""
        return FormatSearch(
            self.tensors,
            self.methods,
            self.measure,
            judge,
            self.finish,
            self.settings.formats,
            self.settings.costs,
            FloatIslands(self.graph, has_float_ports=self.settings.io == "float"),
            self.progress,
        )
