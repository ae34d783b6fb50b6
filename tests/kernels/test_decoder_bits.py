"""Decoders with dynamic activations have the bits of the simulator: their floats have one order, too."""

import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import boards, each_target
from support.each_target import drive
from support.kernel_records import expecting
from support.language_models import folder as model_folder

import edgekit
from edgekit import Graph
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
def test_attention_and_softmax_add_in_one_order(name: str, tmp_path: Path) -> None:
    """Rows of a softmax are of some lanes, of whole vectors and of more; masked numbers count nothing."""
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
    for n in (1, 5, 8, 16, 21, 28, 64, 77):
        row = 9 * rng.normal(size=(3, n)).astype(np.float32)
        row[:, 3:60] = row[:, 3:60] if n < 77 else -np.inf
        (expected[b.one(Softmax(), given(row))],) = expecting(Softmax().in_c)(row)
    program = compile_graph(b.graph("sums", list(inputs), list(expected)), load(name))
    found = drive(program, tmp_path, ("-O2",)).run(program, inputs)
    for y, value in expected.items():
        np.testing.assert_array_equal(found[y], value)


@cache
def text(format: str) -> tuple[Graph, Sequence[Mapping[str, Array]], Sequence[Array]]:
    """A decoder, the tokens of a text, and the logits behind each."""
    with tempfile.TemporaryDirectory() as folder:
        graph = edgekit.convert(model_folder()(Path(folder)), dims={"positions": 40}, name="net")
    graph, _ = edgekit.quantize_model(graph, None, **FORMATS[format])
    tokens = np.random.default_rng(5).integers(0, 40, (40, 1)).astype(np.int32)
    steps = [{"token": token, "position": np.array([i], np.int32)} for i, token in enumerate(tokens)]
    return graph, steps, [outputs["logits"] for outputs in simulate.run_each(graph, steps)]


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
    graph, steps, expected = text(format)
    program = compile_graph(graph, load(name))
    found = drive(program, tmp_path, ("-O2",)).run_each(program, steps)
    for each, logits in zip(found, expected, strict=True):
        np.testing.assert_array_equal(each["logits"], logits)
