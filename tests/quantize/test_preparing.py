"""What becomes of a float graph before it is quantized: norms of rows, and layers for factors per channel."""

import numpy as np
import pytest

from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops import Op
from edgekit.core.ops.activations import Gelu
from edgekit.core.ops.arithmetic import Add, Clip, Div, Max, Mul, Pow, Sqrt, Sub
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.logic import Where
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import verify
from edgekit.core.types import Array, DType, Type
from edgekit.quantize.post_training import quantize
from edgekit.quantize.preparation.prepare import prepare
from edgekit.quantize.settings import Settings

SHAPE = (2, 5, 6, 7)


def norm(
    axes: tuple[int, ...],
    *,
    centre: bool = False,
    kind: str = "mean",
    epsilon: float = 1e-5,
    floor: float | None = None,
    inverse: bool = False,
    power: float = 0.0,
) -> Graph:
    """x, maybe less its mean, by the root of its mean square or of the sum of squares."""
    b = Builder()
    x = b.input("x", Type(DType.F32, SHAPE))
    d = b.one(Sub(), x, b.one(Reduce("mean", axes), x)) if centre else x
    square = b.one(Pow(), d, b.const(np.float32(power))) if power else b.one(Mul(), d, d)
    root = b.one(Sqrt(), b.one(Add(), b.one(Reduce(kind, axes), square), b.const(np.float32(epsilon))))
    if floor is not None and inverse:
        root = b.one(Max(), root, b.const(np.float32(floor)))
    elif floor is not None:
        root = b.one(Clip(), root, b.const(np.float32(floor)), b.const(np.float32(np.inf)))
    y = b.one(Mul(), b.one(Div(), b.const(np.float32(1)), root), d) if inverse else b.one(Div(), d, root)
    return b.graph("norm", ["x"], [y])


