"""What layers take in each format on a class of machines, and the formats that follow from it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.nets import Net
from support.noisy_network import network, samples
from support.quantize_warnings import SLOWER

from edgekit import api
from edgekit.core import format_costs, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.format_notes import formats_note
from edgekit.quantize.calibration.cross_fit import CrossFit
from edgekit.quantize.mixed_precision.format_search import INT16
from edgekit.quantize.post_training import quantize
from edgekit.quantize.settings import LEAST_SQNR, Settings

QUICK = {"calibrate": "minmax"}
PORTABLE_INT16, WITH_INT16 = "x86-64-avx2", "cortex-m4"


def classes() -> list[str]:
    return [path.stem for path in sorted(format_costs.FOLDER.glob("*.toml"))]


@pytest.mark.parametrize("name", classes())
def test_each_class_has_costs_of_all_formats(name: str) -> None:
    costs = format_costs.load(name)
    assert costs.machine == name or format_costs.load(costs.machine).table is costs.table
    for kind in ("Conv2d", "Pointwise", "Depthwise", "DenseRow", "DenseRows", "ConvTranspose2d"):
        for format in ("s8", "s8-s16", "s16", "s16-s8", "f32", "f32_bf16"):
            assert min(costs.table[kind][format]) >= 0
            assert max(costs.table[kind][format]) > 0
    assert {"Quantize", "Dequantize", "MatMul", "LayerNorm", "Softmax", "Gru", "Lstm"} <= costs.table.keys()


@pytest.mark.parametrize("name", target.names())
def test_each_target_has_a_class(name: str) -> None:
    """Of its own, of its processor, or of one with the same kernels."""
    costs = format_costs.load(name)
    known = target.load(costs.machine)
    assert costs.machine == target.load(name).core or known.isa == target.load(name).isa


def test_unknown_machines_are_refused() -> None:
    with pytest.raises(EdgeKitError, match="E0106 unknown target cortex-m5"):
        Settings(target="cortex-m5")
    assert Settings().costs.machine == Settings(target=format_costs.NEUTRAL).costs.machine == "any"


def test_int16_is_slower_than_floats_where_it_is_portable_c() -> None:
    for kind in ("Conv2d", "Pointwise", "DenseRow", "DenseRows"):
        slow, fast = (format_costs.load(name).table[kind] for name in (PORTABLE_INT16, WITH_INT16))
        assert slow["s16"][0] > 2 * slow["f32"][0]
        assert fast["s16"][0] < fast["f32"][0]


@pytest.mark.parametrize(("machine", "has_int16"), [(PORTABLE_INT16, False), (WITH_INT16, True)])
def test_formats_follow_the_machine(machine: str, has_int16: bool) -> None:
    _, found = quantize(network(), samples(), Settings(calibrate="minmax", target=machine))
    assert found.mixed is not None
    assert found.sqnr_db >= LEAST_SQNR
    assert (INT16 in found.mixed.layers.values()) is has_int16
    assert found.machine == machine
    assert found.speedup > 0


def test_the_time_of_a_graph_is_the_sum_of_its_layers() -> None:
    net, costs = Net(), format_costs.load(WITH_INT16)
    weights, bias = net.random(16, 3, 3, 8), net.random(16)
    graph = net.done(net(Conv2d(pads=(1, 1, 1, 1)), net.x(1, 6, 6, 8), weights, bias))
    product, element = costs.table["Conv3x3"]["f32"]
    expected = 36 * 16 * (72 * product + element)
    assert math.isclose(costs.run(graph), expected)
    assert math.isclose(costs.speedup(graph), 1.0)
    data = {"x": np.random.default_rng(0).normal(size=(8, 6, 6, 8)).astype(np.float32)}
    made, found = api.quantize_model(graph, data, calibrate="minmax", strict_int8=True, target=WITH_INT16)
    (product, element), (_, wide), (_, narrow) = (
        costs.table[kind][format]
        for kind, format in (("Conv3x3", "s8"), ("Dequantize", "s8-f32"), ("Quantize", "f32-s8"))
    )
    own = 36 * 16 * (72 * product + element) + 36 * 8 * narrow + 36 * 16 * wide
    assert math.isclose(costs.run(made), own)
    assert math.isclose(costs.float_run(made), expected)
    assert math.isclose(found.speedup, expected / own)


def test_a_library_that_is_slower_than_floats_says_so() -> None:
    """By how much, and what to do: with the formats of this machine, of another one, and without any."""
    graph, data = network(), {"x": np.concatenate([sample["x"] for sample in samples()])}
    tries = ((name, *api.quantize_model(graph, data, **QUICK, target=name)) for name in classes())
    slow, made, found = next((name, made, found) for name, made, found in tries if found.speedup < 0.98)
    (told,) = (warning for warning in found.warnings if SLOWER in warning)
    assert told.startswith(f"on {slow} a run takes an estimated {1 / found.speedup:.2f} times")
    assert "build the float model where it fits" in told
    assert "--target" not in told
    note = formats_note(made, target.load(slow))
    assert f"{1 / found.speedup:.2f} {SLOWER}" in note
    assert f"edgekit build MODEL --target {slow} builds that" in note


def test_formats_for_another_machine_are_told_at_build() -> None:
    graph, data = network(), {"x": np.concatenate([sample["x"] for sample in samples()])}
    made, found = api.quantize_model(graph, data, **QUICK, target=WITH_INT16)
    assert made.source.machine == WITH_INT16
    assert found.speedup > 1
    for home in (WITH_INT16, "stm32f407", "cortex-m7"):
        assert formats_note(made, target.load(home)) == ""
    away = target.load(PORTABLE_INT16)
    ratio = format_costs.of(away).speedup(made)
    note = formats_note(made, away)
    assert (f"{ratio:.2f} times as fast" if ratio > 1 else f"{1 / ratio:.2f} times as long") in note
    assert "edgekit quantize MODEL --data DATA --target x86-64-avx2 chooses formats for it" in note


def test_int8_alone_needs_no_note() -> None:
    net, size = Net(), 128
    graph = net.done(net(Dense(), net.x(1, size), net.random(size, size), net.random(size)))
    data = [{"x": net.random(1, size)} for _ in range(8)]
    made, _ = quantize(graph, data, Settings(calibrate="minmax", target=WITH_INT16))
    assert format_costs.load("cortex-m55").speedup(made) > 1
    assert formats_note(made, target.load("cortex-m55")) == ""


def test_int8_alone_that_is_slower_asks_for_the_float_model() -> None:
    """Other formats of layers would not be faster."""
    net = Net()
    weights, bias = net.random(32, 3, 3, 32), net.random(32)
    graph = net.done(net(Conv2d(pads=(1, 1, 1, 1)), net.x(1, 8, 8, 32), weights, bias))
    data = [{"x": net.random(1, 8, 8, 32)} for _ in range(8)]
    made, _ = quantize(graph, data, Settings(calibrate="minmax", strict_int8=True))
    note = formats_note(made, target.load("x86-64-avx2"))
    assert f"{SLOWER}: edgekit build MODEL --target x86-64-avx2 builds that" in note


def test_doubt_about_other_samples_may_cost_a_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what was measured keeps the promise, the search for more ends there."""
    monkeypatch.setattr(CrossFit, "surely", lambda self, trial: (self.worst(trial)[0] - 90, ""))
    graph = network(outlier=10)
    settings = Settings(calibrate="minmax", target=PORTABLE_INT16)
    strict, plain = quantize(graph, samples(), replace(settings, strict_int8=True))
    assert LEAST_SQNR < plain.sqnr_db < LEAST_SQNR + 6
    made, _ = quantize(graph, samples(), settings)
    costs = settings.costs
    assert costs.run(made) < 1.2 * costs.run(strict)
