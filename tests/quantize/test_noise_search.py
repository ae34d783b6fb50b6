"""Automatic mixed precision: sources of noise, what avoids them, and what comes of it without any option."""

import math

import numpy as np
import pytest
from support.nets import Net
from support.noisy_network import SIZE, network, samples

from edgekit import api
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import Array, DType
from edgekit.quantize.calibrated import Calibrated
from edgekit.quantize.calibration.cross_fit import CrossFit
from edgekit.quantize.gate import Gate, Judge
from edgekit.quantize.mixed_precision.format_search import Mixed
from edgekit.quantize.mixed_precision.noise_search import NoiseSearch
from edgekit.quantize.mixed_precision.noise_sources import AloneNoise, NoiseSource
from edgekit.quantize.post_training import calibrated, quantize
from edgekit.quantize.settings import LEAST_SQNR, Settings

MINMAX = Settings(calibrate="minmax", target="cortex-m4")  # which has kernels for int16


def search_of(graph: Graph) -> tuple[Calibrated, NoiseSearch]:
    known = calibrated(graph, samples(), MINMAX, lambda text: None)
    judge = Judge(known.graph, Gate(), known.measure, None, lambda text: None)
    found = NoiseSearch(known.search(judge), known.measure, LEAST_SQNR, lambda text: None)
    found.noise = dict.fromkeys(found._sources(), 1.0)
    return known, found


@pytest.mark.parametrize("outlier", [0, 1, 10, 11])
def test_formats_are_looked_for_where_half_of_the_samples_judge_the_ranges_of_the_others(
    outlier: int,
) -> None:
    """The half whose ranges fare worse gives them: that which lacks an outlier and clips it."""
    net, given = Net(), samples()
    graph = net.done(net(Dense(), net.x(1, SIZE), net.random(4, SIZE), net.random(4)))
    given[outlier]["x"] *= 4
    apart = calibrated(graph, given, MINMAX, lambda text: None).judged_by_others()
    fitting, judging = ([x["x"] for x in part] for part in (apart.seen.kept, apart.measure.samples))
    assert len(fitting) + len(judging) == len(given)
    assert not {x.tobytes() for x in fitting} & {x.tobytes() for x in judging}
    assert given[outlier]["x"].tobytes() in {x.tobytes() for x in judging}
    ends = min(float(x.min()) for x in fitting), max(float(x.max()) for x in fitting)
    assert apart.tensors.range("x", "minmax") == ends


def test_a_single_sample_judges_itself() -> None:
    known = calibrated(network(), samples(1), MINMAX, lambda text: None)
    assert known.judged_by_others() is known


def test_the_noise_of_a_source_is_that_of_the_float_graph_with_it_rounded() -> None:
    known, search = search_of(network())
    graph, quants = known.graph, search.search.quants()
    alone = AloneNoise(known.measure, quants, lambda text: None).of(list(search.noise), 1e-9)
    assert {NoiseSource("x"), NoiseSource("out"), NoiseSource("out", is_weights=True)} <= alone.keys()
    wide = graph.producer("out")
    assert wide is not None
    for source, found in alone.items():
        signal = noise = 0.0
        for sample in known.measure.samples:
            values = dict(graph.constants()) | dict(sample)
            for node in [None, *graph.nodes]:
                if node is not None:
                    args = [values[name] for name in node.inputs]
                    if source == NoiseSource(node.outputs[0], is_weights=True):
                        args[1] = np.stack([nearest(row) for row in args[1]])
                    (values[node.outputs[0]],) = node.op.eval(*args)
                name = node.outputs[0] if node else "x"
                if source == NoiseSource(name):
                    scale, zero = quants[name].scale[0], quants[name].zero[0]
                    integers = np.clip(np.rint(values[name] / np.float32(scale)) + zero, -128, 127)
                    values[name] = ((integers - zero) * scale).astype(np.float32)
            truth = simulate.run(graph, sample)["out"].astype(np.float64)
            signal, noise = signal + np.square(truth).sum(), noise + np.square(truth - values["out"]).sum()
        if source.is_weights:  # the scale of a row is not the largest weight over 127, but near it
            assert found < 3 * noise / signal + 1e-9
        else:
            assert math.isclose(found, noise / signal, rel_tol=1e-3), source


def nearest(row: Array) -> Array:
    scale = np.abs(row).max() / 127
    return np.asarray(np.rint(row / scale) * scale, np.float32)


def test_what_only_moves_is_no_source() -> None:
    known, search = search_of(network())
    moved = {node.outputs[0] for node in known.graph.nodes if isinstance(node.op, Reshape)}
    assert moved
    assert not moved & {source.name for source in search.noise}


def test_changes_avoid_the_source_they_are_for() -> None:
    """And all of them together leave no tensor in integers."""
    _, search = search_of(network())
    levels: dict[str, str] = {}
    for source in search.noise:
        changes = search._changes(source, {})
        assert source in search._dirty({})
        assert source not in search._dirty(changes), source
        levels |= search._changes(source, levels)
    made = search.search.quantized(levels).graph
    computed = [made.type(name).dtype for node in made.nodes for name in node.outputs]
    assert {*computed} == {DType.F32}


