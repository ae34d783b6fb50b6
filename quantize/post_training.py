"""Post-training quantization: calibrate, choose scales by trial, correct biases, and say what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.core.types import Array
from edgekit.quantize.calibration.calibration_warnings import calibration_warnings, check_layers
from edgekit.quantize.calibration.observe import RANGES, Observer, Statistics
from edgekit.quantize.calibration.range_search import CalibratedTensors, RangeChoice, best_single, choose
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.gate import Gate, Judge
from edgekit.quantize.integers.integer_io import bring_integers_out
from edgekit.quantize.measure import Measure, Trial
from edgekit.quantize.mixed_precision.format_search import FormatSearch
from edgekit.quantize.mixed_precision.formats import Formats, could_be_wide, int4_layers
from edgekit.quantize.mixed_precision.mixed_range_concat import MixedRangeConcats
from edgekit.quantize.outcome import Quantization, QuantizedLayer, describe, with_measured
from edgekit.quantize.preparation.equalize import equalize, pairs
from edgekit.quantize.preparation.input_normalization import normalized_inputs
from edgekit.quantize.preparation.prepare import prepare
from edgekit.quantize.rounding.refinement import refined
from edgekit.quantize.settings import AUTO, DEFAULT, Settings

_HELD_EVERY = 2  # of the samples, one of so many is held out
_MAX_HELD, _MAX_KEPT = 64, 128  # samples in memory: held out, and others
_SHARES = (1.0, 0.5)  # of what would make channels equal, before depthwise and before other layers
_WORTH_FLOATS_DB = 3.0  # that outputs must gain where inputs are normalized in floats
_WORK = 4e9  # multiplications that the trials may take, about
_OUTSIDE = 0.05  # of a range: held-out data beyond that is worth a warning


def quantize(
    graph: Graph,
    samples: Iterable[Sample],
    settings: Settings = DEFAULT,
    progress: Progress = lambda step: None,
) -> tuple[Graph, Quantization]:
    """The graph of integers, and the report. Every other sample is held out: the others give ranges, and
    those are chosen by what they do to the samples held out. In the end the ranges are those of all samples.
    With labels, `samples` are gone through again."""
    known = calibrated(graph, samples, settings, progress)
    judge = Judge(
        known.graph, settings.gate, known.measure, _Labelled(samples, settings.gate.labels), progress
    )
    found = known.search(judge).run()
    made = bring_integers_out(found.trial.quantized.graph, settings.io)
    report = describe(known.graph, settings, known.measure, found, made, known.methods)
    made = with_measured(made, report, found, known.seen.together())
    seen = known.seen
    warnings = (*report.warnings, *_warnings(known, report.layers))
    return made, replace(report, samples=seen.count, held_out=seen.held_count, warnings=warnings)


@dataclass(frozen=True)
class Calibrated:
    """A graph whose ranges are chosen: it can be quantized to any formats from there."""

    graph: Graph
    seen: _Samples
    measure: Measure
    methods: Mapping[str, str]
    tensors: CalibratedTensors
    settings: Settings
    progress: Progress

    def finish(self, formats: Formats) -> Trial:
        """The graph in these formats, biases corrected."""
        wide = could_be_wide(self.graph, self.methods) if self.settings.activations == "int16" else ()
        formats = replace(formats, wide=formats.wide | frozenset(wide))
        plain = self.measure.trial(self.tensors.quantized(self.methods, formats))
        high = self.settings.effort == "high"
        return refined(self.graph, plain, self.seen.kept, self.measure, high=high, progress=self.progress)

    def search(self, judge: Judge) -> FormatSearch:
        """The search for the cheapest formats that pass."""
        allowed = self.settings.formats
        return FormatSearch(
            self.tensors, self.methods, self.measure, judge, self.finish, allowed, self.progress
        )


def calibrated(graph: Graph, samples: Iterable[Sample], settings: Settings, progress: Progress) -> Calibrated:
    """Look at the samples, and choose the ranges of tensors by trial."""
    if any(value.type.quant is not None for value in graph.values.values()):
        raise EdgeKitError("E0103", f"{graph.name} is quantized already", hint="quantize the float model")
    graph = prepare(graph)
    check_layers(graph)
    seen = _Samples.of(graph, samples, progress)
    _check_labels(settings.gate, seen.count)
    held = seen.held[: _affordable(graph, len(seen.held))]
    concats = MixedRangeConcats.found(graph, seen.statistics)
    measure = Measure(graph, held, concats if settings.io == "float" else concats.in_one_scale)
    graph, seen, measure, methods = _chosen(graph, seen, measure, settings, progress)
    # What was held out has made the choice; the ranges are those of all samples.
    narrow = int4_layers(graph) if settings.weights == "int4" else {}
    tensors = CalibratedTensors.of(graph, seen.together(), narrow, measure.concats)
    return Calibrated(graph, seen, measure, methods, tensors, settings, progress)


@dataclass(frozen=True)
class _Start:
    """A form of the graph, and the best single method for its ranges."""

    graph: Graph
    seen: _Samples
    tensors: CalibratedTensors
    measure: Measure
    choice: RangeChoice

    @staticmethod
    def of(graph: Graph, seen: _Samples, measure: Measure, progress: Progress) -> _Start:
        tensors = CalibratedTensors.of(graph, seen.statistics, concats=measure.concats)
        return _Start(graph, seen, tensors, measure, best_single(tensors, measure, progress))

    @property
    def worst(self) -> float:
        """Signal to noise of the worst output: no other one makes up for it."""
        return self.measure.worst(self.choice.trial)[0]

    def other(self, graph: Graph, concats: MixedRangeConcats, progress: Progress) -> _Start:
        """Of another form."""
        return _Start.of(
            graph, self.seen.again(graph), Measure(graph, self.measure.samples, concats), progress
        )


def _chosen(
    graph: Graph, seen: _Samples, measure: Measure, settings: Settings, progress: Progress
) -> tuple[Graph, _Samples, Measure, Mapping[str, str]]:
    """How the range of each tensor is chosen; and the graph, with level inputs and equalized channels where
    that is better."""
    if settings.calibrate != AUTO:
        return graph, seen, measure, dict.fromkeys(seen.statistics, settings.calibrate)
    start = _Start.of(graph, seen, measure, progress)
    flat, real = (
        normalized_inputs(graph, seen.statistics) if settings.io == "float" else (graph, frozenset[str]())
    )
    if real:
        progress("normalizing inputs")
        better = start.other(flat, replace(measure.concats, real=measure.concats.real | real), progress)
        if better.worst > start.worst + _WORTH_FLOATS_DB:
            start = better
    if pairs(start.graph):
        progress("equalizing channels")
        reach = {name: s.reaches for name, s in start.seen.statistics.items() if s.reaches is not None}
        better = start.other(equalize(start.graph, reach, _SHARES), start.measure.concats, progress)
        if better.worst > start.worst:
            start = better
    return (
        start.graph,
        start.seen,
        start.measure,
        choose(start.tensors, start.measure, start.choice, progress),
    )


def _check_labels(gate: Gate, count: int) -> None:
    if gate.labels is not None and len(gate.labels) != count:
        raise EdgeKitError(
            "E0102",
            f"there are {len(gate.labels)} labels for {count} calibration samples",
            hint="a label for each sample, in the same order",
        )


@dataclass(frozen=True, eq=False)
class _Labelled:
    """The held-out samples with their labels."""

    samples: Iterable[Sample]
    labels: Array | None

    def __iter__(self) -> Iterator[tuple[Sample, int]]:
        assert self.labels is not None
        for i, sample in enumerate(self.samples):
            if i % _HELD_EVERY == _HELD_EVERY - 1 or len(self.labels) == 1:
                yield sample, int(self.labels[i])


@dataclass(frozen=True)
class _Samples:
    """Samples that were kept, and what all of them showed."""

    statistics: Mapping[str, Statistics]
    held_statistics: Mapping[str, Statistics]
    kept: list[Sample]
    held: list[Sample]
    count: int
    held_count: int

    @staticmethod
    def of(graph: Graph, samples: Iterable[Sample], progress: Progress) -> _Samples:
        """One pass. A single sample serves for both."""
        observer, apart = Observer(graph), Observer(graph)
        kept: list[Sample] = []
        held: list[Sample] = []
        total = f" of {len(samples)}" if isinstance(samples, Sized) else ""
        for i, sample in enumerate(samples):
            progress(f"calibrating, sample {i + 1}{total}")
            if i % _HELD_EVERY == _HELD_EVERY - 1:
                apart.add(sample)
                if len(held) < _MAX_HELD:
                    held.append(sample)
            else:
                observer.add(sample)
                if len(kept) < _MAX_KEPT:
                    kept.append(sample)
        if not observer.seen:
            raise EdgeKitError(
                "E0110", "there is no calibration sample", hint="a hundred typical inputs are plenty"
            )
        count = observer.seen + apart.seen
        return _Samples(observer.statistics, apart.statistics, kept, held or kept, count, apart.seen)

    def together(self) -> dict[str, Statistics]:
        """Of all samples."""
        held = self.held_statistics
        return {name: s + held[name] if name in held else s for name, s in self.statistics.items()}

    def again(self, graph: Graph) -> _Samples:
        """What the samples in memory show of another graph."""
        observer, apart = Observer(graph), Observer(graph)
        for sample in self.kept:
            observer.add(sample)
        for sample in self.held if self.held_count else []:
            apart.add(sample)
        return replace(self, statistics=observer.statistics, held_statistics=apart.statistics)

    def outside(self) -> list[tuple[str, float]]:
        """Values that leave the calibrated range on held-out samples, and how far, as a share of it."""
        found = []
        for name, apart in self.held_statistics.items():
            seen = self.statistics[name]
            width = max(seen.high, 0.0) - min(seen.low, 0.0)
            beyond = max(apart.high - seen.high, seen.low - apart.low)
            if width > 0 and beyond > _OUTSIDE * width:
                found.append((name, beyond / width))
        return found


def _affordable(graph: Graph, held: int) -> int:
    """How many samples trials can be run on."""
    macs = sum(node.op.macs(*(graph.type(name) for name in node.inputs)) for node in graph.nodes)
    trials = len(RANGES) * (len(graph.nodes) + 1)
    return max(4, min(held, int(_WORK / max(macs * trials / 2, 1))))


def _warnings(known: Calibrated, layers: Sequence[QuantizedLayer]) -> Iterator[str]:
    """What users should know of the data, and of the outputs."""
    graph, seen, concats = known.graph, known.seen, known.measure.concats
    yield from calibration_warnings(graph, seen.together(), seen.count)
    ranged = {layer.name for layer in layers if layer.range} | set(graph.inputs)
    if outside := [pair for pair in seen.outside() if pair[0] in ranged]:
        name, share = max(outside, key=lambda pair: pair[1])
        count = f"{len(outside)} tensors leave" if len(outside) > 1 else "1 tensor leaves"
        how = f"{name:.40} by {share:.0%}: more samples help"
        yield f"on held-out samples {count} the calibrated range, {how}"
    if names := ", ".join(concats.one_scale):
        yield (
            f"{names:.60} joins tensors whose ranges differ much, in one scale for all: "
            "make them outputs of their own, or leave outputs in floats"
        )
    if not seen.held_count:
        yield f"with {seen.count} samples nothing was held out: the quality is that on known data"
