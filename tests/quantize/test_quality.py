"""What quantization does to whole models: accuracy, biases, channels, and what it leaves in floats."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from support.tools import ROOT

from edgekit import api
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Gelu, HardSwish, PRelu, Sigmoid
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.non_max_suppression import NonMaxSuppression
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.softmax import Softmax
from edgekit.core.passes import verify
from edgekit.core.types import Array, DType, Type
from edgekit.quantize.calibration.calibrated_tensors import CalibratedTensors
from edgekit.quantize.calibration.observe import RANGES, Observer
from edgekit.quantize.measure import Measure, sqnr
from edgekit.quantize.mixed_precision.formats import Formats
from edgekit.quantize.post_training import calibrated, quantize
from edgekit.quantize.preparation.equalize import equalize, pairs
from edgekit.quantize.rounding.bias_correction import ExactMeans, correct_biases
from edgekit.quantize.settings import Settings
from edgekit.samples import arrays

EXAMPLES = ROOT / "examples"


@cache
def example(name: str) -> tuple[Graph, Array, Array, Array]:
    graph = api.convert(EXAMPLES / name / f"{name}.onnx")
    with np.load(EXAMPLES / name / "calib.npz") as calib, np.load(EXAMPLES / name / "test.npz") as test:
        return graph, calib["x"], test["x"], test["label"]


def accuracy(graph: Graph, x: Array, labels: Array) -> float:
    (scores,) = api.run(graph, x).values()
    return float((scores.reshape(len(labels), -1).argmax(axis=1) == labels).mean())


def test_digits_in_int8_are_read_as_well_as_in_floats() -> None:
    graph, calibration, x, labels = example("digits")
    made, _ = api.quantize_model(graph, calibration)
    assert accuracy(made, x, labels) >= accuracy(graph, x, labels) - 0.003


def test_keywords_in_int8_are_heard_as_well_as_in_floats() -> None:
    graph, calibration, x, labels = example("keywords")
    made, found = api.quantize_model(graph, calibration[:24], calibrate="mse")
    assert accuracy(made, x[:60], labels[:60]) >= accuracy(graph, x[:60], labels[:60]) - 0.02
    assert {layer.runs_in for layer in found.layers} == {"int8"}


def test_the_same_data_give_the_same_model() -> None:
    graph, calibration, *_ = example("digits")
    first, second = (api.quantize_model(graph, calibration[:16]) for _ in range(2))
    assert first == second


def test_ranges_by_trial_are_no_worse_than_any_single_method() -> None:
    """Judged by samples that give no ranges, and on images of the test set, of which calibration has none."""
    graph, calibration, x, _ = example("digits")
    unseen, fresh = {}, {}
    for how in ("auto", *RANGES):
        settings, samples = Settings(calibrate=how), arrays.samples(graph, {"x": calibration[:16]})
        known = calibrated(graph, samples, settings, lambda step: None)
        measure = Measure(known.graph, arrays.samples(graph, {"x": x[:200]}))
        unseen[how] = known.unseen(Formats(), 16).sqnr_db
        fresh[how] = measure.worst(measure.trial(known.finish(Formats()).quantized))[0]
    assert unseen["auto"] == max(unseen.values())
    assert fresh["auto"] == max(fresh.values())


def observed(graph: Graph, samples: Sequence[dict[str, Array]]) -> Observer:
    observer = Observer(graph)
    for sample in samples:
        observer.add(sample)
    return observer


def test_corrected_biases_leave_less_noise() -> None:
    graph, calibration, *_ = example("anomaly")
    samples = arrays.samples(graph, {graph.inputs[0]: calibration})
    tensors = CalibratedTensors.of(graph, observed(graph, samples[:64]).statistics)
    measure = Measure(graph, samples[64:])
    plain = measure.trial(tensors.quantized(dict.fromkeys(tensors.means, "minmax")))
    corrected = correct_biases(plain.quantized, ExactMeans(graph, samples[:32]))
    verify(corrected.graph)
    assert measure.quality(measure.trial(corrected)) > measure.quality(plain)


def network(depthwise_range: float = 100.0) -> Graph:
    """Image -> convolution whose channels differ by `depthwise_range` -> depthwise -> convolution."""
    random, b = np.random.default_rng(5), Builder()
    x = b.input("x", Type(DType.F32, (1, 8, 8, 3)))
    spread = np.geomspace(1, depthwise_range, 8)
    shapes = [(8, 1, 1, 3), (8, 3, 3, 1), (4, 1, 1, 8)]
    weights = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    weights[0] *= spread.reshape(8, 1, 1, 1).astype(np.float32)
    weights[2] /= spread.astype(np.float32)
    for i, w in enumerate(weights):
        bias = b.const(random.normal(size=len(w)).astype(np.float32), hint=f"b{i}")
        op = Conv2d(groups=8 if i == 1 else 1, lo=0.0 if i < 2 else -np.inf)
        x = b.one(op, x, b.const(w, hint=f"w{i}"), bias, name=f"y{i}")
    return b.graph("net", ["x"], [x])


def images(count: int) -> list[dict[str, Array]]:
    random = np.random.default_rng(6)
    return [{"x": random.normal(size=(1, 8, 8, 3)).astype(np.float32)} for _ in range(count)]


def test_equalization_changes_no_result_and_lets_channels_fill_the_range() -> None:
    graph = network()
    assert len(pairs(graph)) == 2
    seen = observed(graph, images(8)).statistics
    level = equalize(graph, {n: s.reaches for n, s in seen.items() if s.reaches is not None}, (1.0, 0.5))
    verify(level)
    (sample,) = images(1)
    before, after = (simulate.run(g, sample)[graph.outputs[0]] for g in (graph, level))
    np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-4)
    reach, wanted = (observed(g, images(8)).statistics["y0"].reaches for g in (level, graph))
    assert reach is not None
    assert wanted is not None
    assert reach.max() / reach.min() < 0.2 * (wanted.max() / wanted.min())


def test_equalization_is_used_where_channels_differ() -> None:
    samples = images(32)
    plain, level = (
        quantize(network(), samples, Settings(calibrate=how, strict_int8=True))[1].sqnr_db
        for how in ("minmax", "auto")
    )
    assert level > plain + 5


def test_operators_between_layers_have_integers_too() -> None:
    b = Builder()
    x = b.input("x", Type(DType.F32, (1, 8, 8, 3)))
    parts = [b.one(op, x) for op in (HardSwish(), Sigmoid(), Gelu())]
    parts.append(b.one(PRelu(), x, b.const(np.float32(0.1))))
    y = b.one(Concat(3), *parts)
    y = b.one(Pad((0, 1, 1, 0), (0, 1, 1, 0)), y, b.const(np.float32(0)))
    y = b.one(Reduce("mean", (1, 2), keepdims=False), y)
    graph = b.graph("net", ["x"], [b.one(Dense(), y, *(b.const(c) for c in layer(12, 4)))])
    made, found = quantize(graph, images(16), Settings(calibrate="minmax"))
    verify(made)
    assert {x.runs_in for x in found.layers} == {"int8"}
    assert found.sqnr_db > 25
    assert not [w for w in found.warnings if "float32" in w]


def layer(inputs: int, outputs: int) -> tuple[Array, Array]:
    random = np.random.default_rng(7)
    return random.normal(size=(outputs, inputs)).astype(np.float32), np.zeros(outputs, np.float32)


def test_what_has_no_integers_stays_float_and_is_told() -> None:
    b = Builder()
    x = b.input("x", Type(DType.F32, (2, 12)))
    y = b.one(Dense(), x, *(b.const(c) for c in layer(12, 12)))
    y = b.one(Cumulative("sum", 1), y)
    graph = b.graph("net", ["x"], [b.one(Dense(), y, *(b.const(c) for c in layer(12, 4)))])
    random = np.random.default_rng(8)
    samples = [{"x": random.normal(size=(2, 12)).astype(np.float32)} for _ in range(16)]
    made, found = quantize(graph, samples)
    verify(made)
    assert [layer.runs_in for layer in found.layers] == ["int8", "float32", "int8"]
    assert "1 of 3 layers stay float32, without an integer form: Cumulative" in found.warnings
    assert found.sqnr_db > 30


def test_a_table_is_quantized_as_a_whole_though_samples_name_few_of_its_rows() -> None:
    b = Builder()
    token = b.input("token", Type(DType.S64, (2, 6)))
    table = np.linspace(-2, 3, 50 * 12, dtype=np.float32).reshape(50, 12)
    y = b.one(Gather(0), b.const(table), b.one(Reshape((12, 1)), token))
    graph = b.graph("net", ["token"], [y, b.one(Dense(), y, *(b.const(c) for c in layer(12, 4)))])
    named = np.random.default_rng(15).integers(20, 30, (16, 2, 6))
    made, found = quantize(graph, [{"token": tokens} for tokens in named])
    verify(made)
    assert found.bytes_after < found.bytes_before / 3
    assert not [w for w in found.warnings if "float32" in w]
    for tokens in np.arange(60).reshape(5, 2, 6) % 50:
        rows, _ = simulate.run(made, {"token": tokens}).values()
        assert np.abs(rows - table[tokens.reshape(-1)]).max() <= 0.51 * 5 / 255


def test_a_softmax_beside_other_numbers_leaves_them_their_range() -> None:
    b = Builder()
    x = b.input("x", Type(DType.F32, (1, 12)))
    graph = b.graph("net", ["x"], [b.one(Concat(1), b.one(Softmax(), x), x)])
    samples = [{"x": v} for v in np.random.default_rng(11).normal(0, 9, (16, 1, 12)).astype(np.float32)]
    made, found = quantize(graph, samples)
    verify(made)
    pairs = [
        (simulate.run(graph, s)[graph.outputs[0]], simulate.run(made, s)[made.outputs[0]]) for s in samples
    ]
    numbers = [(right[:, 12:], out[:, 12:]) for right, out in pairs]
    assert sqnr(*zip(*numbers, strict=True)) > 35
    assert found.sqnr_db > 32  # of the softmax, which has steps of 1/256


def test_a_bias_that_outweighs_all_else_fits_into_32_bits() -> None:
    b = Builder()
    x = b.input("x", Type(DType.F32, (1, 12)))
    weights, _ = layer(12, 3)
    bias = np.array([1e9, -1e9, 1], np.float32)
    graph = b.graph("net", ["x"], [b.one(Dense(), x, b.const(weights * np.float32(1e-4)), b.const(bias))])
    samples = [{"x": v} for v in np.random.default_rng(13).normal(size=(8, 1, 12)).astype(np.float32)]
    made, found = quantize(graph, samples)
    verify(made)
    assert found.sqnr_db > 40


def test_results_that_are_next_to_nothing_stay_float() -> None:
    b = Builder()
    x = b.input("x", Type(DType.F32, (1, 12)))
    weights, _ = layer(12, 3)
    bias = np.full(3, 1e3, np.float32)
    graph = b.graph("net", ["x"], [b.one(Dense(hi=1e-12), x, b.const(weights), b.const(bias))])
    samples = [{"x": v} for v in np.random.default_rng(14).normal(size=(8, 1, 12)).astype(np.float32)]
    made, found = quantize(graph, samples)
    verify(made)
    assert [layer.runs_in for layer in found.layers] == ["float32"]


def test_sums_that_cancel_stay_float() -> None:
    b = Builder()
    x = b.input("x", Type(DType.F32, (1, 12)))
    large = b.one(Mul(), x, b.const(np.float32(1e6)))
    rest = b.one(Sub(), b.one(Add(), large, b.const(np.float32(1))), large)
    samples = [{"x": v} for v in np.random.default_rng(12).normal(size=(16, 1, 12)).astype(np.float32)]
    made, found = quantize(
        b.graph("net", ["x"], [rest]), samples, Settings(calibrate="minmax", strict_int8=True)
    )
    verify(made)
    assert [layer.runs_in for layer in found.layers] == ["int8", "int8", "float32"]


@pytest.mark.parametrize("method", sorted(RANGES))
def test_ranges_hold_most_of_what_was_seen(method: str) -> None:
    x = np.random.default_rng(9).normal(size=(200, 50)).astype(np.float32)
    graph = Builder()
    name = graph.input("x", Type(DType.F32, (200, 50)))
    observer = observed(graph.graph("net", [name], [name]), [{"x": x}])
    low, high = RANGES[method](observer.statistics["x"])
    assert x.min() <= low < -2 < 2 < high <= x.max()


def test_statistics_of_parts_add_up() -> None:
    random = np.random.default_rng(10)
    parts = [random.normal(0, size, (1, 30)).astype(np.float32) for size in (0.01, 40)]
    b = Builder()
    name = b.input("x", Type(DType.F32, (1, 30)))
    graph = b.graph("net", [name], [name])
    one, two = (observed(graph, [{"x": part}]).statistics["x"] for part in parts)
    both = observed(graph, [{"x": part} for part in parts]).statistics["x"]
    total = one + two
    assert (total.low, total.high, total.reach, total.rows) == (both.low, both.high, both.reach, both.rows)
    np.testing.assert_array_equal(total.counts, both.counts)
    np.testing.assert_allclose(total.means, both.means)


def test_what_is_selected_is_judged_by_what_it_is_selected_from() -> None:
    """Rows swap at the smallest error, and say nothing about the network."""
    builder = Builder()
    x = builder.input("x", Type(DType.F32, (1, 9, 4)))
    boxes, scores = builder.one(Sigmoid(), x), builder.one(Reduce("max", (2,), keepdims=False), x)
    scores = builder.one(Reshape((1, 1, 9)), scores)
    limit, least = (builder.const(np.float32(value)) for value in (0.5, 0.0))
    rows, best, count = builder.add(NonMaxSuppression(5, 5), boxes, scores, limit, least)
    graph = builder.graph("net", ["x"], [rows, best, count, x])
    assert Measure(graph, []).scores == [boxes, scores, x]
