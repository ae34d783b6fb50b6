"""16-bit floats: the simulator knows what C computes bit for bit, for every operator and whole networks."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.op_cases import Case, case, expected, normal, run_in_c, special
from support.tools import ROOT, require

from edgekit import api
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.build import run
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.ops import registry
from edgekit.core.ops._map import Map
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.det import Det
from edgekit.core.ops.grid_sample import GridSample
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.scatter import Scatter
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import Array, DType
from edgekit.quantize.mixed_precision.half_precision import narrow

NARROW = (DType.BF16, DType.F16)
FLAGS = ("-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
FAMILIES = sorted(m.name for m in pkgutil.iter_modules([str(ROOT / "tests/ops/cases")]))
# Operators that have no 16-bit form stay float32 between casts, where C and numpy may differ by an ulp.
FFT = {"Fft", "RfftSplit", "IrfftMerge"}
RECURRENT = {"Gru", "Lstm", "Rnn", "DynamicQuantizeLstm"}
ONLY_FLOAT32 = {
    "CachedAttention",
    "DynamicDense",
    "DynamicQuantize",
    "DynamicQuantizeDense",
    "QuantizeRows",
    "QuantizedCachedAttention",
    "NonMaxSuppression",
    "While",
    *RECURRENT,
    *FFT,
}
CODES = np.arange(2**16, dtype=np.uint16)
EXAMPLES = ("examples/anomaly/anomaly.onnx", "examples/keywords/keywords.onnx", "edgekit/digits.onnx")

both = pytest.mark.parametrize("dtype", NARROW, ids=lambda dtype: dtype.value)


def assert_same_bits(found: Array, wanted: Array, where: str) -> None:
    """Zeros have signs; NaN is NaN."""
    assert found.dtype == wanted.dtype, where
    assert found.shape == wanted.shape, where
    bits = f"u{wanted.itemsize}"
    same = found.view(bits) == wanted.view(bits)
    if DType.of(wanted.dtype).is_float:
        with np.errstate(invalid="ignore"):
            same |= (found != found) & (wanted != wanted)
    assert same.all(), f"{where}: {found[~same][:4]} instead of {wanted[~same][:4]}"


def check(cases: Sequence[Case], folder: Path) -> None:
    require("gcc")
    for c, found in zip(cases, run_in_c(cases, folder, "speed", FLAGS), strict=True):
        for result, wanted in zip(found, expected(c), strict=True):
            assert_same_bits(result, wanted, str(c))


def in_16_bits(family: str, dtype: DType) -> list[Case]:
    """The cases of a family, with what is float32 rounded, as far as the operator takes that."""
    found = []
    for c in importlib.import_module(f"ops.cases.{family}").CASES:
        if c.quants or c.result or not any(DType.of(x.dtype).is_float for x in c.operands):
            continue
        with np.errstate(all="ignore"):
            operands = [x.astype(dtype.numpy) if x.dtype == np.float32 else x for x in c.operands]
        if isinstance(c.op, GridSample):
            operands[1] = c.operands[1]  # positions stay what they are
        made = replace(c, operands=tuple(operands))
        try:
            made.op.infer(*made.types)
        except TypeError:
            assert type(c.op).__name__ in (*ONLY_FLOAT32, "BitCast"), str(c)
            continue
        if any(x.dtype == dtype.numpy for x in made.operands):
            found.append(made)
    return found


@both
@pytest.mark.parametrize("family", FAMILIES)
def test_every_case_of_every_operator(family: str, dtype: DType, tmp_path: Path) -> None:
    check(in_16_bits(family, dtype), tmp_path)


def elementwise() -> Iterator[Map]:
    """One of each elementwise operator that computes on floats; `Cast` has a test of its own."""
    for name, kind in sorted(registry().items()):
        if issubclass(kind, Map) and kind is not Cast and not name.startswith("_"):
            op = kind()
            if op.c or op.c_float:
                yield op


@cache
def every_code(dtype: DType) -> tuple[Case, ...]:
    """Every number as the first operand, any others beside it."""
    random = np.random.default_rng(5)
    operands = [random.permutation(CODES).view(dtype.numpy) for _ in range(2)]
    return tuple(Case(op, (CODES.view(dtype.numpy), *operands)[: op.arity]) for op in elementwise())


@both
def test_elementwise_operators_on_every_number(dtype: DType, tmp_path: Path) -> None:
    assert len(every_code(dtype)) > 40
    check(every_code(dtype), tmp_path)


@both
def test_elementwise_operators_mean_what_they_mean_on_float32(dtype: DType) -> None:
    """numpy's own functions are the witness: rounded, they are at most one number away."""
    for c in every_code(dtype):
        if len(c.operands) > 1:
            continue
        x = c.operands[0].astype(np.float32)
        (found,) = c.op.eval(*c.operands)
        with np.errstate(all="ignore"):
            (wanted,) = (y.astype(found.dtype) for y in c.op.eval(x))
        if found.dtype == np.bool_:
            assert np.array_equal(found, wanted), str(c)
            continue
        nan = np.isnan(wanted.astype(np.float32))
        assert np.array_equal(np.isnan(found.astype(np.float32)), nan), str(c)
        steps = np.abs(place(found[~nan]) - place(wanted[~nan]))
        assert steps.max() <= 1, f"{c}: {c.operands[0][~nan][steps.argmax()]}"
        assert steps.mean() < 0.01, str(c)


