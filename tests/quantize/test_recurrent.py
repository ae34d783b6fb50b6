"""Recurrent layers in integers: what they tell apart, what they remember, and what stays in floats."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from edgekit import api
from edgekit.core import ek_file, fixed_gates, simulate
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.recurrent import Gru, Lstm, Recurrent, Rnn
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.passes import verify
from edgekit.core.types import Array, DType, Quant, Type, Value
from edgekit.quantize.gate import Gate
from edgekit.quantize.measure import real, sqnr
from edgekit.quantize.post_training import quantize
from edgekit.quantize.settings import Settings

STEPS, INPUTS, SIZE, BATCH = 24, 4, 20, 16  # a sample is so many sequences side by side
LAYERS: dict[str, list[Recurrent]] = {
    "lstm": [Lstm()],
    "gru": [Gru()],
    "gru, reset before": [Gru(reset_after=False)],
    "rnn": [Rnn()],
    "rnn, relu": [Rnn(activation="relu")],
    "both directions": [Lstm(), Lstm(True)],
    "gru, both directions": [Gru(), Gru(True)],
}
GATES = {Lstm: 4, Gru: 3, Rnn: 1}


def constant(builder: Builder, x: Array) -> str:
    return builder.const(x.astype(np.float32))


def layer(
    builder: Builder, op: Recurrent, x: str, states: list[str], rng: np.random.Generator
) -> tuple[str, ...]:
    """A dense layer and a recurrent one, from zeros if no state is given."""
    _, batch, inputs = builder.type(x).shape
    rows = GATES[type(op)] * SIZE
    spread = 0.5 if isinstance(op, Rnn) else 1.2  # what only adds up must not grow
    w, r = rng.normal(0, 0.8, (rows, inputs)), rng.normal(0, spread, (rows, SIZE)) / np.sqrt(SIZE)
    sums = builder.one(Dense(), x, constant(builder, w), constant(builder, rng.normal(0, 0.5, rows)))
    states = states or [constant(builder, np.zeros((batch, SIZE)))] * (1 + isinstance(op, Lstm))
    bias = [constant(builder, rng.normal(0, 0.5, SIZE))] if isinstance(op, Gru) else []
    return builder.add(op, sums, constant(builder, r), *states, *bias)


def listener(kind: str, batch: int, head: tuple[Array, Array] | None = None) -> Graph:
    """The last states of a layer, or with a head which of four tones they have heard."""
    builder, rng = Builder(), np.random.default_rng(3)
    x = builder.input("x", Type(DType.F32, (STEPS, batch, INPUTS)))
    lasts = [layer(builder, op, x, [], rng)[1] for op in LAYERS[kind]]
    y = builder.one(Concat(1), *lasts) if len(lasts) > 1 else lasts[0]
    if head is not None:
        y = builder.one(Dense(), y, *(constant(builder, part) for part in head))
    return builder.graph(kind, ["x"], [y])


def tones(count: int, seed: int) -> tuple[Array, Array]:
    """Noisy tones [T, count, INPUTS], and which of four each is."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 4, count)
    angle = np.arange(STEPS)[:, None] * (0.25 + 0.2 * which) + rng.uniform(0, 1, count)
    waves = np.sin(angle[..., None] + np.arange(INPUTS)) + rng.normal(0, 0.4, (STEPS, count, INPUTS))
    return waves.astype(np.float32), which


@cache
def trained(kind: str) -> Graph:
    """A listener whose head was fitted to states in closed form."""
    x, which = tones(1024, 1)
    graph = listener(kind, 1024)
    (states,) = simulate.run(graph, {"x": x}).values()
    known = np.concatenate([states, np.ones((1024, 1))], axis=1)
    wanted = 4.0 * np.eye(4)[which]
    head = np.linalg.solve(known.T @ known + 0.1 * np.eye(known.shape[1]), known.T @ wanted)
    return listener(kind, BATCH, (head[:-1].T, head[-1]))


def samples(seed: int, count: int = 8) -> list[dict[str, Array]]:
    return [{"x": tones(BATCH, seed + i)[0]} for i in range(count)]


def scores(graph: Graph, seeds: range) -> tuple[Array, Array]:
    """What a graph says of tones that it has not seen, and what they are."""
    heard = [tones(BATCH, seed) for seed in seeds]
    found = [next(iter(simulate.run(graph, {"x": x}).values())) for x, _ in heard]
    return np.concatenate(found), np.concatenate([which for _, which in heard])


