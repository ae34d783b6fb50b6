"""Recurrent layers skip masked steps, wherever these are: as a loop in numpy does, in floats and integers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.tools import require

from edgekit import build, quantize_model
from edgekit.converters.semantics import recurrent
from edgekit.converters.semantics.masked_steps import skipping
from edgekit.converters.semantics.recurrent import Activation, RecurrentLayer, Result
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Sigmoid, Tanh
from edgekit.core.ops.recurrent import Recurrent
from edgekit.core.passes.simplify import simplify
from edgekit.core.simulate import run
from edgekit.core.types import Array, DType, Type

STEPS, BATCH, INPUTS, SIZE = 7, 3, 5, 4
TANH = Activation("tanh", lambda x: x.apply(Tanh()))
SIGMOID = Activation("sigmoid", lambda x: x.apply(Sigmoid()))
LAYERS: dict[str, tuple[int, tuple[Activation, ...], Callable[[RecurrentLayer], Result]]] = {
    "rnn": (1, (TANH,), recurrent.rnn),
    "gru": (3, (SIGMOID, TANH), partial(recurrent.gru, reset_after=True)),
    "lstm": (4, (SIGMOID, TANH, TANH), partial(recurrent.lstm, input_forget=False)),
}


def weights(kind: str, starts: bool) -> list[Array]:
    """w, r, two biases, and first states."""
    width = LAYERS[kind][0] * SIZE
    rng = np.random.default_rng(width)
    shapes = [(width, INPUTS), (width, SIZE), (width,), (width,)]
    drawn = [(rng.standard_normal(shape) / 2).astype(np.float32) for shape in shapes]
    states = rng.standard_normal((1 + (kind == "lstm"), BATCH, SIZE)).astype(np.float32)
    return [*drawn, *(states * np.float32(starts))]


def graph(kind: str, *, reverse: bool, starts: bool) -> Graph:
    """A layer whose mask is an input, with all that it results in."""
    _, activations, layer = LAYERS[kind]
    builder = Builder()
    x = Tensor(builder, builder.input("x", Type(DType.F32, (STEPS, BATCH, INPUTS))))
    mask = Tensor(builder, builder.input("mask", Type(DType.BOOL, (STEPS, BATCH))))
    given = map(x.like, weights(kind, starts))
    made = skipping(RecurrentLayer(x, *given, reverse=reverse, activations=activations), mask, layer)
    return simplify(
        builder.graph(kind, ["x", "mask"], [result.name for result in made if result is not None])
    )


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def cell(kind: str, x: Array, states: list[Array], w: Array, r: Array, wb: Array, rb: Array) -> list[Array]:
    """The states after one step."""
    h = states[0]
    own, inner = w @ x + wb, r @ h + rb
    if kind == "rnn":
        return [np.tanh(own + inner)]
    if kind == "gru":
        (zx, rx, nx), (zh, rh, nh) = np.split(own, 3), np.split(inner, 3)
        z = sigmoid(zx + zh)
        return [(1 - z) * np.tanh(nx + sigmoid(rx + rh) * nh) + z * h]
    i, o, f, new = np.split(own + inner, 4)
    c = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(new)
    return [sigmoid(o) * np.tanh(c), c]


def loop(kind: str, x: Array, mask: Array, *, reverse: bool, starts: bool) -> list[Array]:
    """What is defined: a masked step keeps states, and repeats what came before it, at first 0."""
    given = weights(kind, starts)
    y = np.zeros((STEPS, BATCH, SIZE))
    ends = np.array(given[4:], np.float64)
    for b in range(BATCH):
        shown = np.zeros(SIZE)
        for t in range(STEPS - 1, -1, -1) if reverse else range(STEPS):
            if mask[t, b]:
                ends[:, b] = cell(kind, x[t, b], list(ends[:, b]), *given[:4])
                shown = ends[0, b]
            y[t, b] = shown
    return [y, *ends]


def masks() -> list[Array]:
    """Holes, borders, nothing and all."""
    rng = np.random.default_rng(1)
    drawn = [rng.random((STEPS, BATCH)) < 0.6 for _ in range(4)]
    edges = np.ones((STEPS, BATCH), np.bool_)
    edges[:2, 0] = edges[-2:, 1] = edges[:, 2] = False
    return [*drawn, edges, np.ones_like(edges), np.zeros_like(edges)]


def samples(count: int) -> list[dict[str, Array]]:
    rng = np.random.default_rng(2)
    shape = (STEPS, BATCH, INPUTS)
    drawn = [rng.standard_normal(shape).astype(np.float32) for _ in range(count)]
    return [{"x": x, "mask": rng.random((STEPS, BATCH)) < 0.7} for x in drawn]


@pytest.mark.parametrize("starts", [False, True], ids=["zero", "given"])
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("kind", LAYERS)
def test_any_steps_may_be_masked(kind: str, reverse: bool, starts: bool) -> None:
    made = graph(kind, reverse=reverse, starts=starts)
    x = samples(1)[0]["x"]
    for mask in masks():
        expected = loop(kind, x, mask, reverse=reverse, starts=starts)
        found = run(made, {"x": x, "mask": mask}).values()
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("kind", LAYERS)
def test_there_is_one_layer_for_all_steps(kind: str) -> None:
    made = graph(kind, reverse=False, starts=False)
    layers = sum(isinstance(node.op, Recurrent) for node in made.nodes)
    assert layers == 1 + (kind == "lstm")  # cells have a layer of their own
    assert len(made.nodes) < 32


def test_nothing_is_gathered_where_no_step_is_masked() -> None:
    _, activations, layer = LAYERS["gru"]
    builder = Builder()
    x = Tensor(builder, builder.input("x", Type(DType.F32, (STEPS, BATCH, INPUTS))))
    given = list(map(x.like, weights("gru", starts=False)))
    skipping(
        RecurrentLayer(x, *given, activations=activations), x.new(np.ones((STEPS, BATCH), np.bool_)), layer
    )
    masked = len(builder.nodes)
    layer(RecurrentLayer(x, *given, activations=activations))
    assert len(builder.nodes) == 2 * masked


def test_masked_layers_become_integers(tmp_path: Path) -> None:
    require("gcc")
    made, report = quantize_model(
        graph("gru", reverse=True, starts=False),
        samples(24),
        calibrate="minmax",
        strict_int8=True,
        progress=lambda step: None,
    )
    assert {layer.runs_in for layer in report.layers if layer.op == "Gru"} == {"int8"}
    assert report.sqnr_db > 25
    build(made, tmp_path, verify=True)
