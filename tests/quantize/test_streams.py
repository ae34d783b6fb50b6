"""Models with states in integers: what is moved or summed is int8, what a state is computed by is float."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.streaming_networks import STEPS, average, learner, recurrent, resonator, ring, steps

from edgekit import build, quantize_model, run
from edgekit.core.ir import Graph
from edgekit.core.ops.recurrent import Gru, Lstm
from edgekit.core.types import DType
from edgekit.quantize.gate import Gate
from edgekit.quantize.measure import sqnr
from edgekit.quantize.outcome import Quantization

QUICK = {"calibrate": "minmax", "strict_int8": True}


def quantized(graph: Graph, **options: object) -> tuple[Graph, Quantization]:
    return quantize_model(graph, steps(graph), progress=lambda step: None, **{**QUICK, **options})


def quality(graph: Graph, made: Graph, times: int = 1) -> float:
    """Signal to noise over the stream of calibration, so many times in a row."""
    given = {name: np.concatenate([x] * times) for name, x in steps(graph).items()}
    (ours,), (theirs,) = (run(g, given).values() for g in (graph, made))
    return sqnr([ours.astype(np.float64)], [theirs])


def formats(report: Quantization) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for layer in report.layers:
        found.setdefault(layer.op, set()).add(layer.runs_in)
    return found


@pytest.mark.parametrize(
    ("graph", "stored"),
    [
        (ring(), [DType.S8]),
        (recurrent(Lstm()), [DType.S8, DType.S16]),
        (recurrent(Gru()), [DType.S16]),
    ],
    ids=lambda given: given.name if isinstance(given, Graph) else "",
)
def test_states_that_are_moved_or_summed_are_integers(
    graph: Graph, stored: list[DType], tmp_path: Path
) -> None:
    made, report = quantized(graph)
    assert [state.initial.type.dtype for state in made.states] == stored
    assert all(format.startswith("int") for kinds in formats(report).values() for format in kinds)
    assert report.states_after < report.states_before
    assert quality(graph, made, times=5) > 35
    assert report.sqnr_db == pytest.approx(quality(graph, made), abs=0.01)
    verification = build(made, tmp_path).verification
    assert verification
    assert verification.exact


@pytest.mark.parametrize("graph", [average(), learner()], ids=lambda graph: graph.name)
def test_what_a_state_is_computed_by_stays_float(graph: Graph) -> None:
    made, report = quantized(graph)
    assert [state.initial.type.dtype for state in made.states] == [DType.F32]
    assert formats(report)["Dense"] == {"int8"}
    by_name = {layer.name: layer.runs_in for layer in report.layers}
    assert by_name["new"] == "float32"
    assert quality(graph, made) > 35


def test_sums_in_a_loop_become_floats_where_their_rounding_adds_up() -> None:
    graph = resonator()
    narrow, before = quantized(graph)
    wide, after = quantized(graph, strict_int8=False, gate=Gate(min_sqnr=35))
    assert formats(before)["Dense"] == {"int8"}
    assert formats(after)["Dense"] == {"int8", "float32"}
    assert before.sqnr_db < 35 < after.sqnr_db
    assert quality(graph, wide) > quality(graph, narrow) + 6


def test_accuracy_is_that_of_the_stream() -> None:
    """Labels are the answers of the floats, whose states are those of all steps before."""
    graph = recurrent(Lstm())
    given = steps(graph)
    (scores,) = run(graph, given).values()
    labels = scores.reshape(STEPS, -1).argmax(axis=1)
    _, report = quantized(graph, gate=Gate(labels=labels, max_drop=0.1))
    assert report.verdict.accuracy_before == 1
    assert report.verdict.accuracy is not None
    assert report.verdict.accuracy > 0.9
    assert report.verdict.judged == STEPS


def test_ports_may_be_integers_beside_states() -> None:
    graph = ring()
    made, _ = quantized(graph, io="int8")
    assert [made.type(name).dtype for name in (*made.inputs, *made.outputs)] == [DType.S8, DType.S8]
    assert [state.initial.type.dtype for state in made.states] == [DType.S8]