def test_lines_between_257_numbers_are_tanh_and_sigmoid() -> None:
    sums = np.arange(-(2**15) + 1, 2**15)
    x = sums * fixed_gates.SUM_UNIT
    assert np.abs(fixed_gates.tanh(sums) / 2**15 - np.tanh(x)).max() < 4 / 2**15
    assert np.abs(fixed_gates.sigmoid(sums) / 2**15 - 1 / (1 + np.exp(-x))).max() < 4 / 2**15


@pytest.mark.parametrize("kind", LAYERS)
def test_integers_tell_tones_apart_as_well_as_floats(kind: str) -> None:
    graph = trained(kind)
    made, found = quantize(graph, samples(100), Settings(calibrate="mse"))
    verify(made)
    assert {layer.runs_in for layer in found.layers} == {"int8", "int16"}
    exact, which = scores(graph, range(200, 220))
    rounded, _ = scores(made, range(200, 220))
    right = (exact.argmax(axis=1) == which).mean()
    assert right > 0.8
    assert (rounded.argmax(axis=1) == which).mean() >= right - 0.02
    assert sqnr([exact], [rounded]) > (24 if "relu" in kind else 28)


@pytest.mark.parametrize("op", [Lstm(), Gru()], ids=["lstm", "gru"])
def test_streams_remember_in_16_bits_what_their_caller_passes_on(op: Recurrent) -> None:
    """Two layers, whose states are parts of one tensor, as PyTorch has them."""
    builder, rng = Builder(), np.random.default_rng(5)
    names = ["h", "c"][: 1 + isinstance(op, Lstm)]
    inputs = [builder.input("x", Type(DType.F32, (2, 1, INPUTS)))]
    inputs += [builder.input(name, Type(DType.F32, (2, 1, SIZE))) for name in names]
    y, ends = inputs[0], []
    for i in range(2):
        parts = [builder.one(Slice((i, 0, 0), (1, 1, 1), (1, 1, SIZE)), name) for name in inputs[1:]]
        y, *last = layer(builder, op, y, [builder.one(Reshape((1, SIZE)), part) for part in parts], rng)
        ends.append([builder.one(Reshape((1, 1, SIZE)), name) for name in last])
    results = [builder.one(Concat(0), *both) for both in zip(*ends, strict=True)]
    graph = builder.graph("stream", inputs, [y, *results])

    def run(graph: Graph, x: Array) -> tuple[list[dict[str, Array]], list[Array]]:
        """Two steps at a time, each part with the states of the last; the inputs as they were, and y."""
        states = {n: np.zeros((2, 1, SIZE), graph.type(n).dtype.numpy) for n in names}
        asked, found = [], []
        for at in range(0, len(x), 2):
            part = real_to(graph, "x", x[at : at + 2])
            asked.append({"x": part, **states})
            y, *after = simulate.run(graph, asked[-1]).values()
            states = dict(zip(names, after, strict=True))
            found.append(real(y, graph.type(graph.outputs[0])) if graph.type(graph.outputs[0]).quant else y)
        return asked, found

    long = np.concatenate([tones(1, seed)[0] for seed in range(8)])
    asked, exact = run(graph, long)
    made, found = quantize(graph, asked[::3], Settings(calibrate="minmax", io="int8"))
    assert {layer.runs_in for layer in found.layers} == {"int8", "int16"}
    for before, after in zip(made.inputs[1:], made.outputs[1:], strict=True):
        assert made.type(before) == made.type(after)
    assert made.type(made.outputs[-1]).dtype is DType.S16
    _, rounded = run(made, long)
    assert sqnr(exact[-20:], rounded[-20:]) > 28  # as near in the end as in the beginning


def real_to(graph: Graph, name: str, x: Array) -> Array:
    quant = graph.type(name).quant
    if quant is None:
        return x
    nearest: Array = np.rint(x / quant.scale[0]) + quant.zero[0]
    return nearest.clip(-128, 127).astype(np.int8)


def test_c_computes_what_stacked_layers_of_both_directions_do(tmp_path: Path) -> None:
    builder, rng = Builder(), np.random.default_rng(9)
    x = builder.input("x", Type(DType.F32, (5, 1, INPUTS)))
    both = builder.one(Concat(2), *(layer(builder, op, x, [], rng)[0] for op in (Gru(), Gru(True))))
    y, h, c = layer(builder, Lstm(), both, [], rng)
    flat = builder.one(Reshape((1, 5 * SIZE)), layer(builder, Rnn(), y, [], rng)[0])
    graph = builder.graph("stack", [x], [flat, h, c])
    made, _ = quantize(graph, [{"x": tones(1, i)[0][:5]} for i in range(8)], Settings(calibrate="minmax"))
    assert {type(node.op).__name__ for node in made.nodes} >= {"Gru", "Lstm", "Rnn"}
    ek_file.save(made, tmp_path / "stack.ek")
    api.build(ek_file.load(tmp_path / "stack.ek"), tmp_path / "c", verify=True)