def test_what_only_moves_between_layers_of_floats_is_not_rounded() -> None:
    _, search = search_of(network())
    made = search.search.quantized({"dense_0": "f32", "dense_3": "f32"})
    moves = [node for node in made.graph.nodes if isinstance(node.op, Reshape)]
    assert [made.graph.type(node.outputs[0]).dtype for node in moves] == [DType.F32] * 2


def test_formats_that_are_not_allowed_are_not_taken() -> None:
    _, search = search_of(network())
    search.search.allowed = ("int8", "int16")
    for source in search.noise:
        assert set(search._changes(source, {}).values()) <= {"int16"}
    search.search.allowed = ("int8", "f32")
    for source in search.noise:
        assert set(search._changes(source, {}).values()) == {"f32"}


def test_too_noisy_layers_get_better_formats_unless_strict() -> None:
    graph = network()
    strict, plain = quantize(graph, samples(), Settings(calibrate="minmax", strict_int8=True))
    assert plain.sqnr_db < LEAST_SQNR - 5
    assert plain.mixed is None
    assert {layer.runs_in for layer in plain.layers} == {"int8"}
    made, found = quantize(graph, samples(), MINMAX)
    assert found.sqnr_db >= LEAST_SQNR
    assert found.mixed is not None
    assert math.isclose(found.mixed.sqnr_before_db, plain.sqnr_db)
    assert 0 < len(found.mixed.layers) < len(found.layers) / 2
    better = {layer.name for layer in found.layers if layer.runs_in != "int8"}
    assert better <= found.mixed.layers.keys()
    assert found.mixed.weight_bytes == found.bytes_after - plain.bytes_after
    unseen = samples(60)[24:]
    truth = [simulate.run(graph, sample)["out"] for sample in unseen]
    noise = [
        sum(float(np.square(t - simulate.run(g, x)["out"]).sum()) for t, x in zip(truth, unseen, strict=True))
        for g in (strict, made)
    ]
    assert noise[1] < noise[0] / 3


def test_a_model_that_is_good_enough_stays_in_int8() -> None:
    net = Net()
    graph = net.done(net(Dense(), net.x(1, SIZE), net.random(4, SIZE), net.random(4), name="out"))
    _, found = quantize(graph, samples(), MINMAX)
    assert found.sqnr_db > LEAST_SQNR
    assert found.mixed is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strict_int8": True}, "without --strict-int8"),
        ({"formats": ("int8",)}, "no better formats"),
        ({"weights": "int4", "calibrate": "minmax"}, "--min-sqnr 25dB"),
        ({"gate": Gate(min_sqnr=1)}, ""),
    ],
)
def test_noise_that_stays_is_told(options: dict[str, object], words: str) -> None:
    data = {"x": np.concatenate([sample["x"] for sample in samples()])}
    _, found = api.quantize_model(network(), data, **{"calibrate": "minmax", **options})
    told = [warning for warning in found.warnings if warning.startswith("output out has ")]
    assert len(told) == bool(words)
    assert not told or words in told[0]


def test_random_data_change_no_formats() -> None:
    _, found = api.quantize_model(network(), "random")
    assert found.mixed is None
    assert not [warning for warning in found.warnings if warning.startswith("output out has ")]


def test_few_samples_with_most_of_the_noise_leave_doubt() -> None:
    net = Net()
    graph = net.done(net(Dense(), net.x(1, SIZE), net.random(4, SIZE), net.random(4)))
    random = np.random.default_rng(3)
    samples = [{"x": random.normal(size=(1, SIZE)).astype(np.float32)} for _ in range(16)]
    known = calibrated(graph, samples, Settings(calibrate="minmax", strict_int8=True), lambda step: None)
    quantized = known.tensors.quantized(known.methods)
    clipped = {"x": 3 * samples[0]["x"]}
    doubts = []
    for judges in ([samples[0]] * 8, samples, [*samples[1:], clipped]):
        measure = known.measure.on(judges)
        trial = measure.trial(quantized)
        doubts.append(measure.worst(trial)[0] - measure.surely(trial)[0])
    assert doubts[0] == pytest.approx(0, abs=1e-6)
    assert 0.1 < doubts[1] < 2.5
    assert doubts[2] > 3
    assert known.measure.on([]).surely(known.measure.on([]).trial(quantized)) == (200, "")


def test_more_is_wanted_where_few_samples_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """What held-out samples have is 25 dB and some more, and is searched all the same."""
    wanted: list[float] = []
    before = NoiseSearch.run

    def run(self: NoiseSearch, plain: Mixed) -> Mixed:
        wanted.append(self.wanted)
        return before(self, plain)

    monkeypatch.setattr(NoiseSearch, "run", run)
    monkeypatch.setattr(CrossFit, "surely", lambda self, trial: (self.worst(trial)[0] - 90, ""))
    graph, random = network(), np.random.default_rng(3)
    samples = [{"x": random.normal(size=(1, SIZE)).astype(np.float32)} for _ in range(16)]
    _, report = quantize(graph, samples, MINMAX)
    assert wanted == ([LEAST_SQNR + 6] if report.sqnr_db < LEAST_SQNR + 6 or report.mixed else [])
    assert wanted
