"""One operator on quantized tensors: the simulator and C give the integers of LiteRT's reference kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.tflite_writer import Operator, Tensor, constant, model
from tflite.integer_cases import ALL, BY_MEANING, CASES
from tflite.litert import converted, inputs_of, litert, named

from edgekit.codegen.program import compile_graph
from edgekit.core import ek_file, simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops import Arg
from edgekit.core.ops.softmax import Softmax
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array, DType, Quant, Type, Value
from edgekit.onnx_backend import compile_programs

SAMPLES = 8
COMPILED = 2  # compiling takes most of the time


@pytest.mark.parametrize("kind", CASES)
def test_simulator_gives_the_integers_of_litert(kind: str, tmp_path: Path) -> None:
    for seed in range(SAMPLES):
        _, graph, inputs = made(kind, seed, tmp_path)
        expected = litert((tmp_path / f"{graph.name}.tflite").read_bytes(), inputs)
        found = simulate.run(graph, named(graph, inputs))
        for name, right in zip(graph.outputs, expected, strict=True):
            assert found[name].dtype == right.dtype
            assert np.array_equal(found[name], right), f"{kind}, seed {seed}"


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize(("old", "new"), [(2, 4), (4, 3), (3, 6), (5, 8), (2, 6)])
def test_scales_of_resizing_are_rounded(old: int, new: int, corners: bool, tmp_path: Path) -> None:
    """Sizes whose ratio lies right between two scales, or next to that."""
    x = Tensor((1, old, old, 3), "int8", scale=[0.1], zero=[3])
    y = Tensor((1, new, new, 3), "int8", scale=[0.1], zero=[3])
    options = {"alignCorners": corners, "halfPixelCenters": False}
    op = Operator("RESIZE_BILINEAR", [x, constant([new, new])], [y], "ResizeBilinearOptions", options)
    content = model(op)
    graph = converted(content, tmp_path, "net")
    for seed in range(4):
        inputs = inputs_of(op, np.random.default_rng(seed))
        (found,) = simulate.run(graph, named(graph, inputs)).values()
        assert np.array_equal(found, litert(content, inputs)[0])


def test_the_beta_of_a_softmax_is_not_rounded_with_its_scale(tmp_path: Path) -> None:
    """LiteRT multiplies them as doubles; the product as float32 is a unit off for a pair of logits."""
    x = Tensor((1, 256), "int8", scale=(0.034647874534130096,), zero=(0,))
    y = Tensor((1, 256), "int16", scale=(1 / 65536,), zero=(-32768,))
    content = model(Operator("SOFTMAX", [x], [y], "SoftmaxOptions", {"beta": float(np.float32(2.7))}))
    graph = converted(content, tmp_path, "net")
    logits = np.arange(-128, 128).astype(np.int8)[None]
    (found,) = simulate.run(graph, named(graph, [logits])).values()
    assert np.array_equal(found, litert(content, [logits])[0])


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_a_softmax_whose_sums_may_overflow_is_computed_in_floats(dtype: str, tmp_path: Path) -> None:
    bits, sizes = 8 * np.dtype(dtype).itemsize, (2, 8192)
    x = Tensor(sizes, "int8", scale=[0.1], zero=[3])
    y = Tensor(sizes, dtype, scale=[2.0**-bits], zero=[-(1 << (bits - 1))])
    graph = converted(model(Operator("SOFTMAX", [x], [y], "SoftmaxOptions", {"beta": 1.0})), tmp_path, "net")
    logits = np.full(sizes, -60, np.int8)
    logits[0, 5], logits[1] = 40, 7  # one that stands out, and all alike
    (found,) = simulate.run(graph, named(graph, [logits])).values()
    e = np.exp(0.1 * (logits - logits.max(axis=1, keepdims=True).astype(np.float64)))
    shares = e / e.sum(axis=1, keepdims=True)
    wanted = np.minimum(np.rint(shares * 2.0**bits) - (1 << (bits - 1)), (1 << (bits - 1)) - 1)
    assert np.abs(found.astype(np.float64) - wanted).max() <= 1
    assert found[0, 5] > found[1, 5] + 50


def test_a_softmax_of_integers_whose_sums_may_overflow_is_refused() -> None:
    for n, rounding in ((8192, "tfl"), (131072, "E")):
        types = [Type(DType.S8, (1, n), Quant((1 / 256,), (-128,), rounding=rounding)) for _ in "xy"]
        x, y = (Arg(name, Value(t)) for name, t in zip("xy", types, strict=True))
        with pytest.raises(EdgeKitError, match="E0208"):
            Softmax().lower([x], [y])
        assert Softmax().has_integers([x.value]) == (n < 131072)


def made(kind: str, seed: int, folder: Path) -> tuple[str, Graph, list[Array]]:
    rng = np.random.default_rng(seed)
    op = ALL[kind](rng)
    name = f"{kind.lower().replace(' ', '_')}_{seed}"
    graph = converted(model(op), folder, name)
    verify(graph)
    return name, graph, inputs_of(op, rng)


@pytest.mark.parametrize("kind", ALL)
def test_graph_is_the_same_after_a_file(kind: str, tmp_path: Path) -> None:
    _, graph, _ = made(kind, 0, tmp_path)
    ek_file.save(graph, tmp_path / "net.ek")
    assert ek_file.load(tmp_path / "net.ek") == graph


@pytest.mark.parametrize("kind", BY_MEANING)
def test_simulator_is_within_a_unit_of_the_reals(kind: str, tmp_path: Path) -> None:
    for seed in range(SAMPLES):
        op = ALL[kind](np.random.default_rng(seed))
        _, graph, (x,) = made(kind, seed, tmp_path)
        (found,) = simulate.run(graph, named(graph, [x])).values()
        real = op.inputs[0].scale[0] * (x.astype(np.float64) - op.inputs[0].zero[0])
        if kind == "SUM":
            real = real.sum(axis=tuple(op.inputs[1].data), keepdims=op.values["keepDims"])
        else:
            real = np.where(real < 0, np.expm1(real), real)
        wanted = np.clip(real / op.outputs[0].scale[0] + op.outputs[0].zero[0], -128, 127)
        assert np.abs(found - wanted).max() <= 1


def test_c_gives_the_integers_of_the_simulator(tmp_path: Path) -> None:
    models = [made(kind, seed, tmp_path) for kind in ALL for seed in range(COMPILED)]
    host = target.load("host")
    programs = {name: compile_graph(simplify(graph), host) for name, graph, _ in models}
    driver, errors = compile_programs(list(programs.values()), tmp_path, "size")
    assert not errors, next(iter(errors.values()))
    for name, graph, inputs in models:
        expected = simulate.run(graph, named(graph, inputs))
        found = driver.run(programs[name], named(graph, inputs))
        for output, right in expected.items():
            assert np.array_equal(found[output], right), name
