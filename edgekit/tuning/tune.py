"""Tries points until the budget of trials is spent, and says which is best and which no other beats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edgekit.codegen.cost import counting
from edgekit.codegen.cost.calibrations import calibrations
from edgekit.core.arguments import check_fields
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.notebook import Number, card
from edgekit.core.progress import Progress
from edgekit.core.simulate import Session, check_work
from edgekit.core.target import Pace, Target
from edgekit.quantize.calibration.calibration_samples import judging
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.gate import answer
from edgekit.quantize.pruning.plan import macs
from edgekit.tuning import evaluate
from edgekit.tuning.budget import Budget, binding, costs, is_as_good, quality
from edgekit.tuning.journal import Journal
from edgekit.tuning.problem import INT4, INT8, WHOLE, Count, Fault, LargestLayer, Point, Result, TuningProblem
from edgekit.tuning.search import TuningSearch
from edgekit.tuning.workers import Cluster, InProcess, Processes, Workers


@dataclass(frozen=True)
class Effort:
    """How long is searched, and by whom."""

    trials: int = 40
    seed: int = 0
    jobs: int = 1  # processes
    dask: str = ""  # address of a scheduler, instead of processes

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class TriedPoint:
    """A point, and what came of it."""

    point: Point
    result: Result
    fits: bool  # within the budget
    on_front: bool  # no other point beats it
    share: float = 1.0  # of the multiplications that are left
    with_all: bool = False  # are the ranges those of all samples? Else of those that do not judge

    @property
    def words(self) -> str:
        """What the point does to the model."""
        return in_words(self.point, self.share)


@dataclass(frozen=True)
class MissedLimit:
    """A limit that is missed, and the layer that it is missed by."""

    limit: str
    share: float  # of the limit
    layer: str
    amount: int | None  # bytes or instructions of that layer


@dataclass(frozen=True)
class Tuned:
    """What a search found. Without `best`, `closest` is the point that misses the budget by least."""

    name: str
    target: str
    budget: Budget
    tried: tuple[TriedPoint, ...]
    faults: tuple[str, ...]  # why points came to nothing, each reason once
    best: TriedPoint | None
    closest: TriedPoint
    missed: tuple[MissedLimit, ...]  # by the closest point
    samples: int  # that points are judged by
    pace: Pace | None = None
    file: str = ""  # of the model as it came
    is_finished: bool = True  # else the search goes on, or was interrupted

    @property
    def is_certain(self) -> bool:
        """Does the chosen point keep the limit of accuracy, but for chance? A limit of 0 is one for these
        samples."""
        return not self.best or not self.budget.max_drop or self.budget.is_certain(self.best.result)

    @property
    def front(self) -> tuple[TriedPoint, ...]:
        return tuple(one for one in self.tried if one.on_front)

    def __repr__(self) -> str:
        one = self.best or self.closest
        word = "chosen" if self.best else "closest"
        return f"<Tuned {self.name} on {self.target}: {len(self.tried)} variants, {word} {one.words}>"

    def _repr_html_(self) -> str:
        """In notebooks: the Pareto-optimal variants, the best ones first."""
        one = self.best or self.closest
        figures = [("chosen" if self.best else "closest", one.words)]
        figures += [(limit.limit, f"{limit.share:.0%} beyond its limit") for limit in self.missed]
        figures.append(("tried", f"{len(self.tried)} variants, judged by {self.samples} samples"))
        front = sorted(self.front, key=lambda each: (*(-x for x in quality(each.result)), costs(each.result)))
        most = max((each.result.flash for each in front), default=0) or 1
        rows = [
            (
                "chosen" if each is self.best else "" if each.fits else "beyond the limits",
                each.words,
                Number(f"{each.result.flash:,}", each.result.flash / most),
                Number(f"{each.result.ram:,}"),
                Number("" if each.result.instructions is None else f"{each.result.instructions:,}"),
                Number("" if each.result.accuracy is None else f"{each.result.accuracy:.2%}"),
                Number(f"{min(each.result.sqnr_db, 999):.1f} dB"),
            )
            for each in front
        ]
        head = ("", "variant", "flash, B", "RAM, B", "instructions", "accuracy", "SQNR")
        return card(f"{self.name} on {self.target}", figures, head, rows)


def problem(
    graph: Graph, samples: Sequence[Sample], labels: Sequence[int] | None, target: Target, **options: Any
) -> TuningProblem:
    """The samples shared out: most to make models with, some to judge these by. Without labels, what the
    model answers as it came counts as right."""
    if any(value.type.quant for value in graph.values.values()):
        message = f"{graph.name} is quantized already, which leaves nothing to try"
        raise EdgeKitError("E0210", message, hint="tune the float model")
    check_work(graph)
    apart = judging(graph, len(samples))
    judged = [samples[i] for i in apart]
    others = [sample for i, sample in enumerate(samples) if i not in apart]
    earlier = others if graph.states else []
    if labels is not None:
        right = [int(labels[i]) for i in apart]
    else:
        session = Session(graph)
        for sample in earlier:
            session.run(sample)
        right = [answer(session, sample) for sample in judged] if len(graph.outputs) == 1 else []
    return TuningProblem(graph, others or judged, judged, earlier, right, target, **options)


def how_to_count(target: Target, wanted: bool, limited: bool) -> Count:
    """When an emulator counts; EdgeKitError where instructions matter, and nothing tells them."""
    if wanted:
        return "always"
    if limited and not calibrations(target.core, "speed") and not counting.can_count(target):
        raise EdgeKitError(
            "E0503",
            f"nothing is known of how long kernels take on {target.name}, and no emulator counts here",
            hint="leave out --latency, or see edgekit doctor",
        )
    return "missing" if limited and counting.can_count(target) else "never"


def hired(effort: Effort, progress: Progress) -> Workers:
    """Who evaluates; a cluster is asked at once whether it can."""
    if effort.dask:
        return Cluster(effort.dask, progress)
    return Processes(effort.jobs) if effort.jobs > 1 else InProcess()


def tune(
    given: TuningProblem,
    budget: Budget,
    effort: Effort,
    workers: Workers,
    journal: Path,
    keep: Callable[[Tuned | None], None],
    progress: Progress,
) -> Tuned:
    """Search, and write down each result as soon as it is there. `keep` gets what was found so far, None
    where that is nothing: before anything new is tried, whenever another point is best, and at the end."""
    progress("judging the model as it came")
    budget = replace(budget, accuracy=evaluate.reference(given))
    if budget.accuracy is not None and budget.accuracy < 1:  # it is 1 where its own answers are the labels
        progress(f"the float model has {budget.accuracy:.1%} on {len(given.judged)} samples")
    progress("measuring how sensitive layers are")
    search = TuningSearch(budget, effort.seed, _sensitivity(given), macs(given.graph))
    notes = Journal(journal, given.digest)
    kept: Point | None = None
    while points := search.next(effort.trials):
        new = [point for point in points if point not in notes.known]
        done = len(points) - len(new)
        progress(_progress(search, done, effort))
        if new and not kept:  # an earlier search may have left something else
            kept = search.best
            keep(_tuned(given, search, is_finished=False) if search.results else None)
        for point, outcome in workers.run(given, new) if new else ():
            if isinstance(outcome, Fault) and outcome.fatal:
                raise EdgeKitError(outcome.code, outcome.message, hint=outcome.hint)
            notes.add(point, outcome)
            done += 1
            so_far = replace(
                search, found=search.found | {one: notes.known[one] for one in points if one in notes.known}
            )
            progress(_progress(search, done, effort))
            if so_far.best != kept:
                kept = so_far.best
                keep(_tuned(given, so_far, is_finished=False))
        for point in points:
            search.add(point, notes.known[point])
    progress("calibrating what was chosen with all samples")
    found = _with_all(given, _tuned(given, search, is_finished=True))
    keep(found)
    return found


def _with_all(given: TuningProblem, found: Tuned) -> Tuned:
    """The same with ranges of all samples for the point that was chosen, unless it loses by that, or does not
    fit any more."""
    best = found.best
    if best is None or best.point.base not in (INT4, INT8):
        return found
    result = evaluate.evaluate(given, best.point, with_all=True)
    if isinstance(result, Fault) or found.budget.excess(result) or not is_as_good(result, best.result):
        return found
    final = replace(best, result=result, with_all=True)
    tried = tuple(final if one is best else one for one in found.tried)
    return replace(found, tried=tried, best=final, closest=final if found.closest is best else found.closest)


def _sensitivity(given: TuningProblem) -> Mapping[str, float]:
    """None where the model cannot be quantized."""
    try:
        return evaluate.sensitivities(given)
    except EdgeKitError:
        return {}


def _progress(search: TuningSearch, done: int, effort: Effort) -> str:
    best = search.best
    fits = f", the best so far: {in_words(best, search.share(best))}" if best else ""
    return f"tried {search.tried + done} of {effort.trials}{fits}"


def _tuned(given: TuningProblem, search: TuningSearch, *, is_finished: bool) -> Tuned:
    faults = tuple(
        dict.fromkeys(
            f"{found.code} {found.message}" for found in search.found.values() if isinstance(found, Fault)
        )
    )
    closest = search.closest
    if closest is None:
        hint = "; ".join(faults[:3])
        raise EdgeKitError("E0606", f"no way to build {given.graph.name} was found", hint=hint)
    front, budget = set(search.front), search.budget
    tried = {
        point: TriedPoint(point, found, not budget.excess(found), point in front, search.share(point))
        for point, found in search.results.items()
    }
    missed = []
    for limit, share in budget.excess(tried[closest].result).items():
        heavy = binding(tried[closest].result, limit, search.sensitivity)
        if isinstance(heavy, LargestLayer):
            missed.append(MissedLimit(limit, share, heavy.layer, heavy.amount))
        else:
            missed.append(MissedLimit(limit, share, given.graph.origin(heavy) or heavy, None))
    best = search.best
    return Tuned(
        given.graph.name,
        given.target.name,
        budget,
        tuple(tried.values()),
        faults,
        tried[best] if best else None,
        tried[closest],
        tuple(missed),
        len(given.judged),
        given.target.pace,
        given.graph.source.file,
        is_finished,
    )


def in_words(point: Point, share: float) -> str:
    """What a point does to the model, of whose multiplications this share is left."""
    words = [point.base]
    if point.left < WHOLE:
        words.insert(0, f"{100 * share:.3g}% of the MACs")
    levels = [level for _, level in point.better]
    words += [f"{levels.count(level)} in {level}" for level in dict.fromkeys(levels)]
    return ", ".join(words + ["for size"] * (point.optimize == "size"))
