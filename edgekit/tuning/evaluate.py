"""Makes the model of a point, judges it, and measures what it takes on the board."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from edgekit.codegen.cost.estimate import Estimate, estimate
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.ir import Graph
from edgekit.core.simulate import Session
from edgekit.core.types import Array
from edgekit.quantize.calibrated import Calibrated
from edgekit.quantize.gate import Gate, Judge, chosen
from edgekit.quantize.integers.integer_io import bring_integers_out
from edgekit.quantize.measure import real, scores, scores_of, sqnr
from edgekit.quantize.mixed_precision.format_search import FormatSearch
from edgekit.quantize.mixed_precision.half_precision import FORMATS, narrow
from edgekit.quantize.post_training import calibrated
from edgekit.quantize.preparation.opened_states import OpenedStates
from edgekit.quantize.preparation.prepare import prepare
from edgekit.quantize.pruning.plan import Pruning, PruningPlan
from edgekit.quantize.settings import Settings
from edgekit.quantize.streams import opened
from edgekit.tuning.costs import layer_costs, liked_multiple
from edgekit.tuning.problem import (
    F32,
    INT4,
    INT8,
    WHOLE,
    Fault,
    LargestLayer,
    Outcome,
    Point,
    Result,
    TuningProblem,
    graph_digest,
)

_KEPT = 3  # models that were looked at, in each process


@dataclass(frozen=True)
class EvaluatedModel:
    """The model of a point, with the inputs and outputs of the one that came, and what its outputs are
    compared by: in the order of `scores`."""

    graph: Graph
    scores: Sequence[str]


@dataclass(frozen=True)
class JudgedAnswers:
    """Which samples are right, none without classes, and signal to noise of the worst output."""

    right: tuple[bool, ...]
    sqnr_db: float

    @property
    def accuracy(self) -> float | None:
        return sum(self.right) / len(self.right) if self.right else None


def evaluate(problem: TuningProblem, point: Point, *, with_all: bool = False) -> Outcome:
    """The result of a point, or why there is none. Ranges are those of the samples that do not judge it, or
    `with_all` those of all."""
    try:
        made = _made(problem, point, with_all)
        answers = _judged(problem, made)
        graph = bring_integers_out(made.graph, problem.io)
        found = _measured(problem, point, graph)
    except EdgeKitError as error:
        return Fault(error.code, error.message, error.hint, error.exit_code == Exit.TOOLCHAIN)
    return _result(found, answers, _reference(problem), f"{graph_digest(graph)} {point.optimize}")


def model(problem: TuningProblem, point: Point, *, with_all: bool = False) -> Graph:
    """The graph of a point, as it is built for the board."""
    return bring_integers_out(_made(problem, point, with_all).graph, problem.io)


def sensitivities(problem: TuningProblem) -> Mapping[str, float]:
    """How much the outputs of the int8 model gain when a layer alone is computed in floats, in dB."""
    _, known = _calibrated(problem, WHOLE, INT8, False)
    search = _search(known)
    return search.sensitivity(search.trial({}), weighted=True)


def reference(problem: TuningProblem) -> float | None:
    """The accuracy of the model as it came."""
    return _reference(problem).accuracy


def _measured(problem: TuningProblem, point: Point, graph: Graph) -> Estimate:
    """What the library of a graph takes."""
    take = partial(estimate, graph, problem.target, optimize=point.optimize, ports=problem.ports)
    found = take(count=problem.count == "always")
    is_unknown = found.run is None or found.run.unknown
    return take(count=True) if is_unknown and problem.count == "missing" else found


def _result(found: Estimate, answers: JudgedAnswers, before: JudgedAnswers, digest: str) -> Result:
    run = found.run
    known = run is not None and not run.unknown
    bytes_of = {layer.origin: 0 for layer in found.layers}
    for layer in found.layers:
        bytes_of[layer.origin] += layer.weight_bytes
    taken = {layer.origin: 0 for layer in run.layers} if run else {}
    for call in run.layers if run else ():
        taken[call.origin] += call.instructions or 0
    peak = found.peak
    return Result(
        answers.accuracy,
        answers.sqnr_db,
        found.flash_bytes,
        found.ram_bytes,
        run.total if run and known else None,
        run.error if run and known else 0.0,
        found.macs,
        _heaviest(bytes_of),
        LargestLayer(peak.layer, sum(size for _, size in peak.tensors)) if peak else None,
        _heaviest(taken),
        lost=sum(old > new for old, new in zip(before.right, answers.right, strict=True)),
        won=sum(old < new for old, new in zip(before.right, answers.right, strict=True)),
        judged=len(answers.right),
        digest=digest,
    )


def _heaviest(amounts: Mapping[str, int]) -> LargestLayer | None:
    return max(
        (LargestLayer(*pair) for pair in amounts.items()), key=lambda heavy: heavy.amount, default=None
    )


def _made(problem: TuningProblem, point: Point, with_all: bool) -> EvaluatedModel:
    graph = _pruned(problem, point.left)
    if point.base == F32:
        return _as_it_is(graph)
    if point.base in FORMATS:
        narrowed = narrow(graph, FORMATS[point.base])
        return EvaluatedModel(narrowed.graph, [narrowed.names[name] for name in scores(graph)])
    stream, known = _calibrated(problem, point.left, point.base, with_all)
    search = _search(known)
    better = {name: level for name, level in point.better if name in search.layers}
    quantized = stream.closed(known.finish(search.formats(better)).quantized)
    return EvaluatedModel(quantized.graph, [quantized.names[name] for name in scores(stream.whole)])


def _as_it_is(graph: Graph) -> EvaluatedModel:
    return EvaluatedModel(graph, scores(graph))


@lru_cache(_KEPT)
def _plan(problem: TuningProblem) -> PruningPlan:
    costs = layer_costs(problem.target)
    return PruningPlan.of(problem.graph, problem.samples, "", _quiet, costs=costs)


@lru_cache(_KEPT)
def _pruned(problem: TuningProblem, left: int) -> Graph:
    """The model with so many percent of its multiplications left."""
    if left >= WHOLE:
        return problem.graph
    plan = _plan(problem)
    liked = liked_multiple(problem.graph, problem.target)
    counts = plan.counts(Pruning(macs=left / WHOLE, liked=liked))
    return plan.prune(counts, fit=True, progress=_quiet)[0]


@lru_cache(_KEPT)
def _calibrated(
    problem: TuningProblem, left: int, base: str, with_all: bool
) -> tuple[OpenedStates, Calibrated]:
    settings = Settings(weights=INT4 if base == INT4 else "", io=problem.io, target=problem.target)
    samples = [*problem.samples, *(problem.judged if with_all else ())]
    stream = opened(prepare(_pruned(problem, left)))
    return stream, calibrated(stream.graph, stream.samples(samples), settings, _quiet, stream.real)


def _search(known: Calibrated) -> FormatSearch:
    """What turns formats of layers into those of tensors; nothing is searched for here."""
    return known.search(Judge(known.graph, Gate(), known.measure, None, _quiet))


@lru_cache(_KEPT)
def _reference(problem: TuningProblem) -> JudgedAnswers:
    return _judged(problem, _as_it_is(problem.graph))


def _judged(problem: TuningProblem, made: EvaluatedModel) -> JudgedAnswers:
    found: list[list[Array]] = []
    right: list[bool] = []
    session = Session(made.graph)
    for number, sample in enumerate([*problem.earlier, *problem.judged], -len(problem.earlier)):
        given = dict(zip(made.graph.inputs, (sample[name] for name in problem.graph.inputs), strict=True))
        values = session.run_all(given)
        if number < 0:
            continue
        found.append([real(values[name], made.graph.type(name)) for name in made.scores])
        if problem.labels:
            right.append(bool(chosen(values[made.graph.outputs[0]]) == problem.labels[number]))
    outputs = zip(zip(*_answers(problem), strict=True), zip(*found, strict=True), strict=True)
    worst = min((sqnr(exact, made) for exact, made in outputs), default=math.inf)
    return JudgedAnswers(tuple(right), worst)


@lru_cache(_KEPT)
def _answers(problem: TuningProblem) -> list[tuple[Array, ...]]:
    """What the model as it came computes of each sample."""
    return list(scores_of(problem.graph, problem.judged, problem.earlier))


def _quiet(step: str) -> None:
    """Progress that is too fine to be shown."""
