"""Models with states in integers: what is moved or summed is int8, what a state is computed by is float."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.stateful import Remembering

from edgekit import build, quantize_model, run
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add, Clip, Mul, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.recurrent import Gru, Lstm
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import Array, DType
from edgekit.quantize.gate import Gate
from edgekit.quantize.measure import sqnr
from edgekit.quantize.outcome import Quantization

FEATURES, WINDOW, CLASSES, STEPS = 6, 3, 4, 96
QUICK = {"calibrate": "minmax", "strict_int8": True}


def steps(graph: Graph) -> dict[str, Array]:
    """A slow walk with noise, as signals are."""
    rng = np.random.default_rng(1)
    found = {}
    for name in graph.inputs:
        walk = np.cumsum(rng.standard_normal((STEPS, *graph.type(name).shape)), axis=0)
        found[name] = (np.sin(walk / 4) + rng.standard_normal(walk.shape) / 4).astype(np.float32)
    return found


def dense(net: Remembering, x: str, outputs: int) -> str:
    inputs = net.type(x).shape[-1]
    weights = net.random(outputs, inputs) / np.sqrt(inputs)
    return net(Dense(), x, weights.astype(np.float32), net.random(outputs) / 4)


def relu(net: Remembering, x: str) -> str:
    return net(Clip(), x, np.float32(0), np.float32(np.inf))


def ring() -> Graph:
    """A dense layer over the last steps."""
    net = Remembering(DType.F32)
    x, old = net.x(1, FEATURES), net.state("old", np.zeros((1, (WINDOW - 1) * FEATURES), np.float32))
    window = net(Concat(1), old, x)
    newest = net(Slice((0, FEATURES), (1, 1), (1, (WINDOW - 1) * FEATURES)), window)
    y = dense(net, relu(net, dense(net, window, 12)), CLASSES)
    return net.remembering([y], {old: newest}, "ring")


def recurrent(op: Lstm | Gru) -> Graph:
    """A layer of one step, whose state is that of the model."""
    net, size, gates = Remembering(DType.F32), 10, 4 if isinstance(op, Lstm) else 3
    starts = ["h", "c"][: 1 + isinstance(op, Lstm)]
    states = [net.state(name, np.zeros((1, size), np.float32)) for name in starts]
    sums = net(Reshape((1, 1, gates * size)), dense(net, net.x(1, FEATURES), gates * size))
    weights = net.const((net.random(gates * size, size) / 4).astype(np.float32))
    bias = [net.const(net.random(size) / 4)] if isinstance(op, Gru) else []
    y, *ends = net.add(op, sums, weights, *states, *bias)
    out = dense(net, net(Reshape((1, size)), y), CLASSES)
    return net.remembering([out], dict(zip(states, ends, strict=True)), type(op).__name__)


def average() -> Graph:
    """What the mean of the last hundreds of steps does not hold: a step adds less than one of int8."""
    net = Remembering(DType.F32)
    mean = net.state("mean", np.zeros((1, FEATURES), np.float32))
    features = relu(net, dense(net, net.x(1, FEATURES), FEATURES))
    kept = net(Mul(), mean, np.float32(0.995))
    new = net(Add(), kept, net(Mul(), features, np.float32(0.005)), name="new")
    return net.remembering([dense(net, net(Sub(), features, new), CLASSES)], {mean: new}, "average")


def resonator() -> Graph:
    """A state that is turned in each step, and hardly gets smaller: rounding adds up."""
    net = Remembering(DType.F32)
    old = net.state("old", np.zeros((1, FEATURES), np.float32))
    turn = np.linalg.qr(net.random(FEATURES, FEATURES))[0] * 0.995
    turned = net(Dense(), old, turn.astype(np.float32), np.zeros(FEATURES))
    new = net(Add(), turned, dense(net, net.x(1, FEATURES), FEATURES), name="new")
    return net.remembering([dense(net, new, CLASSES)], {old: new}, "resonator")


def learner() -> Graph:
    """Frozen features, and a layer that learns by the gradient of each step: its weights are the state."""
    net, size = Remembering(DType.F32), 16
    weights = net.state("weights", (net.random(CLASSES, size) / 8).astype(np.float32))
    features = relu(net, dense(net, net.x(1, FEATURES), size))
    scores = net(MatMul(), features, net(Transpose((1, 0)), weights))
    error = net(Sub(), net(Softmax(), scores), net.x(1, CLASSES, name="label"))
    slope = net(MatMul(), net(Transpose((1, 0)), error), features)
    new = net(Sub(), weights, net(Mul(), slope, np.float32(0.002)), name="new")
    return net.remembering([scores], {weights: new}, "learner")


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