def place(x: Array) -> Array:
    """Of 16-bit floats in their order; zeros of both signs have one."""
    u = x.view(np.uint16).astype(np.int64)
    return np.where(u < 0x8000, u, 0x8000 - u)


def long_sums(dtype: DType) -> Iterator[Case]:
    """Enough terms for the order to matter: in lanes and without, with ends that fill no lane."""
    for n in (1, 15, 16, 17, 100, 513):
        x, scale, bias = (normal(dtype, *shape, scale=3) for shape in ((7, n), (n,), (n,)))
        yield from (case(Softmax(), x), case(LayerNorm(1e-5), x, scale, bias), case(RmsNorm(1e-6), x, scale))
        yield case(MatMul(), normal(dtype, 3, 5, n), normal(dtype, 3, n, 18))
        yield case(MatMul(perm_b=(0, 2, 1)), normal(dtype, 2, 5, n), normal(dtype, 2, 18, n))
        for kind in ("sum", "mean", "prod", "max", "min"):
            yield case(Reduce(kind, (1,)), x)
            yield case(Reduce(kind, (0, 2)), normal(dtype, 9, 3, n))
            yield case(Reduce(kind, (0, 1), keepdims=False), normal(dtype, 9, 8, n))
        for kind in ("sum", "prod"):
            yield from (case(Cumulative(kind, 1, exclusive=e), x) for e in (False, True))
    image = normal(dtype, 2, 9, 10, 19)
    for kind in ("sum", "mean", "max"):
        yield case(Pool2d(kind, (3, 4), (2, 1), (1, 1, 1, 2)), image)
    weights, bias = normal(dtype, 18, 3, 3, 19), normal(DType.F32, 18)
    for x in (image, image.astype(np.float32)):
        yield case(ConvTranspose2d((19, 21), (2, 2), (1, 1), lo=0.0), x, weights, bias, constant=(1, 2))
    yield case(Det(), normal(dtype, 4, 6, 6))


@both
def test_sums_of_many_terms(dtype: DType, tmp_path: Path) -> None:
    check(list(long_sums(dtype)), tmp_path)


def signs_of_zero(dtype: DType) -> Iterator[Case]:
    """Zeros of both signs, infinities and NaN in sums and extremes."""
    x = np.tile(special(dtype), (20, 1))
    x[1::2] = -x[1::2, ::-1]
    minus = np.full((3, 20), -0.0).astype(dtype.numpy)
    for rows in (x, minus):
        for kind in ("sum", "mean", "prod", "max", "min"):
            yield from (case(Reduce(kind, axes), rows) for axes in ((0,), (1,), (0, 1), ()))
        yield case(Softmax(), rows)
        yield from (case(Cumulative(kind, 1), rows) for kind in ("sum", "prod"))
        image = rows.reshape(1, -1, 5, 4)
        yield from (case(Pool2d(kind, (2, 2), pads=(1, 1, 1, 1)), image) for kind in ("sum", "mean", "max"))
        index = np.tile(np.array([0, 2, 2, 1, 0], np.int64), 4)[None]
        for reduction in ("none", "add", "mul", "max", "min"):
            yield case(Scatter(0, reduction), rows, index, rows[1:2])
    for weight in (1.0, np.inf):
        weights, bias = np.full((2, 3, 3, 4), weight).astype(dtype.numpy), np.full(2, -0.0, np.float32)
        image = minus[:, :16].reshape(1, 3, 4, 4)
        yield case(Conv2d((1, 1), (1, 1, 1, 1), lo=0.0), image, weights, bias, constant=(1, 2))
        yield case(ConvTranspose2d((5, 6), lo=0.0), image, weights, bias, constant=(1, 2))


