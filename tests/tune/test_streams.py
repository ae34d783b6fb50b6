"""Tuning of models with states: variants go on from their own states, and the end of the stream judges."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.streaming_networks import STEPS, convolutions, recurrent, steps
from support.tools import require

from edgekit import Effort, Limits, build, convert, run, tune
from edgekit.core import target
from edgekit.core.ir import Graph
from edgekit.core.ops.recurrent import Gru
from edgekit.core.types import DType
from edgekit.quantize.measure import sqnr
from edgekit.samples import arrays
from edgekit.tuning.evaluate import evaluate, model
from edgekit.tuning.problem import Point, Result, TuningProblem, graph_digest
from edgekit.tuning.tune import problem

JUDGED = STEPS // 4


def given(graph: Graph) -> TuningProblem:
    return problem(graph, list(arrays.samples(graph, steps(graph))), None, target.load("host"))


def quality(graph: Graph, made: Graph) -> float:
    """Signal to noise of the last steps."""
    before, after = (np.concatenate([*run(g, steps(graph)).values()]) for g in (graph, made))
    return sqnr([before[-JUDGED:].astype(np.float64)], [after[-JUDGED:]])


@pytest.mark.parametrize("point", [Point(), Point(left=50), Point(base="bf16")], ids=str)
def test_a_variant_is_measured_on_the_end_of_the_stream(point: Point) -> None:
    require("gcc")
    graph = convolutions()
    found = evaluate(given(graph), point)
    assert isinstance(found, Result)
    assert found.judged == JUDGED
    made = model(given(graph), point)
    assert found.sqnr_db == pytest.approx(quality(graph, made), abs=0.01)
    assert found.sqnr_db > 20


def test_recurrent_states_become_integers() -> None:
    graph = recurrent(Gru())
    made = model(given(graph), Point())
    assert [state.initial.type.dtype for state in made.states] == [DType.S16]
    assert quality(graph, made) > 30


def test_the_float_model_is_its_own_reference() -> None:
    require("gcc")
    graph = convolutions()
    found = evaluate(given(graph), Point(base="f32"))
    assert isinstance(found, Result)
    assert (found.sqnr_db, found.accuracy) == (np.inf, 1.0)


def test_what_is_chosen_keeps_its_states(tmp_path: Path) -> None:
    require("gcc")
    graph = convolutions()
    found = tune(graph, steps(graph), Limits(min_sqnr=20), folder=tmp_path / "tuned", effort=Effort(trials=2))
    assert found.best is not None
    made = convert(tmp_path / "tuned" / f"{graph.name}.ek")
    assert len(made.states) == len(graph.states)
    library = build(made, tmp_path / "library")
    assert library.flash_bytes == found.best.result.flash


def test_what_a_state_starts_from_is_part_of_a_model() -> None:
    graph = recurrent(Gru())
    (state,) = graph.states
    initial = replace(state.initial, data=np.ones_like(state.start))
    other = replace(graph, states=(replace(state, initial=initial),))
    assert graph_digest(other) != graph_digest(graph)