def numbers(seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(0.5, 2, SHAPE).astype(np.float32)


@pytest.mark.parametrize("axes", [(3,), (1, 2), (2, 3), (1, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize(
    "form",
    [
        {},
        {"centre": True},
        {"kind": "sum", "epsilon": 0.0, "floor": 1e-12},
        {"inverse": True, "power": 2},
        {"centre": True, "inverse": True, "floor": 1e-6},
    ],
)
def test_norms_become_norms_of_rows(axes: tuple[int, ...], form: dict[str, object]) -> None:
    graph = norm(axes, **form)  # type: ignore[arg-type]  # keywords of `norm`
    made = prepare(graph)
    verify(made)
    kinds = [type(node.op) for node in made.nodes]
    assert (LayerNorm if form.get("centre") else RmsNorm) in kinds
    assert Div not in kinds
    x = {"x": numbers()}
    (right,), (found,) = simulate.run(graph, x).values(), simulate.run(made, x).values()
    assert np.allclose(found, right, rtol=1e-4, atol=1e-5)
    _, report = quantize(graph, [{"x": numbers(seed)} for seed in range(4)])
    assert all(layer.runs_in == "int8" for layer in report.layers)
    assert report.sqnr_db > 30


@pytest.mark.parametrize("form", [{"floor": 0.5}, {"epsilon": -1e-3}, {"kind": "max"}, {"power": 4}])
def test_roots_that_are_meant_otherwise_stay(form: dict[str, object]) -> None:
    graph = norm((3,), **form)  # type: ignore[arg-type]  # keywords of `norm`
    assert any(isinstance(node.op, Div) for node in prepare(graph).nodes)


@pytest.mark.parametrize("shape", [(7,), (3, 7), SHAPE])
@pytest.mark.parametrize("op", [Mul(), Div()])
def test_factors_per_channel_become_a_layer(op: Op, shape: tuple[int, ...]) -> None:
    b = Builder()
    x = b.input("x", Type(DType.F32, shape))
    c, offset = (np.random.default_rng(i).uniform(0.1, 2, 7).astype(np.float32) for i in range(2))
    y = b.one(Add(), b.one(op, x, b.const(c)), b.const(offset))
    graph = b.graph("scaled", ["x"], [y])
    made = prepare(graph)
    verify(made)
    assert [type(node.op) for node in made.nodes].count(Conv2d) == 1
    assert not any(isinstance(node.op, Mul | Div | Add) for node in made.nodes)
    values = {"x": np.random.default_rng(9).normal(size=shape).astype(np.float32)}
    (right,), (found,) = simulate.run(graph, values).values(), simulate.run(made, values).values()
    assert np.allclose(found, right, rtol=1e-5, atol=1e-6)


def test_a_transformer_runs_in_int8_as_a_whole() -> None:
    """Attention with two heads, a perceptron, norms in front of both, and a token that is picked."""
    b, random = Builder(), np.random.default_rng(5)
    width, tokens = 16, 12

    def dense(x: str, outputs: int, inputs: int = width) -> str:
        weights = random.normal(0, inputs**-0.5, (outputs, inputs)).astype(np.float32)
        return b.one(Dense(), x, b.const(weights), b.const(np.zeros(outputs, np.float32)))

    def norm(x: str) -> str:
        scale = random.uniform(0.5, 1.5, width).astype(np.float32)
        return b.one(
            LayerNorm(1e-5), x, b.const(scale), b.const(random.normal(size=width).astype(np.float32))
        )

    def heads(x: str) -> str:
        return b.one(Transpose((1, 0, 2)), b.one(Reshape((tokens, 2, width // 2)), dense(x, width)))

    x = b.input("x", Type(DType.F32, (tokens, width)))
    z = norm(x)
    likeness = b.one(MatMul(perm_b=(0, 2, 1)), heads(z), heads(z))
    shares = b.one(Softmax(), b.one(Mul(), likeness, b.const(np.float32(8**-0.5))))
    mixed = b.one(Transpose((1, 0, 2)), b.one(MatMul(), shares, heads(z)))
    y = b.one(Add(), x, dense(b.one(Reshape((tokens, width)), mixed), width))
    y = b.one(Add(), y, dense(b.one(Gelu(), dense(norm(y), 4 * width)), width, 4 * width))
    y = dense(b.one(Slice((0, 0), (1, 1), (1, width)), norm(y)), 5)
    graph = b.graph("transformer", ["x"], [y])
    samples = [{"x": random.normal(size=(tokens, width)).astype(np.float32)} for _ in range(16)]
    made, report = quantize(graph, samples, Settings(calibrate="minmax"))
    verify(made)
    assert {layer.runs_in for layer in report.layers} == {"int8"}
    assert report.sqnr_db > 25


def test_factors_that_are_alike_or_not_per_channel_stay() -> None:
    b = Builder()
    x = b.input("x", Type(DType.F32, (3, 7)))
    y = b.one(
        Mul(), b.one(Mul(), x, b.const(np.full(7, 2, np.float32))), b.const(np.ones((3, 1), np.float32))
    )
    graph = b.graph("scaled", ["x"], [y])
    assert prepare(graph) is graph


def masked_attention(mask: Array, *, choose: bool, shaped: bool) -> Graph:
    """Softmax of likenesses that a mask is added to, or that it chooses from."""
    b, random = Builder(), np.random.default_rng(6)
    x = b.input("x", Type(DType.F32, (12, 16)))
    zeros = b.const(np.zeros(16, np.float32))
    q, k, v = (
        b.one(Dense(), x, b.const(random.normal(0, 0.3, (16, 16)).astype(np.float32)), zeros)
        for _ in range(3)
    )
    y = b.one(MatMul(perm_b=(1, 0)), q, k)
    y = (
        b.one(Where(), b.const(mask < -1), b.const(mask.min()), y)
        if choose
        else b.one(Add(), y, b.const(mask))
    )
    y = b.one(Softmax(), b.one(Reshape((1, 12, 12)), y) if shaped else y)
    y = b.one(MatMul(), b.one(Reshape((12, 12)), y) if shaped else y, v)
    return b.graph("attention", ["x"], [y])


@pytest.mark.parametrize("low", [-np.inf, np.finfo(np.float32).min, -1e9, -100])
@pytest.mark.parametrize("choose", [False, True])
@pytest.mark.parametrize("shaped", [False, True])
def test_masks_leave_the_range_to_what_they_let_pass(low: float, choose: bool, shaped: bool) -> None:
    mask = np.where(np.triu(np.ones((12, 12), np.bool_), 1), np.float32(low), np.float32(0))
    graph = masked_attention(mask.astype(np.float32), choose=choose, shaped=shaped)
    random = np.random.default_rng(3)
    samples = [{"x": random.normal(size=(12, 16)).astype(np.float32)} for _ in range(8)]
    made = prepare(graph)
    verify(made)
    (right,), (found,) = simulate.run(graph, samples[0]).values(), simulate.run(made, samples[0]).values()
    assert np.allclose(found, right, rtol=1e-5, atol=1e-6)
    _, report = quantize(graph, samples, Settings(calibrate="minmax", strict_int8=True))
    assert {layer.runs_in for layer in report.layers} == {"int8"}
    assert report.sqnr_db > 26


def test_a_transposed_convolution_takes_int16_too() -> None:
    b, random = Builder(), np.random.default_rng(4)
    x = b.input("x", Type(DType.F32, (1, 6, 6, 3)))
    weights = b.const(random.normal(0, 0.3, (5, 4, 4, 3)).astype(np.float32))
    op = ConvTranspose2d((12, 12), (2, 2), (1, 1))
    graph = b.graph("up", ["x"], [b.one(op, x, weights, b.const(np.ones(5, np.float32)))])
    samples = [{"x": random.normal(size=(1, 6, 6, 3)).astype(np.float32)} for _ in range(8)]
    quality = {}
    for activations in ("int8", "int16"):
        made, report = quantize(graph, samples, Settings(activations=activations))
        verify(made)
        assert [layer.runs_in for layer in report.layers] == [activations]
        quality[activations] = report.sqnr_db
    assert quality["int16"] > quality["int8"] + 5