def test_a_layer_becomes_a_layer_of_floats_where_a_gate_asks_for_it() -> None:
    graph = trained("lstm")
    made, found = quantize(graph, samples(100, 4), Settings(calibrate="minmax", gate=Gate(min_sqnr=60.0)))
    verify(made)
    assert {layer.op: layer.runs_in for layer in found.layers}["Lstm"] == "float32"
    assert found.verdict.sqnr_db > 50


@pytest.mark.parametrize("factor", [1e6, 1e30])
def test_what_fixed_point_cannot_hold_stays_in_floats(factor: float) -> None:
    graph = trained("lstm")
    dense = next(node for node in graph.nodes if isinstance(node.op, Dense))
    weights = graph.data(dense.inputs[1])
    assert weights is not None
    huge = Value(graph.type(dense.inputs[1]), weights * np.float32(factor))
    made, found = quantize(
        replace(graph, values={**graph.values, dense.inputs[1]: huge}),
        samples(100, 4),
        Settings(calibrate="minmax"),
    )
    verify(made)
    assert {layer.op: layer.runs_in for layer in found.layers}["Lstm"] == "float32"
    assert any("stay float32, without an integer form: Lstm" in warning for warning in found.warnings)


def test_weights_that_are_computed_stay_in_floats() -> None:
    builder, rng = Builder(), np.random.default_rng(2)
    x = builder.input("x", Type(DType.F32, (3, 1, INPUTS)))
    r = builder.input("r", Type(DType.F32, (4 * SIZE, SIZE)))
    sums = builder.one(
        Dense(), x, *(constant(builder, rng.normal(size=s)) for s in ((4 * SIZE, INPUTS), 4 * SIZE))
    )
    zeros = constant(builder, np.zeros((1, SIZE)))
    y, *_ = builder.add(Lstm(), sums, r, zeros, zeros)
    graph = builder.graph("computed", [x, r], [y])
    weights = rng.normal(0, 0.2, (4 * SIZE, SIZE)).astype(np.float32)
    asked = [{"x": tones(1, i)[0][:3], "r": weights} for i in range(4)]
    made, found = quantize(graph, asked, Settings(calibrate="minmax"))
    verify(made)
    assert [layer.runs_in for layer in found.layers] == ["int8", "float32"]


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"r_zero": 3}, "E0401", "takes symmetric s8"),
        ({"last": 0.02}, "E0209", "scales differ"),
        ({"cells": 0.3}, "E0209", "is no scale of cells"),
        ({"r": 1e9}, "E0208", "may leave 32 bits"),
        ({"y": 1e-12, "last": 1e-12}, "E0209", "too fine for states"),
        ({}, "", ""),
    ],
    ids=str,
)
def test_scales_that_no_integers_are_for_are_refused(change: dict[str, float], code: str, words: str) -> None:
    of = {"r": 0.01, "r_zero": 0, "y": 0.01, "last": 0.01, "cells": 2.0**-13} | change
    narrow, last, wide = (Quant((of[name],), (0,)) for name in ("y", "last", "cells"))

    def run() -> None:
        builder = Builder()
        kinds = [(DType.S16, (2, 1, 4 * SIZE), Quant((2.0**-11,), (0,))), (DType.S8, (1, SIZE), narrow)]
        x, h = (builder.input(n, Type(*kind)) for n, kind in zip("xh", kinds, strict=True))
        c = builder.input("c", Type(DType.S16, (1, SIZE), wide))
        r = np.ones((4 * SIZE, SIZE), np.int8)
        builder.values["r"] = Value(Type(DType.S8, r.shape, Quant((of["r"],), (int(of["r_zero"]),))), r)
        y = builder.add(Lstm(), x, "r", h, c, quant=[narrow, last, wide])
        graph = builder.graph("net", [x, h, c], y)
        simulate.run(graph, simulate.random_inputs(graph, 0))

    if not code:
        run()
        return
    with pytest.raises(EdgeKitError, match=words) as error:
        run()
    assert error.value.code == code
