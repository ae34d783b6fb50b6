"""Post-training quantization of models with states: samples are steps of one stream, which is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.calibration.search_budget import SearchBudget
from edgekit.quantize.gate import Gate, Judge
from edgekit.quantize.integers.int8 import Quantized
from edgekit.quantize.measure import Measure
from edgekit.quantize.outcome import Quantization, judged_samples, labelled
from edgekit.quantize.preparation.opened_states import OpenedStates, state_updates
from edgekit.quantize.preparation.prepare import prepare
from edgekit.quantize.settings import LEAST_SQNR, Settings

QuantizeOpened = Callable[
    [OpenedStates, Iterable[Sample], Settings, Progress], tuple[Quantized, Graph, Quantization]
]


def quantize(
    graph: Graph, samples: Iterable[Sample], settings: Settings, progress: Progress, each: QuantizeOpened
) -> tuple[Graph, Quantization]:
    """`each` quantizes the model with its states as inputs (teacher forcing); the quality is then measured
    with the quantized model's own states (closed loop). If it is too low, layers on a feedback path that were
    int8 are quantized again as floats."""
    graph = prepare(graph)
    made, report = _attempt(graph, samples, settings, progress, each, has_integer_sums=True)
    wanted = LEAST_SQNR if settings.gate.min_sqnr is None else settings.gate.min_sqnr
    if report.sqnr_db >= wanted or settings.strict_int8:
        return made, report
    if state_updates(graph, has_integer_sums=False) == state_updates(graph, has_integer_sums=True):
        return made, report
    other = _attempt(graph, samples, settings, progress, each, has_integer_sums=False)
    return other if other[1].sqnr_db > report.sqnr_db else (made, report)


def opened(graph: Graph, *, has_integer_sums: bool = True) -> OpenedStates:
    """A prepared graph with its states as inputs, and the layers that stay floats for them; without states
    the graph itself."""
    if not graph.states:
        return OpenedStates.of(graph)
    return OpenedStates.of(graph, state_updates(graph, has_integer_sums=has_integer_sums))


def _attempt(
    graph: Graph,
    samples: Iterable[Sample],
    settings: Settings,
    progress: Progress,
    each: QuantizeOpened,
    *,
    has_integer_sums: bool,
) -> tuple[Graph, Quantization]:
    stream = opened(graph, has_integer_sums=has_integer_sums)
    # Accuracy is that of the stream.
    alone = replace(settings, gate=Gate(min_sqnr=settings.gate.min_sqnr))
    closed, made, report = each(stream, stream.samples(samples), alone, progress)
    progress("measuring the stream")
    measure = Measure(graph, judged_samples(graph, samples)).of_outputs(SearchBudget())
    trial = measure.trial(closed)
    given = labelled(samples, settings.gate)
    verdict = Judge(graph, settings.gate, measure, given, progress)(trial)
    before, after = (sum(state.initial.type.bytes for state in g.states) for g in (graph, made))
    return made, replace(
        report,
        held_out=0,
        measured=len(measure.samples),
        outputs={name: measure.output(trial, name) for name in measure.scores},
        verdict=verdict,
        states_before=before,
        states_after=after,
        inputs={name: seen for name, seen in report.inputs.items() if name in graph.inputs},
    )
