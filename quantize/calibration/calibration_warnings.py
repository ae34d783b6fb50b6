"""Warns when calibration data look unrepresentative of what a model will meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.while_loop import While
from edgekit.core.passes.integer_labels import keeps_scale
from edgekit.core.types import Array
from edgekit.quantize.calibration.data_scale import scale_warnings
from edgekit.quantize.calibration.function_ranges import giving_function
from edgekit.quantize.calibration.observe import Statistics
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.calibration.scales import runs_in_int8

_MIN_SAMPLES = 8  # samples
_HALF = 0.5  # where a probability changes sides


@dataclass(frozen=True)
class ObservedInput:
    """What calibration data hold for an input."""

    low: float
    high: float
    mean: float


def check_layers(graph: Graph) -> None:
    """Refuse a model without anything to quantize."""
    if any(runs_in_int8(graph, node) and not keeps_scale(node.op) for node in graph.nodes):
        return
    names = ", ".join(sorted({type(node.op).__name__ for node in graph.nodes})) or "none"
    hint = "--dtype bf16 stores weights in half the flash"
    if loops := _loops(graph):
        hint = f"loops ({', '.join(loops)}) compute in floats: short ones of a fixed length are unrolled"
    raise EdgeKitError(
        "E0211", f"there is nothing to quantize in {graph.name} (operators: {names})", hint=hint
    )


def _loops(graph: Graph) -> list[str]:
    """The layers that are loops."""
    return [node.origin or node.outputs[0] for node in graph.nodes if isinstance(node.op, While)]


def calibration_warnings(graph: Graph, statistics: Mapping[str, Statistics], count: int) -> Iterator[str]:
    """A sentence for each, from what so many samples showed."""
    if loops := _loops(graph):
        yield f"what loops compute stays in floats: {', '.join(loops)}"
    if count < _MIN_SAMPLES:
        samples = "1 calibration sample is" if count == 1 else f"{count} calibration samples are"
        yield f"{samples} few: a hundred typical ones show what ranges are needed"
    for name in graph.inputs:
        seen = statistics.get(_as_floats(graph, name))
        if seen is not None and seen.low == seen.high:
            yield f"input {name} is {seen.low:g} everywhere in all samples: that says nothing of its range"
    yield from scale_warnings(graph, statistics)


def one_sided_warnings(graph: Graph, statistics: Mapping[str, Statistics]) -> Iterator[str]:
    """A sentence for each output of probabilities that all samples leave on one side of a half."""
    for name in graph.outputs:
        function, seen = giving_function(graph, name), statistics.get(name)
        if seen is None or function is None or not isinstance(function.op, Sigmoid):
            continue
        if seen.high < _HALF or seen.low > _HALF:
            is_low = seen.high < _HALF
            end, missing = (
                (f"at most {seen.high:.2g}", "high") if is_low else (f"at least {seen.low:.2g}", "low")
            )
            yield f"output {name:.40} is {end} in all samples: add some for which it should be {missing}"


def equal_samples_warning(samples: Sequence[Sample]) -> Iterator[str]:
    """A sentence where all samples are the same."""
    first, *others = samples
    if others and all(np.array_equal(first[name], other[name]) for other in others for name in first):
        yield f"all {len(samples)} calibration samples are equal: they count as one"


def label_warning(before: float | None, labels: Array | None) -> Iterator[str]:
    """A sentence where the float model is no better than one that always gives the same answer; `labels` are
    of the samples that `before` was measured on."""
    if before is None or labels is None or not labels.size:
        return
    classes, counts = np.unique(labels, return_counts=True)
    most = int(counts.argmax())
    if len(classes) > 1 and before <= counts[most] / labels.size:
        yield (
            f"the float model has {before:.1%} on {labels.size} of the samples, no better than always "
            f"answering {classes[most]} ({counts[most] / labels.size:.1%}): are the data normalized as in "
            "training, and the labels theirs?"
        )


def observed_inputs(graph: Graph, statistics: Mapping[str, Statistics]) -> dict[str, ObservedInput]:
    """What arrived at each input."""
    found = {}
    for name in graph.inputs:
        seen = statistics.get(_as_floats(graph, name))
        if seen is not None:
            found[name] = ObservedInput(seen.low, seen.high, float(seen.means.mean()))
    return found


def _as_floats(graph: Graph, name: str) -> str:
    """What an input of integers is converted to; itself where it is not."""
    casts = [node.outputs[0] for node in graph.users(name) if isinstance(node.op, Cast)]
    return casts[0] if casts else name
