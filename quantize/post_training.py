"""Post-training quantization: calibrate, choose scales by trial, correct biases, and say what came of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes.channels import dead_channels
from edgekit.core.progress import Progress
from edgekit.core.simulate import check_work
from edgekit.core.types import Array
from edgekit.quantize import reserves, streams
from edgekit.quantize.auto_ranges import compared_samples, with_best_ranges
from edgekit.quantize.calibrated import Calibrated, Unseen, given_formats
from edgekit.quantize.calibration.calibration_samples import CalibrationSamples, held_out
from edgekit.quantize.calibration.calibration_warnings import (
    calibration_warnings,
    check_layers,
    equal_samples_warning,
    label_warning,
    observed_inputs,
    one_sided_warnings,
)
from edgekit.quantize.calibration.cross_fit import CrossFit
from edgekit.quantize.calibration.heavy_tails import clipped
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.calibration.search_budget import SearchBudget, observing_work
from edgekit.quantize.gate import Judge
from edgekit.quantize.integers.int8 import Quantized
from edgekit.quantize.integers.integer_io import bring_integers_out
from edgekit.quantize.measure import Measure, with_chance
from edgekit.quantize.mixed_precision.float_islands import FloatIslands
from edgekit.quantize.mixed_precision.format_search import FormatSearch, Mixed
from edgekit.quantize.mixed_precision.int16_outputs import float_functions
from edgekit.quantize.mixed_precision.mixed_range_concat import MixedRangeConcats
from edgekit.quantize.mixed_precision.noise_search import NoiseSearch
from edgekit.quantize.outcome import Quantization, QuantizedLayer, describe, mixed_precision, with_measured
from edgekit.quantize.preparation.opened_states import OpenedStates
from edgekit.quantize.preparation.prepare import prepare
from edgekit.quantize.rounding.refinement import refining_work
from edgekit.quantize.settings import AUTO, DEFAULT, LEAST_SQNR, Settings

_SEARCHED = 8  # held-out samples on which those are searched
_UNSEEN = 32  # samples on which ranges by others are measured
_WORSE_DB = 3.0  # there, which is worth a warning
_DOUBTFUL_DB = 20.0  # less on other samples is worth a warning, however unlikely
_DOUBTFUL_TAIL_DB = 24.0  # of a tensor, if all that it loses is beyond the range: others lose, too
_DOUBT_COST = 0.1  # of time and flash, for what other samples may lack beside those measured
_MEMORY = 2**26  # bytes for what held-out samples lead to in the float graph, about: of others outputs alone


def quantize(
    graph: Graph,
    samples: Iterable[Sample],
    settings: Settings = DEFAULT,
    progress: Progress = lambda step: None,
) -> tuple[Graph, Quantization]:
    """The graph of integers, and the report. Half of the samples are held out: the choice of ranges is judged
    by the half that did not give them. In the end the ranges are those of all samples. With labels, `samples`
    are gone through again, and so they are where the graph has states: they are the steps of one stream."""
    check_work(graph)
    if graph.states:
        return streams.quantize(graph, samples, settings, progress, _quantize)
    return _quantize(OpenedStates.of(graph), samples, settings, progress)[1:]


def _quantize(
    opened: OpenedStates, samples: Iterable[Sample], settings: Settings, progress: Progress
) -> tuple[Quantized, Graph, Quantization]:
    """An open graph in integers, closed again; the same with ports as `io` says; and the report."""
    graph = opened.graph
    known = calibrated(graph, samples, settings, progress, opened.real)
    labels = settings.gate.labels
    labelled = None if labels is None else _Labelled(samples, labels)
    judge = Judge(known.graph, settings.gate, known.measure, labelled, progress)
    search = known.search(judge)
    found = plain = search.run()
    progress("measuring on unseen samples")
    unseen = known.unseen(search.formats(plain.levels), _UNSEEN)
    wanted = with_chance(LEAST_SQNR, plain.verdict.sqnr_db, unseen.surely_db)
    if settings.is_mixed_by_need and plain.verdict.sqnr_db < wanted:
        limit = math.inf if plain.verdict.sqnr_db < LEAST_SQNR else _DOUBT_COST
        found = _with_better_formats(search, plain, known, wanted, limit, progress)
    found = search.with_islands(found)
    if found is not plain:
        unseen = known.unseen(search.formats(found.levels), _UNSEEN)
    closed = opened.closed(found.trial.quantized)
    made = _without_dead_channels(bring_integers_out(closed.graph, settings.io))
    report = describe(known.graph, settings, known.measure, found, made, known.methods, fitting(graph))
    if found is not plain:
        report = replace(report, mixed=mixed_precision(search, plain, found))
    made = with_measured(made, report, found, known.seen.together())
    seen = known.seen
    warnings = (
        *label_warning(found.verdict.accuracy_before, None if labelled is None else labelled.judged),
        *report.warnings,
        *_warnings(known, report.layers),
        *unseen_warning(report.sqnr_db, unseen, clipped(known.graph, found.trial.quantized, seen.together())),
    )
    inputs = observed_inputs(known.graph, seen.together())
    report = replace(
        report,
        samples=seen.count,
        held_out=seen.held_count,
        unseen_db=unseen.sqnr_db,
        warnings=warnings,
        inputs=inputs,
    )
    return closed, made, report


def _without_dead_channels(graph: Graph) -> Graph:
    """Channels that are below half a step of their tensor are constant, and nothing depends on them."""
    smaller = dead_channels(graph)
    if smaller is graph:
        return graph
    macs = sum(node.op.macs(*map(graph.type, node.inputs)) for node in graph.nodes)
    return replace(smaller, source=replace(smaller.source, float_macs=macs))


def _with_better_formats(
    search: FormatSearch, plain: Mixed, known: Calibrated, wanted: float, limit: float, progress: Progress
) -> Mixed:
    """The same with better formats for layers, found with ranges of samples that others judge: those of all
    clip nothing, and the noise of what they leave out would not be seen. Where that half is good enough as it
    is, those of all are searched."""
    apart = known.judged_by_others()
    judge = Judge(apart.graph, apart.settings.gate, apart.measure, None, progress)
    budget = known.measure.budget
    budget.reserved = reserves.ending(known.measure, fitting(known.graph))
    narrow = apart.search(judge)
    if budget.left < refining_work(apart.measure) + reserves.FORMATS_SHARE * budget.limit:
        narrow = replace(narrow, finish=apart.plain)  # biases are corrected in the end
    before = narrow.run()
    if before.verdict.sqnr_db >= wanted:
        apart, narrow, before = known, search, plain
    few = apart.measure.on_some(_SEARCHED, budget.part(budget.left), keeps_all=True)
    levels = NoiseSearch(narrow, few, wanted, progress, limit).run(before).levels
    trial = search.finish(search.formats(levels))
    found = replace(plain, levels=levels, trial=trial, verdict=search.judge(trial))
    return found if found.verdict.sqnr_db > plain.verdict.sqnr_db else plain


def calibrated(
    graph: Graph,
    samples: Iterable[Sample],
    settings: Settings,
    progress: Progress,
    real: frozenset[str] = frozenset(),
) -> Calibrated:
    """Look at the samples, and choose the ranges of tensors by trial. The layers `real` stay floats."""
    if any(value.type.quant is not None for value in graph.values.values()):
        raise EdgeKitError("E0103", f"{graph.name} is quantized already", hint="quantize the float model")
    given, graph = graph, prepare(graph)
    check_layers(graph)
    seen = CalibrationSamples.of(graph, samples, progress)
    settings.gate.check_labels(seen.count)
    most = fitting(graph)
    concats = _with_floats(graph, MixedRangeConcats.found(graph, seen.statistics), settings, real)
    budget = SearchBudget.of(given, seen.count, settings.passes)
    budget.pay(observing_work(graph, seen.count, seen.batch_size))
    fits = most >= len(seen.held)
    measure = Measure(graph, seen.held, concats, batch_size=seen.batch_size, budget=budget)
    measure = measure if fits else measure.of_outputs(budget)
    is_auto = settings.calibrate == AUTO
    budget.reserved = reserves.ending(measure, most)
    methods = dict.fromkeys(seen.statistics, "minmax" if is_auto else settings.calibrate)
    known = Calibrated.of(seen, measure, methods, settings, progress)
    if not is_auto:
        return known
    most = compared_samples(graph, budget, len(seen.held))
    return with_best_ranges(known, CrossFit.both_ways(seen, measure, most, known.tensors.given), budget)


def _with_floats(
    graph: Graph, concats: MixedRangeConcats, settings: Settings, real: frozenset[str]
) -> MixedRangeConcats:
    """The same with `real`, and with layers that stay floats because ports are, or their neighbours."""
    is_float = settings.io == "float"
    concats = concats if is_float else concats.in_one_scale
    concats = replace(concats, real=concats.real | real)
    islands = FloatIslands(graph, has_float_ports=is_float).among(real)
    concats = replace(concats, real=concats.real | islands)
    given = given_formats(graph, settings)
    if given.has_int16_outputs:
        concats = replace(concats, real=concats.real | float_functions(graph, concats, given.weights))
    return concats


def fitting(graph: Graph) -> int:
    """How many samples there is memory for, with all that they lead to."""
    size = sum(graph.type(name).bytes for node in graph.nodes for name in node.outputs)
    return max(2, _MEMORY // max(size, 1))


@dataclass(frozen=True, eq=False)
class _Labelled:
    """The held-out samples with their labels."""

    samples: Iterable[Sample]
    labels: Array

    def __iter__(self) -> Iterator[tuple[Sample, int]]:
        for sample, label, is_judged in zip(self.samples, self.labels, self._is_judged(), strict=False):
            if is_judged:
                yield sample, int(label)

    @property
    def judged(self) -> Array:
        """The labels of these samples."""
        return self.labels[list(self._is_judged())]

    def _is_judged(self) -> Iterator[bool]:
        count = len(self.labels)
        yield from (is_held or count == 1 for is_held in islice(held_out(), count))


def unseen_warning(held_db: float, unseen: Unseen, tails: Iterable[tuple[float, str]]) -> Iterator[str]:
    """Ranges of all samples clip nothing of the samples that they are measured on, few of these may
    decide what is measured, and others may have values that are far beyond."""
    clipped_db, tensor = min(tails, default=(math.inf, ""))
    if unseen.sqnr_db < min(held_db - _WORSE_DB, LEAST_SQNR):
        yield (
            f"samples that give no ranges have {unseen.sqnr_db:.1f} dB where the other half gives them, "
            f"{held_db:.1f} dB with ranges of all: more samples help"
        )
    elif unseen.surely_db < _DOUBTFUL_DB <= held_db:
        yield (
            f"few samples decide how good output {unseen.output:.40} is, others may have less than "
            f"{_DOUBTFUL_DB:g} dB: more samples help, above all those for which it is large"
        )
    elif clipped_db < _DOUBTFUL_TAIL_DB and held_db >= _DOUBTFUL_DB:
        yield (
            f"the largest values of {tensor:.40} are far beyond the others (a heavy tail), so that other "
            f"samples may have less than {_DOUBTFUL_DB:g} dB: more samples help"
        )


def _warnings(known: Calibrated, layers: Sequence[QuantizedLayer]) -> Iterator[str]:
    """What users should know of the data, and of the outputs."""
    graph, seen, concats = known.graph, known.seen, known.measure.concats
    yield from calibration_warnings(graph, seen.together(), seen.count)
    yield from one_sided_warnings(graph, seen.together())
    yield from equal_samples_warning(seen.kept if seen.held is seen.kept else [*seen.kept, *seen.held])
    ranged = {layer.name for layer in layers if layer.range} | set(graph.inputs)
    if outside := [pair for pair in seen.outside() if pair[0] in ranged]:
        name, share = max(outside, key=lambda pair: pair[1])
        count = f"{len(outside)} tensors leave" if len(outside) > 1 else "1 tensor leaves"
        yield (
            f"with one half of the samples {count} the range of the other half, {name:.40} by {share:.0%} of "
            "its power: more samples help, unless some of these are on another scale"
        )
    if names := ", ".join(concats.one_scale):
        yield (
            f"{names:.60} joins tensors whose ranges differ much, in one scale for all: "
            "make them outputs of their own, or leave outputs in floats"
        )
    if not seen.held_count:
        yield f"with {seen.count} samples nothing was held out: the quality is that on known data"
