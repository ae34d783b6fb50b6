"""Post-training quantization: calibrate, choose scales by trial, correct biases, and say what came of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from edgekit.errors import EdgeKitError
from edgekit.ir import Graph
from edgekit.quantize.correct import correct_biases
from edgekit.quantize.equalize import equalize, pairs
from edgekit.quantize.io import Io, bring_integers_out, raw_bytes
from edgekit.quantize.measure import Measure, Sample, Trial
from edgekit.quantize.observe import RANGES, Observer, Statistics
from edgekit.quantize.prepare import prepare
from edgekit.quantize.scales import given
from edgekit.quantize.search import Tensors, best_single, choose

AUTO = "auto"
METHODS = (AUTO, *RANGES)
_HELD_EVERY = 2  # of the samples, one of so many is held out
_MOST_HELD, _MOST_KEPT = 64, 64  # samples in memory: held out, and others
_CORRECTING = 32  # samples that biases are corrected with
_SHARES = (1.0, 0.5)  # of what would make channels equal, before depthwise and before other layers
_WORK = 4e9  # multiplications that the trials may take, about
_OUTSIDE = 0.05  # of a range: held-out data beyond that is worth a warning
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Layer:
    """One layer, and how well it does on held-out samples."""

    name: str
    origin: str
    op: str
    runs_in: str  # int8 or int16, bf16 or f16 weights, or float32
    scale: float | None
    zero: int | None
    range: str  # how it was chosen; empty without a choice
    sqnr_db: float


@dataclass(frozen=True)
class Quantization:
    """What quantization made of a model."""

    name: str
    calibrate: str
    samples: int
    held_out: int
    layers: tuple[Layer, ...]
    outputs: Mapping[str, float]  # signal to noise in dB, of what goes into a softmax that ends the model
    bytes_before: int
    bytes_after: int
    warnings: tuple[str, ...]

    @property
    def sqnr_db(self) -> float:
        return sum(self.outputs.values()) / len(self.outputs) if self.outputs else math.inf


def quantize(
    graph: Graph,
    samples: Iterable[Sample],
    *,
    calibrate: str = AUTO,
    io: Io = "float",
    tell: Tell = lambda step: None,
) -> tuple[Graph, Quantization]:
    """The int8 graph, and the report. Every other sample is held out: the others give ranges, and those are
    chosen by what they do to the samples held out. In the end the ranges are those of all samples. `io` says
    what inputs and outputs are."""
    if calibrate not in METHODS:
        raise EdgeKitError("E0103", f"no such calibration: {calibrate}", hint=f"one of {', '.join(METHODS)}")
    if any(value.type.quant is not None for value in graph.values.values()):
        raise EdgeKitError("E0103", f"{graph.name} is quantized already", hint="quantize the float model")
    graph = prepare(graph)
    seen = _Seen.of(graph, samples, tell)
    held = seen.held[: _affordable(graph, len(seen.held))]
    measure = Measure(graph, held)
    methods: Mapping[str, str] = dict.fromkeys(seen.statistics, calibrate)
    if calibrate == AUTO:
        tensors = Tensors.of(graph, seen.statistics)
        start = best_single(tensors, measure, tell)
        if pairs(graph):
            tell("equalizing channels")
            reach = {name: s.reaches for name, s in seen.statistics.items() if s.reaches is not None}
            level = equalize(graph, reach, _SHARES)
            level_seen = seen.again(level)
            level_tensors, level_measure = Tensors.of(level, level_seen.statistics), Measure(level, held)
            better = best_single(level_tensors, level_measure, tell)
            if better.quality > start.quality:
                graph, seen, tensors, measure, start = level, level_seen, level_tensors, level_measure, better
        methods = choose(tensors, measure, start, tell)
    tell("correcting biases")
    # What was held out has made the choice; the ranges are those of all samples.
    tensors = Tensors.of(graph, seen.together())
    plain = measure.trial(tensors.quantized(methods))
    corrected = measure.trial(correct_biases(graph, plain.quantized, seen.kept[:_CORRECTING]))
    best = corrected if measure.quality(corrected) >= measure.quality(plain) else plain
    made = bring_integers_out(best.quantized.graph, io)
    return made, _report(graph, calibrate, seen, methods, measure, best, made)


@dataclass(frozen=True)
class _Seen:
    """Samples that were kept, and what all of them showed."""

    statistics: Mapping[str, Statistics]
    held_statistics: Mapping[str, Statistics]
    kept: list[Sample]
    held: list[Sample]
    count: int
    held_count: int

    @staticmethod
    def of(graph: Graph, samples: Iterable[Sample], tell: Tell) -> _Seen:
        """One pass. A single sample serves for both."""
        observer, apart = Observer(graph), Observer(graph)
        kept: list[Sample] = []
        held: list[Sample] = []
        for i, sample in enumerate(samples):
            tell(f"calibrating, sample {i + 1}")
            if i % _HELD_EVERY == _HELD_EVERY - 1:
                apart.add(sample)
                if len(held) < _MOST_HELD:
                    held.append(sample)
            else:
                observer.add(sample)
                if len(kept) < _MOST_KEPT:
                    kept.append(sample)
        if not observer.seen:
            raise EdgeKitError(
                "E0110", "there is no calibration sample", hint="a hundred typical inputs are plenty"
            )
        count = observer.seen + apart.seen
        return _Seen(observer.statistics, apart.statistics, kept, held or kept, count, apart.seen)

    def together(self) -> dict[str, Statistics]:
        """Of all samples."""
        held = self.held_statistics
        return {name: s + held[name] if name in held else s for name, s in self.statistics.items()}

    def again(self, graph: Graph) -> _Seen:
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


def _report(
    graph: Graph,
    calibrate: str,
    seen: _Seen,
    methods: Mapping[str, str],
    measure: Measure,
    best: Trial,
    made: Graph,
) -> Quantization:
    layers = tuple(_layers(graph, methods, measure, best))
    warnings = []
    floats = [layer for layer in layers if not layer.runs_in.startswith("int")]
    if floats:
        names = ", ".join(sorted({layer.op for layer in floats}))
        warnings.append(
            f"{len(floats)} of {len(layers)} layers stay float32, without an integer form: {names}"
        )
    ranged = {layer.name for layer in layers if layer.range} | set(graph.inputs)
    if outside := [pair for pair in seen.outside() if pair[0] in ranged]:
        name, share = max(outside, key=lambda pair: pair[1])
        count = f"{len(outside)} tensors leave" if len(outside) > 1 else "1 tensor leaves"
        warnings.append(
            f"on held-out samples {count} the calibrated range, {name:.40} by {share:.0%}: more samples help"
        )
    if not seen.held_count:
        warnings.append(f"with {seen.count} samples nothing was held out: the quality is that on known data")
    outputs = {name: measure.of(best, name) for name in measure.scores}
    before, after = (sum(data.nbytes for _, data in g.constants()) for g in (graph, made))
    return Quantization(
        name=graph.name,
        calibrate=calibrate,
        samples=seen.count,
        held_out=seen.held_count,
        layers=layers,
        outputs=outputs,
        bytes_before=before,
        bytes_after=after,
        warnings=tuple(warnings),
    )


def _layers(graph: Graph, methods: Mapping[str, str], measure: Measure, best: Trial) -> Iterable[Layer]:
    made = best.quantized
    settled, arriving = given(graph), raw_bytes(graph)
    for node in graph.nodes:
        name = node.outputs[0]
        runs_in = "int8" if name in arriving else made.formats[name]
        quant = made.graph.type(made.names[name]).quant if name in made.names else None
        quant = quant if runs_in.startswith("int") else None
        yield Layer(
            name=name,
            origin=node.origin,
            op=type(node.op).__name__,
            runs_in=runs_in,
            scale=quant.scale[0] if quant else None,
            zero=quant.zero[0] if quant else None,
            range=methods.get(name, "") if quant and name not in settled else "",
            sqnr_db=measure.of(best, name) if name in made.names else math.nan,
        )
