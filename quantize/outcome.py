"""What quantization tells of its result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from edgekit.core.ir import Graph, MeasuredTensor, RemovedWork
from edgekit.core.notebook import Number, card
from edgekit.core.operator_names import operator_name
from edgekit.core.passes.int16_outputs import has_fraction
from edgekit.core.progress import Progress
from edgekit.core.quality import decibels
from edgekit.core.types import DType, Value
from edgekit.quantize.calibration.calibrated_tensors import WIDE
from edgekit.quantize.calibration.calibration_warnings import ObservedInput
from edgekit.quantize.calibration.observe import Statistics
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.calibration.scales import given
from edgekit.quantize.gate import Gate, Judge, Verdict
from edgekit.quantize.integers.int8 import Quantized
from edgekit.quantize.integers.integer_io import raw_bytes
from edgekit.quantize.measure import Measure
from edgekit.quantize.mixed_precision.format_search import FormatSearch, Mixed
from edgekit.quantize.settings import LEAST_SQNR, LEAST_WITH_ACCURACY, Settings

_SHOWN = 64  # cells of a histogram that is kept
_TYPICAL = "are the data typical?"
_SLOWER = 0.98  # than floats: what an estimate that is as fast may say
_MAX_JUDGED = 64  # samples that the quality of rounded weights is measured on
_MAX_STEPS = 256  # of a model with states, if there is memory for what they compute
_MEMORY = 2**29  # bytes for that, about


@dataclass(frozen=True)
class QuantizedLayer:
    """One layer, and how well it does on held-out samples."""

    name: str
    origin: str
    op: str
    runs_in: str  # int8 or int16, maybe with int4 weights; bf16 or f16 weights, or float32
    scale: float | None
    zero: int | None
    range: str  # how it was chosen; empty without a choice
    sqnr_db: float
    sensitivity_db: float | None  # what the outputs gain when it alone is computed in floats; None: not asked


@dataclass(frozen=True)
class MixedPrecision:
    """Better formats that layers got because one for all was too noisy, and what they cost."""

    sqnr_before_db: float  # of the worst output
    layers: Mapping[str, str]  # the format of each, by its name
    weight_bytes: int  # more than before
    macs: Mapping[str, float]  # by format, as shares of all multiplications
    alone: str = "int8"  # what all had before
    speedup_before: float = math.nan  # beside floats, estimated


@dataclass(frozen=True)
class Quantization:
    """What quantization made of a model."""

    name: str
    dtype: str
    calibrate: str
    samples: int
    held_out: int
    measured: int  # samples that the quality of outputs is of
    layers_measured: int  # samples that of layers is of: fewer where their values do not fit
    layers: tuple[QuantizedLayer, ...]
    outputs: Mapping[str, float]  # signal to noise in dB, of what goes into a softmax that ends the model
    verdict: Verdict
    bytes_before: int
    bytes_after: int
    warnings: tuple[str, ...]
    inputs: Mapping[str, ObservedInput] = field(default_factory=dict)  # what arrived at each
    mixed: MixedPrecision | None = None  # without a gate: what was done about too much noise
    # Of the worst output where half of the samples give the ranges for the other half, biases as they are.
    unseen_db: float = math.nan
    machine: str = ""  # the class of machines whose costs decided, and were estimated
    speedup: float = math.nan  # how many times as long all layers would take in floats
    states_before: int = 0  # bytes of a stream
    states_after: int = 0
    removed: RemovedWork | None = None  # channels of which integers leave a constant
    judged: Mapping[str, str] = field(default_factory=dict)  # layers of `outputs` in front of a softmax

    @property
    def sqnr_db(self) -> float:
        """Of the worst output."""
        return min(self.outputs.values(), default=math.inf)

    @property
    def quality(self) -> Sequence[tuple[str, float]]:
        """Of each output, or the layer in front of its softmax, by its name."""
        return [(self.judged.get(name, name), ratio) for name, ratio in self.outputs.items()]

    def __repr__(self) -> str:
        quality = "" if not self.outputs else f", {decibels(self.sqnr_db)}"
        return f"<Quantization {self.name}: {self.dtype}, {len(self.layers)} layers{quality}>"

    def _repr_html_(self) -> str:
        """In notebooks."""
        figures = [(f"quality of {name}", decibels(ratio)) for name, ratio in self.quality]
        figures.append(("constants", f"{self.bytes_after:,} B, before {self.bytes_before:,} B"))
        if self.states_after != self.states_before:
            figures.append(("states", f"{self.states_after:,} B, before {self.states_before:,} B"))
        if self.verdict.text:
            figures.append(("gate", f"{'passed' if self.verdict.passed else 'missed'}: {self.verdict.text}"))
        figures += [("warning", warning) for warning in self.warnings]
        finite = [layer.sqnr_db for layer in self.layers if math.isfinite(layer.sqnr_db)]
        most = max(finite, default=0.0) or 1.0
        rows = [
            (
                layer.origin or layer.name,
                layer.op,
                layer.runs_in,
                "" if layer.scale is None else f"{layer.scale:.4g}, zero {layer.zero}",
                Number(
                    decibels(layer.sqnr_db), layer.sqnr_db / most if math.isfinite(layer.sqnr_db) else None
                ),
            )
            for layer in self.layers
        ]
        head = ("layer", "operator", "runs in", "scale", "SQNR")
        return card(f"{self.name} in {self.dtype}", figures, head, rows)


def describe(
    graph: Graph,
    settings: Settings,
    measure: Measure,
    found: Mixed,
    made: Graph,
    ranges: Mapping[str, str],
    fitting: int = 0,
) -> Quantization:
    """The report on a graph made of another. `ranges` says how the range of each tensor was chosen; layers
    are measured on so many samples at most, if all of their values are not there."""
    some, best = measure, found.trial
    if measure.only is not None:
        some = measure.on_some(fitting, measure.budget, keeps_all=True)
        best = some.trial(best.quantized)
    results = [name for node in graph.nodes if (name := node.outputs[0]) in best.quantized.names]
    ratios = {name: some.of(best, name) for name in results if some.samples}
    if some is not measure:  # one figure for an output, here and among the layers
        ratios |= {name: measure.of(found.trial, name) for name in measure.measured_parts()}
    layers = tuple(_layers(graph, ranges, ratios, found))
    warnings = []
    # In a model of floats floats are no surprise, and neither are they where a gate asked for them.
    floats = [
        layer
        for layer in layers
        if not layer.runs_in.startswith("int")
        and graph.type(layer.name).dtype.is_float
        and layer.name not in found.levels
        and layer.name not in measure.concats.real
    ]
    if floats and settings.is_calibrated:
        names = ", ".join(sorted({layer.op for layer in floats}))
        warnings.append(
            f"{len(floats)} of {len(layers)} layers stay float32, without an integer form: {names}"
        )
    before, after = (sum(_bytes(value) for value in g.values.values()) for g in (graph, made))
    states = [sum(state.initial.type.bytes for state in g.states) for g in (graph, made)]
    return Quantization(
        name=graph.name,
        dtype=settings.dtype,
        calibrate=settings.calibrate if ranges else "",
        samples=len(measure.samples),
        held_out=len(measure.samples),
        measured=len(measure.samples),
        layers_measured=len(some.samples),
        layers=layers,
        outputs={name: measure.output(found.trial, name) for name in measure.scores if measure.samples},
        verdict=found.verdict,
        bytes_before=before,
        bytes_after=after,
        warnings=tuple(warnings),
        machine=settings.costs.machine if settings.is_calibrated else "",
        speedup=settings.costs.speedup(made) if settings.is_calibrated else math.nan,
        states_before=states[0],
        states_after=states[1],
        removed=made.source.removed if made.source.removed != graph.source.removed else None,
        judged={
            name: node.origin
            for name in measure.scores
            if name not in graph.outputs and (node := graph.producer(name)) and node.origin
        },
    )


def noise_warning(found: Quantization, settings: Settings) -> str:
    """What may be done about outputs that are too noisy; empty where they are not, or where a gate tells."""
    gate = settings.gate
    least = LEAST_SQNR if gate.is_open else LEAST_WITH_ACCURACY
    if gate.min_sqnr is not None or math.isnan(found.sqnr_db) or found.sqnr_db >= least:
        return ""
    name = min(found.outputs, key=lambda output: found.outputs[output])
    data = "held-out samples" if 0 < found.held_out < found.samples else "these samples"
    return f"output {name:.40} has {found.sqnr_db:.1f} dB on {data}: {_remedy(settings)}"


def speed_warning(found: Quantization, settings: Settings) -> str:
    """That floats are faster, by how much, and what to do; empty where they are not."""
    if not found.speedup < _SLOWER:
        return ""
    where = settings.costs.words
    ways = ["build the float model where it fits"]
    if found.mixed and found.mixed.speedup_before > found.speedup:
        before = f"{1 / found.mixed.speedup_before:.2f} times, with {found.mixed.sqnr_before_db:.1f} dB"
        ways.append(f"--strict-int8 takes {before}")
    if not settings.target:
        ways.append("--target NAME chooses formats for a machine")
    times = f"{1 / found.speedup:.2f} times as long as the float model"
    return f"on {where} a run takes an estimated {times}: {'; '.join(ways)}"


def effort_warning(settings: Settings) -> str:
    """That high effort changes nothing; empty where it does, or where none is asked for."""
    if settings.effort != "high" or settings.is_calibrated:
        return ""
    return (
        f"--effort {settings.effort} changes nothing with {settings.meaning}: it rounds weights beside "
        "activations in int8 or int16, whose scales are calibrated"
    )


def _remedy(settings: Settings) -> str:
    """Against noise."""
    if not settings.gate.is_open:
        return "the gate asks for accuracy alone, --min-sqnr for less noise, too"
    if settings.dtype != "int8":
        is_narrow = settings.activations == settings.dtype
        return f"--activations float32 rounds weights alone to {settings.dtype}" if is_narrow else _TYPICAL
    if settings.is_groupwise:
        if settings.weights == "int4":
            return "--weights int8 rounds less"
        is_dynamic = settings.activations == "dynamic"
        return "--activations float32 rounds weights alone" if is_dynamic else "--group 16 has finer scales"
    if settings.is_mixed_by_need:
        return f"no better formats of layers change that: {_TYPICAL}"
    if settings.strict_int8:
        return "without --strict-int8, the layers that cause the noise get better formats"
    return f"--min-sqnr {LEAST_SQNR:g}dB gives better formats to the layers that cause the noise"


def mixed_precision(search: FormatSearch, plain: Mixed, found: Mixed) -> MixedPrecision:
    """The better formats that a search found, and what they cost."""
    before, after = (mixed.trial.quantized.formats for mixed in (plain, found))
    layers = {name: format for name, format in after.items() if format != before.get(name)}
    # A layer may read 16 bits, and have a result of 8.
    layers |= {name: level for name, level in found.levels.items() if name not in layers}
    macs: dict[str, float] = {}
    for name, format in layers.items():
        if share := search.macs_of(name) / search.macs:
            macs[format] = macs.get(format, 0.0) + share
    weight_bytes = sum(search.extra_bytes(*pair) for pair in found.levels.items())
    speedup = search.costs.speedup(plain.trial.quantized.graph)
    return MixedPrecision(plain.verdict.sqnr_db, layers, weight_bytes, macs, speedup_before=speedup)


def judged_samples(graph: Graph, samples: Iterable[Sample]) -> list[Sample]:
    """Those that the quality of rounded weights is measured on: the first ones."""
    size = sum(graph.type(name).bytes for node in graph.nodes for name in node.outputs)
    has_more = graph.states and size * _MAX_STEPS <= _MEMORY
    return list(islice(samples, _MAX_STEPS if has_more else _MAX_JUDGED))


def judged(
    graph: Graph,
    made: Quantized,
    samples: Iterable[Sample],
    settings: Settings,
    progress: Progress,
    measure: Measure | None = None,
) -> Quantization:
    """The report about rounded weights. Samples are for measuring only; `measure` has run the floats, if it
    is given."""
    measure = measure or Measure(graph, judged_samples(graph, samples))
    progress("measuring")
    trial = measure.trial(made)
    verdict = Judge(graph, settings.gate, measure, labelled(samples, settings.gate), progress)(trial)
    return describe(graph, settings, measure, Mixed({}, trial, verdict, {}), made.graph, {})


def labelled(samples: Iterable[Sample], gate: Gate) -> Sequence[tuple[Sample, int]] | None:
    """The samples with their labels; None where there are none of these."""
    if gate.labels is None:
        return None
    given = list(samples)
    gate.check_labels(len(given))
    return list(zip(given, gate.labels.tolist(), strict=True))


def with_measured(
    made: Graph, report: Quantization, found: Mixed, statistics: Mapping[str, Statistics]
) -> Graph:
    """The graph with what was measured of its tensors, for reports."""
    names = found.trial.quantized.names
    measured = []
    for layer in report.layers:
        name, seen = names.get(layer.name, ""), statistics.get(layer.name)
        if name in made.values and seen and not math.isnan(layer.sqnr_db):
            low, high, counts = _shown(seen)
            measured.append(MeasuredTensor(name, layer.sqnr_db, low, high, counts))
    source = replace(made.source, measured=tuple(measured), machine=report.machine)
    return replace(made, source=source)


def _shown(seen: Statistics) -> tuple[float, float, tuple[int, ...]]:
    """The counts of a tensor in few cells, from the first that is not empty to the last."""
    used = np.flatnonzero(seen.counts)
    if not used.size:
        return 0.0, 0.0, ()
    first, last = int(used[0]), int(used[-1]) + 1
    merged = -(-(last - first) // _SHOWN)
    cells = -(-(last - first) // merged)
    counts = np.zeros(cells * merged, np.int64)
    counts[: last - first] = seen.counts[first:last]
    width = 2 * seen.reach / len(seen.counts)
    start = first * width - seen.reach
    return start, start + cells * merged * width, tuple(counts.reshape(-1, merged).sum(axis=1).tolist())


def _bytes(value: Value) -> int:
    """What a constant takes in flash."""
    if value.data is None:
        return 0
    return -(-value.data.size // 2) if value.type.dtype is DType.S4 else value.data.nbytes


def _layers(
    graph: Graph, ranges: Mapping[str, str], ratios: Mapping[str, float], found: Mixed
) -> Iterable[QuantizedLayer]:
    made = found.trial.quantized
    settled, arriving = given(graph), raw_bytes(graph)
    for node in graph.nodes:
        name = node.outputs[0]
        runs_in = "int8" if name in arriving else made.formats[name]
        stored = made.graph.type(made.names[name]) if name in made.names else graph.type(name)
        quant = stored.quant if runs_in.startswith("int") else None
        method = WIDE if stored.dtype is DType.S16 and not has_fraction(stored) else ranges.get(name, "")
        yield QuantizedLayer(
            name=name,
            origin=node.origin,
            op=operator_name(graph, node),
            runs_in=runs_in,
            scale=quant.scale[0] if quant else None,
            zero=quant.zero[0] if quant else None,
            range=method if quant and name not in settled else "",
            sqnr_db=ratios.get(name, math.nan),
            sensitivity_db=found.sensitivity.get(name),
        )