@both
def test_signs_of_zero(dtype: DType, tmp_path: Path) -> None:
    check(list(signs_of_zero(dtype)), tmp_path)


def float32_patterns() -> Array:
    """Floats of all sizes, those beside every number of 16 bits and every tie, and NaN of all kinds."""
    with np.errstate(all="ignore"):
        ends = np.concatenate([CODES.view(d.numpy).astype(np.float32).view(np.uint32) for d in NARROW])
    dense = np.arange(0, 2**32, 65_521, dtype=np.uint64).astype(np.uint32)
    nan = np.array([0x7F800001, 0xFF800001, 0x7FC00000, 0xFFFFFFFF, 0x7FABCDEF, 0xFF812345], np.uint32)
    steps = [half + step for half in (0, 0x1000, 0x8000) for step in (-1, 0, 1)]
    near = [ends + np.uint32(step % 2**32) for step in steps]
    return np.concatenate([dense, nan, *near]).view(np.float32)


@both
def test_casts_round_once_and_keep_what_nan_says(dtype: DType, tmp_path: Path) -> None:
    """Here NaN has bits: the sign, and as much of the payload as fits."""
    require("gcc")
    x = float32_patterns()
    codes = [CODES.view(d.numpy) for d in NARROW]
    cases = [case(Cast(dtype), x), *(case(Cast(to), c) for c in codes for to in (dtype, DType.F32))]
    for c, (found,) in zip(cases, run_in_c(cases, tmp_path, "speed", FLAGS), strict=True):
        (wanted,) = expected(c)
        bits = f"u{wanted.itemsize}"
        if c.op == Cast(dtype):
            assert np.array_equal(found.view(bits), wanted.view(bits)), str(c)
        else:
            assert_same_bits(found, wanted, str(c))
    if dtype is DType.BF16:
        u = x.view(np.uint32).astype(np.uint64)
        rule = np.where(np.isnan(x), u >> 16 | 0x40, (u + 0x7FFF + (u >> 16 & 1)) >> 16)
        assert np.array_equal(expected(cases[0])[0].view(np.uint16), rule)


def test_clang_computes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = replace(targets.load("host"), compilers=(require("clang"),))
    compiler = toolchain.find(host)
    assert compiler.family == "clang"
    monkeypatch.setattr(toolchain, "find", lambda target: compiler)
    check([*every_code(DType.BF16), *long_sums(DType.BF16), *in_16_bits("images", DType.BF16)], tmp_path)


def assert_every_tensor_is_known(graph: Graph, dtype: DType) -> None:
    """Not just the outputs of the graph: whatever a node computes."""
    made = narrow(graph, dtype, everything=True)
    assert not {layer for layer, runs_in in made.formats.items() if runs_in == "float32"}
    tensors = dict.fromkeys(name for node in made.graph.nodes for name in node.outputs)
    x = simulate.random_inputs(made.graph, 3)
    (compiled,) = run(replace(made.graph, outputs=tuple(tensors)), targets.load("host"), [x])
    wanted = simulate.run_all(made.graph, x)
    for name in tensors:
        assert_same_bits(compiled[name], wanted[name], name)


@both
@pytest.mark.parametrize("path", EXAMPLES)
def test_examples(path: str, dtype: DType) -> None:
    require("gcc")
    assert_every_tensor_is_known(api.convert(ROOT / path), dtype)


@pytest.fixture(scope="module")
def exported(exports: Path) -> Callable[[str], Graph]:

    @cache
    def graph(name: str) -> Graph:
        from support import networks

        return api.convert(networks.export(name, "torchscript", exports))

    return graph


@both
@pytest.mark.parametrize("name", ["mobilenet_v2", "vit", "unet"])
def test_networks(name: str, dtype: DType, exported: Callable[[str], Graph]) -> None:
    require("gcc")
    assert_every_tensor_is_known(exported(name), dtype)
