"""Gates: what a quantized model must keep, in signal to noise or in accuracy on labelled samples."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from edgekit.core import simulate
from edgekit.core.arguments import array, check_fields
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.core.types import Array
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.measure import Measure, Trial


@dataclass(frozen=True, eq=False)
class Gate:
    """Without limits everything passes. `labels` are the classes of all calibration samples, in order."""

    min_sqnr: float | None = None  # dB
    max_drop: float | None = None  # of accuracy, as a share of the samples
    labels: Array | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.labels is not None:
            object.__setattr__(self, "labels", labels(array(self.labels), "labels="))
        if self.max_drop is not None and self.labels is None:
            raise EdgeKitError(
                "E0101",
                "a limit on the drop of accuracy needs labels",
                hint="--labels takes an .npy with the class of each calibration sample",
            )

    @property
    def is_open(self) -> bool:
        return self.min_sqnr is None and self.max_drop is None

    def check_labels(self, count: int) -> None:
        """Refuse labels that are not those of so many samples."""
        if self.labels is not None and len(self.labels) != count:
            raise EdgeKitError(
                "E0102",
                f"there are {len(self.labels)} labels for {count} calibration samples",
                hint="a label for each sample of --data, in the same order",
            )


@dataclass(frozen=True)
class Verdict:
    """What was measured, and whether it is enough."""

    passed: bool
    text: str  # in words; empty without a gate
    sqnr_db: float  # of the worst output
    accuracy: float | None = None  # of the quantized model, on held-out samples
    accuracy_before: float | None = None  # of the float model, on the same
    judged: int = 0  # samples that both are of


@dataclass
class Judge:
    """Judges trials. `labelled` gives the samples that accuracy is measured on, as often as it is asked;
    None: it is not measured, whatever labels the gate has."""

    graph: Graph
    gate: Gate
    measure: Measure
    labelled: Iterable[tuple[Sample, int]] | None
    progress: Progress
    _before: list[bool] = field(default_factory=list)  # was the float graph right, sample by sample

    def __call__(self, trial: Trial) -> Verdict:
        quality, worst = self.measure.worst(trial) if self.measure.samples else (math.nan, "")
        parts, passed = [], True
        wanted = self.gate.min_sqnr
        if wanted is not None:
            if not self.measure.samples:
                raise EdgeKitError(
                    "E0101", "a limit to the noise needs data to measure it on", hint="see --data"
                )
            passed = quality >= wanted
            parts.append(f"output {worst} has {quality:.1f} dB, at least {wanted:g} dB are wanted")
        if self.labelled is None:
            assert self.gate.max_drop is None, "a limit of accuracy needs samples to measure it on"
            return Verdict(passed, "; ".join(parts), quality)
        before, after, count = self._accuracies(trial, self.labelled)
        if self.gate.max_drop is not None:
            # A count of samples, not a difference of rounded shares.
            passed &= before - after <= self.gate.max_drop + 1e-9
            limit = f"a drop of {self.gate.max_drop:.2%} is allowed"
            parts.append(f"accuracy {after:.2%}, float {before:.2%}: {change(before, after)}, {limit}")
        return Verdict(passed, "; ".join(parts), quality, after, before, count)

    def _accuracies(self, trial: Trial, labelled: Iterable[tuple[Sample, int]]) -> tuple[float, float, int]:
        """The shares of samples that the float graph and the trial's have right, and of how many."""
        made = trial.quantized.graph
        known, right, total = bool(self._before), 0, 0
        before, after = simulate.Session(self.graph), simulate.Session(made)
        for sample, label in labelled:
            total += 1
            if not known:
                self.progress(f"accuracy before, sample {total}")
                self._before.append(answer(before, sample) == label)
            self.progress(f"accuracy, sample {total}")
            given = dict(zip(made.inputs, (sample[name] for name in self.graph.inputs), strict=True))
            right += answer(after, given) == label
        if not total:
            raise EdgeKitError("E0110", "there is no labelled sample to measure accuracy on")
        return sum(self._before) / total, right / total, total


def accuracy(
    graph: Graph, samples: Iterable[Sample], labels: Array, progress: Progress = lambda step: None
) -> float:
    """The share of samples for which a model names the class of their label."""
    simulate.check_work(graph)
    right: list[bool] = []
    session = simulate.Session(graph)
    for number, (sample, label) in enumerate(zip(samples, labels, strict=False), 1):
        progress(f"accuracy of the float model, sample {number} of {len(labels)}")
        right.append(bool(answer(session, sample) == label))
    return sum(right) / max(len(right), 1)


def change(before: float, after: float) -> str:
    """What became of the accuracy, in words."""
    if math.isclose(before, after, abs_tol=5e-5):
        return "no change"
    return f"{abs(after - before):.2%} {'better' if after > before else 'worse'}"


def answer(session: simulate.Session, sample: Sample) -> int:
    """The class that a model names in its next step: where its output is largest, or of two the second above
    a half."""
    graph = session.graph
    if len(graph.outputs) != 1:
        raise EdgeKitError(
            "E0103",
            f"accuracy is that of a single output, {graph.name} has {len(graph.outputs)}",
            hint="--min-sqnr takes any model",
        )
    (result,) = session.run(sample).values()
    return chosen(result)


def chosen(result: Array) -> int:
    """The class that an output names."""
    return int(result.argmax()) if result.size > 1 else int(result.item() > 0.5)


def labels(given: Array, name: str) -> Array:
    """Class numbers, from numbers or from rows with a one."""
    is_real = given.dtype.kind in "biuf"
    if is_real and given.ndim == 2 and given.shape[1] > 1:
        given = given.argmax(axis=1)
    whole = given.reshape(-1)
    if not (is_real and given.shape[:1] == (given.size,) and (whole % 1 == 0).all()):
        shape = ",".join(map(str, given.shape))
        raise EdgeKitError(
            "E0102",
            f"{name} holds {given.dtype}[{shape}], which are no labels",
            hint="a class number a sample",
        )
    return whole.astype(np.int64)
