"""Weights alone as integers in groups, beside float activations; and decoders, whose samples are steps."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.language_models import folder
from support.nets import kinds

from edgekit import Graph, convert, quantize_model, run
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.dynamic_rows import DynamicDense, QuantizeRows
from edgekit.core.ops.groupwise import real_weights
from edgekit.core.passes import verify
from edgekit.core.types import Array, DType
from edgekit.quantize.measure import sqnr
from edgekit.quantize.mixed_precision.groupwise import MatrixRounding, rounded
from edgekit.quantize.settings import LEAST_SQNR, Settings

STEPS = 24


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return convert(folder("smollm3")(tmp_path_factory.mktemp("smollm3")))


@pytest.fixture(scope="module")
def text() -> dict[str, Array]:
    """Tokens of one text after the other, each from position 0 on."""
    tokens = np.random.default_rng(3).integers(0, 40, (STEPS, 1))
    positions = np.arange(STEPS).reshape(-1, 1) % (STEPS // 2)
    return {"token": tokens.astype(np.int32), "position": positions.astype(np.int32)}


def quality(graph: Graph, made: Graph, text: dict[str, Array]) -> float:
    ours, theirs = (run(g, text)["logits"].astype(np.float64) for g in (graph, made))
    return sqnr([ours], [theirs])


@settings(max_examples=40)
@given(
    st.sampled_from([DType.S4, DType.S8]),
    st.integers(1, 5),
    st.integers(1, 70),
    st.integers(1, 40),
    st.integers(),
)
def test_scales_fit_better_than_those_of_the_largest_weight(
    dtype: DType, rows: int, columns: int, group: int, seed: int
) -> None:
    weights = np.random.default_rng(abs(seed)).standard_normal((rows, columns)).astype(np.float32)
    weights[0, : group // 2] = 0
    found = rounded(weights, dtype, group)
    top = (1 << (dtype.bits - 1)) - 1
    assert found.integers.shape == weights.shape
    for g, at in enumerate(range(0, columns, found.group)):
        part, integers = (array[:, at : at + group] for array in (weights, found.integers))
        scale = np.abs(part).max(axis=1, keepdims=True) / top
        plain = norm(np.rint(part / np.where(scale > 0, scale, 1)) * scale - part)
        ours = norm(real_weights(group, integers, found.scale[:, g : g + 1]) - part)
        assert (ours <= plain + (norm(part) + plain) * (2.0**-11 + 1e-6)).all(), "but for scales of 16 bits"


@pytest.mark.parametrize(("size", "dtype"), [(1.0, np.float16), (1e-4, np.float32), (1e7, np.float32)])
def test_scales_are_float16_where_that_has_all_digits(size: float, dtype: type) -> None:
    weights = (size * np.random.default_rng(1).standard_normal((4, 32))).astype(np.float32)
    weights[3] = 0
    for some in (weights, -np.abs(weights)):
        found = rounded(some, DType.S8, 16)
        assert found.scale.dtype == dtype
        assert sqnr([some], [real_weights(16, found.integers, found.scale)]) > 40


def norm(rows: Array) -> Array:
    return np.linalg.norm(rows.astype(np.float64), axis=1)


def test_a_bit_more_is_worth_its_decibels(decoder: Graph, text: dict[str, Array]) -> None:
    """Six each, in theory: here it is weights alone, and not all of them, that have more."""
    formats = [("int4", 8), ("int8", 8), ("bf16", 0), ("f16", 0)]
    found = {
        dtype: quantize_model(
            decoder, text, dtype=dtype, activations="float32", **({"group": n} if n else {})
        )[1]
        for dtype, n in formats
    }
    int4, int8, bf16, f16 = (found[dtype].sqnr_db for dtype, _ in formats)
    assert int8 > int4 + 12
    assert f16 > bf16 + 12


@pytest.mark.parametrize("dtype", ["int8", "int4"])
def test_weights_of_a_decoder_become_integers(dtype: str, decoder: Graph, text: dict[str, Array]) -> None:
    made, report = quantize_model(
        decoder, text, dtype=dtype, activations="float32", group=16, strict_int8=True
    )
    verify(made)
    assert "Dense" not in kinds(made)
    assert {layer.runs_in for layer in report.layers if layer.op == "Dense"} == {"int8", dtype}
    assert report.sqnr_db == pytest.approx(quality(decoder, made, text))
    assert report.bytes_after < report.bytes_before * 0.4
    is_noisy = report.sqnr_db < LEAST_SQNR
    assert is_noisy is (dtype == "int4")
    assert ["--weights int8 rounds less" in warning for warning in report.warnings] == [True] * is_noisy


def test_compiled_steps_are_those_of_the_simulator(decoder: Graph, text: dict[str, Array]) -> None:
    made, _ = quantize_model(decoder, None, dtype="int4", activations="float32")
    in_c = run(made, text, target="host")["logits"]
    np.testing.assert_allclose(in_c, run(made, text)["logits"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("dtype", "least"), [("int8", 30), ("int4", 10)])
def test_activations_become_integers_row_by_row(
    dtype: str, least: float, decoder: Graph, text: dict[str, Array]
) -> None:
    """Queries, keys and values share the integers of their input, and so do gate and up."""
    made, report = quantize_model(decoder, text, dtype=dtype, activations="dynamic", strict_int8=True)
    verify(made)
    count = kinds(made)
    assert "Dense" not in count
    assert "DenseGroupwise" not in count
    assert {layer.runs_in for layer in report.layers if layer.op == "Dense"} == {"int8", dtype}
    assert report.sqnr_db == pytest.approx(quality(decoder, made, text))
    assert report.sqnr_db > least
    made_in = [node for node in made.nodes if isinstance(node.op, QuantizeRows)]
    layers = [node for node in made.nodes if isinstance(node.op, DynamicDense)]
    assert len(made_in) == 2 * 4 + 1
    assert len(layers) == 2 * 7 + 1
    groups = {made.type(node.inputs[3]).shape[1] for node in layers}
    assert groups == {1}, "rows of this model are shorter than 32"


def test_integers_row_by_row_are_the_same_in_c(decoder: Graph, text: dict[str, Array]) -> None:
    made, _ = quantize_model(decoder, None, dtype="int8", activations="dynamic")
    np.testing.assert_allclose(
        run(made, text, target="host")["logits"], run(made, text)["logits"], rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    ("options", "group"),
    [
        ({"activations": "float32"}, 32),
        ({"activations": "dynamic"}, 1 << 16),
        ({"activations": "dynamic", "weights": "int4"}, 32),
        ({"activations": "dynamic", "group": 64}, 64),
    ],
)
def test_rows_of_int8_beside_int8_have_one_scale(options: dict[str, Any], group: int) -> None:
    assert Settings(**options).weights_in_group == group


@pytest.mark.parametrize("activations", ["float32", "bf16"])
def test_caches_stay_floats_in_place_beside_halves(
    activations: str, decoder: Graph, text: dict[str, Array]
) -> None:
    made, report = quantize_model(decoder, text, dtype="bf16", activations=activations)
    verify(made)
    assert [made.type(s.input) for s in made.states] == [decoder.type(s.input) for s in decoder.states]
    assert sum(isinstance(node.op, CachedAttention) for node in made.nodes) == 2
    assert report.sqnr_db == pytest.approx(quality(decoder, made, text))


def test_a_table_that_is_also_a_layer_is_stored_once(tmp_path: Path) -> None:
    graph = convert(folder("llama")(tmp_path))
    for options in ({"dtype": "bf16"}, {"dtype": "int8", "activations": "float32"}):
        made, _ = quantize_model(graph, None, **options)
        tables = [v for v in made.values.values() if v.data is not None and v.type.shape == (40, 16)]
        assert len(tables) == 1


def test_activations_of_a_decoder_may_be_integers_beside_caches_of_floats(
    decoder: Graph, text: dict[str, Array]
) -> None:
    made, report = quantize_model(decoder, text, calibrate="minmax", strict_int8=True)
    assert {layer.runs_in for layer in report.layers if layer.op == "Dense"} == {"int8"}
    assert {state.initial.type.dtype for state in made.states} == {DType.F32}
    assert quality(decoder, made, text) > 20


def test_a_net_without_dense_layers_has_nothing_to_quantize(decoder: Graph) -> None:
    nothing = Graph("copy", ("x",), ("x",), (), {"x": decoder.values[decoder.inputs[0]]})
    with pytest.raises(EdgeKitError, match="no dense layers") as caught:
        MatrixRounding(nothing, DType.S4, 32).made()
    assert caught.value.code == "E0211"
