"""Decoders with dynamic activations have the bits of the simulator: their floats have one order, too."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import boards, each_target
from support.each_target import drive
from support.kernel_records import expecting
from support.language_models import folder as model_folder

import edgekit
from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.softmax import Softmax
from edgekit.core.target import Target
from edgekit.core.types import Array, DType, Type

TARGETS = (
    "host",
    "cortex-m4",
    "cortex-m7",
    "cortex-m33",
    "cortex-m55",
    "x86-64-avx2",
    "x86-64-avx512",
    "aarch64",
    "aarch64-i8mm",
    "armv7-neon",
    "wasm32-simd",
    "riscv64-rvv",
)
FORMATS: dict[str, dict[str, Any]] = {
    "int8": {"dtype": "int8", "activations": "dynamic"},
    "int4": {"dtype": "int4", "activations": "dynamic"},
    "int8 caches": {"dtype": "int8", "activations": "dynamic", "kv_cache": "int8"},
}
# Sizes of queries and values, positions of queries, windows, caps, biases of each head: ends of blocks of
# keys, heads that are no whole vectors, rings that begin anew.
SHAPES = (
    (8, 8, (0,), 0, 0, 0),
    (6, 5, (15, 16), 0, 0, 0),
    (7, 3, (47,), 0, 0, 0),
    (40, 33, (5, 30), 0, 0, 0),
    (16, 16, (31,), 0, 0, 0),
    (8, 8, (3, 30, 49, 100), 40, 0, 0),
    (7, 3, (2000,), 48, 0, 0),
    (8, 8, (3, 47), 0, 0, 2),
    (7, 5, (3, 30, 49, 100), 40, 5, 0),
    (16, 8, (47, 2), 0, 2, 19),
)
KEYS = 48


def load(name: str) -> Target:
    return each_target.load(name) if name in each_target.TARGETS else boards.load(name, "zig")


@pytest.mark.parametrize("name", TARGETS)
def test_attention_adds_in_one_order(name: str, tmp_path: Path) -> None:
    rng, b = np.random.default_rng(3), Builder()
    inputs: dict[str, Array] = {}
    expected: dict[str, Array] = {}

    def given(value: Array) -> str:
        inputs[f"x{len(inputs)}"] = value
        return b.input(f"x{len(inputs) - 1}", Type(DType.of(value.dtype), value.shape))

    for size, values, at, window, cap, distances in SHAPES:
        op = CachedAttention(0.3, window, cap)
        shapes = (2, len(at), size), (1, KEYS, size), (1, KEYS, values)
        floats = [3 * rng.normal(size=(1, *shape)).astype(np.float32) for shape in shapes]
        biases = [rng.normal(size=(2, distances)).astype(np.float32)] if distances else []
        ins = [*floats, np.array(at, np.int32), *biases]
        y = b.one(op, *map(given, ins))
        (expected[y],) = expecting(op.in_c)(*ins)
    program = compile_graph(b.graph("attention", list(inputs), list(expected)), load(name))
    found = drive(program, tmp_path, ("-O2",)).run(program, inputs)
    for y, value in expected.items():
        np.testing.assert_array_equal(found[y], value)


@pytest.mark.parametrize("name", TARGETS)
def test_softmax_adds_in_one_order(name: str, tmp_path: Path) -> None:
    """Rows of some lanes, of whole vectors and of more; masked numbers count nothing."""
    rng, b, op = np.random.default_rng(4), Builder(), Softmax()
    inputs = {f"x{n}": 9 * rng.normal(size=(3, n)).astype(np.float32) for n in (1, 5, 8, 16, 21, 28, 64, 77)}
    inputs["x77"][:, 3:60] = -np.inf
    rows = {b.one(op, b.input(x, Type(DType.F32, data.shape))): data for x, data in inputs.items()}
    program = compile_graph(b.graph("softmax", list(inputs), list(rows)), load(name))
    found = drive(program, tmp_path, ("-O2",)).run(program, inputs)
    for y, data in rows.items():
        np.testing.assert_array_equal(found[y], expecting(op.in_c)(data)[0])


def texts(format: str, folder: Path) -> tuple[Any, Mapping[str, Array]]:
    graph = edgekit.convert(model_folder()(folder), dims={"positions": 40}, name="net")
    graph, _ = edgekit.quantize_model(graph, None, **FORMATS[format])
    text = np.random.default_rng(5).integers(0, 40, (40, 1)).astype(np.int32)
    return graph, {"token": text, "position": np.arange(40, dtype=np.int32)[:, None]}


@pytest.mark.parametrize(
    ("name", "format"),
    [
        *((name, "int8") for name in TARGETS),
        *((name, "int8 caches") for name in TARGETS),
        ("host", "int4"),
        ("x86-64-avx512", "int4"),
    ],
)
def test_logits_are_those_of_the_simulator(name: str, format: str, tmp_path: Path) -> None:
    graph, steps = texts(format, tmp_path)
    samples = [{key: value[i] for key, value in steps.items()} for i in range(40)]
    expected = [outputs["logits"] for outputs in simulate.run_each(graph, samples)]
    program = compile_graph(graph, load(name))
    out = tmp_path / "out"
    out.mkdir()
    found = drive(program, out, ("-O2",)).run_each(program, samples)
    for each, value in zip(found, expected, strict=True):
        np.testing.assert_array_equal(each["logits"], value)
