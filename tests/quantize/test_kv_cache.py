"""K/V caches of int8: two states for each, less memory, and about the same logits."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.language_models import folder, members
from support.nets import Net, count
from support.recorded import unpacked

from edgekit import Graph, convert, quantize_model, run
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import State
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.quantized_attention import QuantizedCachedAttention
from edgekit.core.ops.scatter import Scatter
from edgekit.core.passes import verify
from edgekit.core.types import Array, DType, Type, Value
from edgekit.quantize.integers.int8 import Quantized
from edgekit.quantize.measure import sqnr
from edgekit.quantize.mixed_precision.kv_cache import with_int8_caches

RECORDED = Path(__file__).parents[1] / "frontends" / "recorded" / "transformers.zip"
FORMATS: list[dict[str, Any]] = [
    {"dtype": "int8", "activations": "dynamic"},
    {"dtype": "int8", "activations": "float32"},
    {"dtype": "int4", "activations": "dynamic"},
    {"dtype": "f16"},
    {"dtype": "bf16", "activations": "bf16"},
]


def text(steps: int) -> dict[str, Array]:
    tokens = np.random.default_rng(3).integers(0, 40, (steps, 1)).astype(np.int32)
    return {"token": tokens, "position": np.arange(steps, dtype=np.int32).reshape(-1, 1)}


def windows(graph: Graph) -> list[int]:
    """Of attention, layer by layer."""
    ops = (node.op for node in graph.nodes)
    return [op.window for op in ops if isinstance(op, CachedAttention | QuantizedCachedAttention)]


@pytest.mark.parametrize("format", FORMATS, ids=lambda f: "-".join(f.values()))
def test_caches_become_integers_and_scales(format: dict[str, Any], tmp_path: Path) -> None:
    graph = convert(folder("smollm3")(tmp_path), dims={"positions": 24})
    steps = text(24)
    plain, _ = quantize_model(graph, None, **format)
    made, report = quantize_model(graph, steps, kv_cache="int8", strict_int8=True, **format)
    verify(made)
    found = {state.input: made.type(state.input) for state in made.states}
    for state in graph.states:
        shape = graph.type(state.input).shape
        assert found.pop(state.input) == Type(DType.S8, shape)
        assert found.pop(f"{state.input}_scale") == Type(DType.F32, (*shape[:3], 1))
    assert not found
    counts = [count(made, kind) for kind in ("CachedAttention", "QuantizedCachedAttention", "Scatter")]
    assert counts == [0, 2, 8]
    layers = {layer.op: layer.runs_in for layer in report.layers}
    assert (layers["CachedAttention"], layers["Scatter"]) == ("int8", "int8")
    size = graph.type(graph.states[0].input).shape[3]
    assert report.states_after * 4 * size == report.states_before * (size + 4)
    truth, before, after = (run(g, steps)["logits"].astype(np.float64) for g in (graph, plain, made))
    assert sqnr([before], [after]) > 33
    assert report.sqnr_db == pytest.approx(sqnr([truth], [after]))


@pytest.mark.parametrize("family", ["llama", "mistral-windows", "qwen2-windows", "qwen3", "smollm3"])
def test_logits_are_about_those_of_transformers(family: str, tmp_path: Path) -> None:
    graph = convert(folder(family)(tmp_path))
    with np.load(io.BytesIO(members(family)["io.npz"])) as stored:
        tokens, expected = stored["x0"].astype(np.int32), stored["y0"]
    made, _ = quantize_model(graph, None, dtype="f16", kv_cache="int8")
    assert windows(made) == windows(graph)
    steps = {"token": tokens[:, None], "position": np.arange(tokens.size, dtype=np.int32)[:, None]}
    found = run(made, steps)["logits"].reshape(expected.shape)
    assert sqnr([expected.astype(np.float64)], [found.astype(np.float64)]) > 35


def test_the_static_cache_of_transformers(tmp_path: Path) -> None:
    """As torch.export wrote it."""
    model = unpacked(RECORDED, "static_cache", tmp_path)
    made, _ = quantize_model(model.path, None, dtype="f16", kv_cache="int8")
    assert [made.type(state.input).dtype for state in made.states].count(DType.S8) == 4
    with np.load(model.path.parent / "io.npz") as stored:
        tokens, expected = stored["x0"], stored["y0"]
    steps = {"input_ids": tokens[:, None, None], "cache_position": np.arange(tokens.size)[:, None]}
    (found,) = run(made, steps).values()
    assert sqnr([expected], [found.reshape(expected.shape).astype(np.float64)]) > 35


def test_a_new_text_begins_with_empty_caches(tmp_path: Path) -> None:
    graph = convert(folder()(tmp_path), dims={"positions": 12})
    made, _ = quantize_model(graph, None, dtype="int8", activations="dynamic", kv_cache="int8")
    twice = {name: np.concatenate([value, value]) for name, value in text(12).items()}
    logits = run(made, twice)["logits"]
    np.testing.assert_array_equal(logits[:12], logits[12:])


def caches(kind: str) -> Graph:
    """Two caches and attention, of which something is other than where caches become int8."""
    net, states = Net(), []
    for name in ("keys", "values"):
        type = Type(DType.F32, (1, 1, 3, 4))
        start = net.random(*type.shape) * np.float32(kind == "filled")
        cache = net.input(name, type)
        axis, shape = (3, (1, 1, 3, 1)) if kind == "another axis" else (2, (1, 1, 1, 4))
        index = np.zeros((1, 1, 1, 4 if kind == "wide index" else 1), np.int64)
        written = net(Scatter(axis), cache, net.const(index), net.x(*shape, name="row"))
        states.append(State(cache, written, Value(type, start)))
    keys, values = (state.output for state in states)
    own = net.x(1, 1, 3, 4) if kind == "one is an input" else values
    op = CachedAttention(0.5, cap=2 if kind == "capped" else 0)
    biases = [net.random(2, 2)] if kind == "biased" else []
    outputs = [net(op, net.x(1, 2, 1, 4), keys, own, net.const(np.array([2])), *biases)]
    if kind == "one is read elsewhere":
        outputs.append(net(Add(), keys, 1.0))
    if kind == "one is an output":
        outputs.append(keys)
    return net.graph("net", net.inputs, outputs, states=states)


def test_what_a_cache_starts_with_is_quantized() -> None:
    graph = caches("filled")
    made = with_int8_caches(Quantized(graph, {}, {})).graph
    verify(made)
    x = {name: np.ones(graph.type(name).shape, np.float32) for name in graph.inputs}
    (expected,), (found,) = (run(g, x).values() for g in (graph, made))
    assert sqnr([expected], [found]) > 30


@pytest.mark.parametrize(
    "kind",
    [
        "one is read elsewhere",
        "one is an output",
        "one is an input",
        "wide index",
        "another axis",
        "capped",
        "biased",
    ],
)
def test_what_others_read_stays_floats(kind: str) -> None:
    with pytest.raises(EdgeKitError, match="no caches of keys and values"):
        with_int8_caches(Quantized(caches(kind), {}, {}))


def test_a_model_without_caches_is_refused() -> None:
    net = Net()
    graph = net.done(net(Dense(), net.x(1, 16), net.random(16, 16), net.random(16)))
    for format in ({"dtype": "f16"}, {"dtype": "int8", "activations": "dynamic"}):
        with pytest.raises(EdgeKitError, match="no caches of keys and values") as caught:
            quantize_model(graph, None, kv_cache="int8", **format)
        assert caught.value.code == "E0211"
        assert "--kv-cache" in caught.value.hint


@pytest.mark.parametrize("format", [{}, {"dtype": "int16"}, {"activations": "int8"}])
def test_integer_activations_have_no_int8_caches(format: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match="caches in int8 need activations in floats") as caught:
        quantize_model(folder()(tmp_path), None, kv_cache="int8", **format)
    assert "--activations dynamic" in caught.value.hint


def test_other_formats_of_caches_are_unknown(tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match="unknown format of K/V caches: int4") as caught:
        quantize_model(folder()(tmp_path), None, dtype="f16", kv_cache="int4")
    assert "int8" in caught.value.hint
