"""A page says first whether a library fits, and where to begin; what changes would do is exact."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from support.report_pages import library, residual
from support.tools import ROOT

from edgekit import Graph, convert, quantize_model, run
from edgekit.codegen.library_map import library_map
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.planned_once import Planned
from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.core.ir import MeasuredTensor
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.softmax import Softmax
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Target
from edgekit.core.types import DType, Value
from edgekit.quantize.pruning.groups import Network
from edgekit.reports.advice import advice, in_words, left_out, rankings, verdict, wanted
from edgekit.reports.changed_layers import VARIANTS, Kind, Wanted
from edgekit.reports.what_if import Change, changes

DIGITS = ROOT / "examples" / "digits"
M4 = target.load("cortex-m4")


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    with np.load(DIGITS / "calib.npz") as data:
        samples: np.ndarray = data["x"][:16]
    return samples


@pytest.fixture(scope="module")
def floats() -> Graph:
    return convert(DIGITS / "digits.onnx")


@pytest.fixture(scope="module")
def integers(floats: Graph, x: np.ndarray) -> Graph:
    return quantize_model(floats, x, calibrate="minmax")[0]


def layers(graph: Graph) -> list[str]:
    return [node.outputs[0] for node in graph.nodes if isinstance(node.op, Linear)]


def weights(graph: Graph, result: str) -> tuple[np.ndarray, np.ndarray]:
    """The scales of a layer's weights, none of floats, and the weights."""
    node = graph.producer(result)
    assert node is not None
    value = graph.values[node.inputs[1]]
    assert value.data is not None
    return np.array(value.type.quant.scale if value.type.quant else ()), value.data.astype(
        np.int64 if value.type.quant else np.float32
    )


def variant(graph: Graph, result: str, kind: Kind, place: Target = M4) -> Graph:
    ((_, make),) = VARIANTS[kind](Network.of(graph), result, place)
    return make()


def test_half_of_the_channels_is_half_of_the_weights_that_they_have(floats: Graph) -> None:
    """Of the layer itself, its biases, and the inputs of the layer behind it; rounded up to whole vectors."""
    first, second, *_ = layers(floats)
    found = changes(floats, M4, [(first, "half")])[first, "half"]
    w, next_w = weights(floats, first)[1], weights(floats, second)[1]
    assert (w.shape[0], M4.channels) == (12, 4)
    gone = 4
    per_channel = w[0].size + 1 + next_w[..., 0].size
    assert found.what == f"{w.shape[0] - gone} of {w.shape[0]} channels"
    assert found.weight_bytes == -4 * gone * per_channel
    assert found.instructions is not None
    assert found.instructions < 0


def test_channels_that_are_dead_already_are_not_of_the_change(floats: Graph) -> None:
    """Half of a layer saves as much where another layer has channels that do nothing."""
    first, second, *_ = layers(floats)
    node = floats.producer(second)
    assert node is not None
    constants = [floats.values[name] for name in node.inputs[1:]]
    dead = {}
    for name, value in zip(node.inputs[1:], constants, strict=True):
        assert value.data is not None
        data = value.data.copy()
        data[:4] = 0
        dead[name] = Value(value.type, data)
    graph = replace(floats, values={**floats.values, **dead})
    assert compile_graph(graph, M4).weight_bytes == compile_graph(floats, M4).weight_bytes
    expected = changes(simplify(graph), M4, [(first, "half")])
    assert changes(graph, M4, [(first, "half")]) == expected


def test_the_output_of_a_model_keeps_its_channels(floats: Graph) -> None:
    assert changes(floats, M4, [(layers(floats)[-1], "half")]) == {}


def test_floats_have_no_format_to_leave(floats: Graph) -> None:
    kinds: tuple[Kind, ...] = ("int4", "int16", "float")
    assert changes(floats, M4, [(name, kind) for name in layers(floats) for kind in kinds]) == {}


