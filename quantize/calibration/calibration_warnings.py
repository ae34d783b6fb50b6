"""Warns when calibration data look unrepresentative of what a model will meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.while_loop import While
from edgekit.core.passes.integer_labels import keeps_scale
from edgekit.quantize.calibration.observe import Statistics
from edgekit.quantize.calibration.scales import runs_in_int8

_MIN_SAMPLES = 8  # samples


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


def _as_floats(graph: Graph, name: str) -> str:
    """What an input of integers is converted to; itself where it is not."""
    casts = [node.outputs[0] for node in graph.users(name) if isinstance(node.op, Cast)]
    return casts[0] if casts else name