def noise(graph: Graph, other: Graph, x: np.ndarray) -> float:
    """In dB below the signal."""
    a, b = (np.concatenate([next(iter(run(g, each[None]).values())) for each in x]) for g in (graph, other))
    return float(10 * np.log10((a.astype(float) ** 2).sum() / max(((a - b) ** 2).sum(), 1e-30)))


def test_a_layer_in_floats_computes_what_it_did(integers: Graph, x: np.ndarray) -> None:
    """But for what its integers were rounded by."""
    for name in layers(integers):
        made = variant(integers, name, "float")
        node = made.producer(f"{name}/y")
        assert node is not None
        assert {made.type(n).dtype for n in (*node.inputs, *node.outputs)} == {DType.F32}
        assert noise(integers, made, x) > 35, name


def test_weights_of_4_bits_are_those_of_8_coarser(integers: Graph, x: np.ndarray) -> None:
    for name in layers(integers):
        made = variant(integers, name, "int4")
        (scale, w), (old_scale, before) = weights(made, name), weights(integers, name)
        assert made.type(name) == integers.type(name)
        real, was = (s[:, None] * v.reshape(len(v), -1) for s, v in ((scale, w), (old_scale, before)))
        assert np.abs(w).max() == 7
        assert np.abs(real - was).max() <= scale.max() / 2 * 1.001
        assert noise(integers, made, x) > 12, name
        # Of the weights half of the bytes, of the biases none.
        found = changes(integers, M4, [(name, "int4")])[name, "int4"]
        assert found.weight_bytes <= -(w.size // 2) + 8


def test_int16_is_what_a_layer_reads_and_gives(integers: Graph, x: np.ndarray) -> None:
    """With the same weights, and biases of a finer scale; what other operators read stays as it is."""
    expected = [(False, True), (True, False), (False, False), (False, False)]
    for name, wide in zip(layers(integers), expected, strict=True):
        node = integers.producer(name)
        assert node is not None
        tensors = node.inputs[0], name
        if not any(wide):
            assert not [*VARIANTS["int16"](Network.of(integers), name, M4)]
            continue
        made = variant(integers, name, "int16")
        assert [made.type(tensor).dtype is DType.S16 for tensor in tensors] == [*wide]
        assert [made.type(n).dtype for n in node.inputs[1:]] == [DType.S8, DType.S32]
        assert noise(integers, made, x) > 35, name


def test_another_kernel_trades_flash_for_time(integers: Graph) -> None:
    """Small weights where they were large, and large ones where they were small; results are the same."""
    names = layers(integers)
    both: list[Wanted] = [(name, kind) for name in names for kind in ("small kernel", "fast kernel")]
    small, large = (changes(integers, replace(M4, weight_growth=growth), both) for growth in (100.0, 1.0))
    assert small
    assert {kind for _, kind in small} == {"small kernel"}
    assert {(name, "fast kernel") for name, _ in small} == large.keys()
    for (name, _), one in small.items():
        other = large[name, "fast kernel"]
        assert one.what.endswith("with smaller weights")
        assert other.what.endswith("with larger weights")
        assert one.weight_bytes == -other.weight_bytes < 0
        assert one.instructions == -(other.instructions or 0) > 0


@pytest.mark.parametrize("name", ["cortex-m4", "cortex-m55", "x86-64-avx2"])
@pytest.mark.parametrize("least_ram", [False, True])
def test_a_change_is_what_a_build_of_it_takes(integers: Graph, name: str, least_ram: bool) -> None:
    """Which chooses again which layers have small weights: of the change, and of others."""
    place = replace(target.load(name), least_ram=least_ram)
    kinds: tuple[Kind, ...] = ("half", "int4", "int16", "float")
    asked: list[Wanted] = [(result, kind) for result in layers(integers) for kind in kinds]
    found = changes(integers, place, asked)
    assert {kind for _, kind in found} == {*kinds}
    before = fit(integers, place)
    for (result, kind), change in found.items():
        after = fit(variant(integers, result, kind, place), place)
        assert change.weight_bytes == after.library_weight_bytes - before.library_weight_bytes
        assert change.arena_bytes == after.arena_bytes - before.arena_bytes


VERDICTS: Mapping[str, tuple[str, dict[str, int], str]] = {
    "fits": (
        "stm32f407",
        {"flash": 1 << 19, "ram": 1 << 10},
        "Fits stm32f407: 512 KB of flash and 127 KB of RAM",
    ),
    "over": (
        "stm32f407",
        {"flash": 0, "ram": (1 << 17) + 1234},
        "Does not fit stm32f407: 1,234 B of RAM too much.",
    ),
    "open": ("cortex-m4", {"flash": 1 << 19, "ram": 1 << 17}, "the library fits nrf52840, stm32f407."),
}


@pytest.mark.parametrize("kind", VERDICTS)
def test_the_verdict(kind: str) -> None:
    name, need, text = VERDICTS[kind]
    found = verdict(need, target.load(name))
    assert found.kind == kind
    assert text in found.text


def test_what_is_not_known_is_not_promised() -> None:
    found = verdict({"flash": 1 << 10, "ram": 0}, target.load("stm32f407"), ["code", "stack"])
    assert found.kind == "open"
    assert found.text.endswith("128 KB of RAM are left for code and stack, which are not known.")


def test_no_board_may_be_large_enough() -> None:
    assert "fits none of nrf52840, stm32f407" in verdict({"flash": 1 << 30, "ram": 0}, M4).text


def test_lists_name_the_layers_that_take_most() -> None:
    found = library(residual(3), 12)
    ranked = rankings(found, M4, [x.macs for x in found.layers], "MACs", None, None)
    assert [r.title for r in ranked] == ["Most MACs", "Most flash"]
    for ranking, key in zip(ranked, ("macs", "weight_bytes"), strict=True):
        order = sorted(range(12), key=lambda i: -getattr(found.layers[i], key))
        assert ranking.layers() == order[:3]


def measured(graph: Graph, first: float) -> Graph:
    """With one dB less in each tensor."""
    names = [name for node in graph.nodes for name in node.outputs]
    tensors = tuple(MeasuredTensor(name, first - i, 0, 1, ()) for i, name in enumerate(names))
    return replace(graph, source=replace(graph.source, measured=tensors))


def test_the_layers_of_least_signal_to_noise_come_from_quantization(integers: Graph) -> None:
    graph = measured(integers, 50.0)
    found = library_map(compile_graph(graph, M4), None, {}, None)
    *_, least = rankings(found, M4, [0.0] * len(found.layers), "MACs", None, graph)
    assert least.title == "Least signal to noise"
    order = sorted(range(len(found.layers)), key=lambda i: -least.values[i])
    assert least.layers() == order[:3]
    assert {found.layers[order[0]].operator, found.layers[order[1]].operator} == {"Dequantize", "Softmax"}
    cheap, good = (wanted(found, [least])[i] for i in range(2))
    assert (cheap[1], good[1]) == ("int16", "float")
    made = advice(found, [least], {good: Change("float32", 12, 0, None), cheap: Change("int16", 8, 0, None)})
    assert made[0].entries[0].changes == ("int16: +8 B of weights", "float32: +12 B of weights")
    assert made[0].entries[1].changes == ()


def test_changes_that_say_nothing_are_left_out() -> None:
    """What saves nothing of what a list is about, and formats that take no less than a better one."""
    found = library(residual(3), 12)
    time, flash = rankings(found, M4, [x.macs for x in found.layers], "instructions", None, None)
    slower, faster = Change("slower", -8, 0, 5), Change("faster", 8, 0, -5)
    assert time.worth([slower, faster]) == [faster]
    assert flash.worth([slower, faster]) == [slower]
    least = replace(flash, saves="")
    assert least.worth([Change("int16", 9, 9, 9), Change("float32", 9, 9, 8)]) == [Change("float32", 9, 9, 8)]
    assert len(least.worth([Change("int16", 8, 9, 9), Change("float32", 9, 9, 8)])) == 2


def test_more_quality_is_asked_for_than_the_outputs_have(integers: Graph) -> None:
    """In front of the softmax, as quantize judges them: inner layers may have less."""
    graph = measured(integers, 50.0)
    known = {tensor.value: tensor.sqnr_db for tensor in graph.source.measured}
    (last,) = (node for node in graph.nodes if isinstance(node.op, Softmax))
    found = library_map(compile_graph(graph, M4), None, {}, None)
    *_, least = rankings(found, M4, [0.0] * len(found.layers), "MACs", None, graph)
    assert least.command.endswith(f"--min-sqnr {known[last.inputs[0]] + 6:.0f}dB")


def test_changes_in_words() -> None:
    assert in_words(Change("4 of 8 channels", -1234, 16, -5)) == (
        "4 of 8 channels: \N{MINUS SIGN}1,234 B of weights, +16 B of arena, \N{MINUS SIGN}5 instructions"
    )


def test_the_most_useful_changes_come_first(integers: Graph) -> None:
    """Those of the first layer of each list, and of them as many as their share of a build allows."""
    graph = measured(integers, 50.0)
    found = library_map(compile_graph(graph, M4), None, {}, None)
    lists = rankings(found, M4, [x.macs for x in found.layers], "MACs", None, graph)
    asked = wanted(found, lists)
    firsts = [found.layers[ranking.layers()[0]].results[-1] for ranking in lists]
    assert [result for result, _ in asked[: 2 * len(lists)]] == [name for name in firsts for _ in range(2)]
    whole, none = (changes(graph, M4, asked, share=share) for share in (math.inf, 0.0))
    possible = {id(change) for change in whole.values()}  # layers that lose channels together share a change
    assert (len(none), none.left_out) == (0, len(possible))
    assert len(possible) < len({*asked})
    assert whole.left_out == 0
    before = 0
    for share in (0.05, 0.1, 0.5):
        some = changes(graph, M4, asked, share=share)
        assert some.items() <= whole.items()
        assert before <= len(some)
        before = len(some)
    assert before == len(whole)


def test_a_share_is_counted_in_steps(integers: Graph) -> None:
    """Whatever was planned before, as many changes are looked at."""
    kinds: tuple[Kind, ...] = ("half", "int4", "int16", "float")
    asked: list[Wanted] = [(name, kind) for name in layers(integers) for kind in kinds]
    tight = replace(M4, least_ram=True)
    first, again = (changes(integers, tight, asked, share=0.1) for _ in range(2))
    assert 0 < first.left_out < len(asked)
    assert (again, again.left_out) == (first, first.left_out)


def test_a_change_that_takes_more_than_its_share_is_given_up(
    integers: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it was expected to take: when the steps are spent, nothing but the last of them is over."""
    spent: list[tuple[Planned, float]] = []
    spend = Planned.spend

    def counted(self: Planned, steps: float) -> None:
        spent.append((self, steps))
        spend(self, steps)

    monkeypatch.setattr(Planned, "spend", counted)
    asked: list[Wanted] = [(layers(integers)[1], "float"), (layers(integers)[1], "half")]
    given_up = 0
    for share in np.linspace(0.04, 0.2, 17):
        found = changes(integers, replace(M4, least_ram=True), asked, share=float(share))
        assert len(found) + found.left_out == 2
        planned, last = spent[-1]
        assert planned.steps - last <= planned.most
        given_up += planned.steps > planned.most
    assert given_up > 0
    assert len(found) == 2


def test_what_is_left_out_in_words() -> None:
    assert left_out(0) == ""
    assert left_out(1).startswith("One more change would take longer than a quarter of the build")
    assert left_out(5).startswith("Up to 5 more changes would")
