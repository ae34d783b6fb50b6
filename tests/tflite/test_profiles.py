"""Profiles: the integers of TFLite Micro where they are not those of LiteRT, by formulas in whole numbers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import floor, frexp
from pathlib import Path

import numpy as np
import pytest
from support.in_process import Machine
from support.tflite_writer import Operator, Tensor, constant, model
from support.tools import require
from tflite.litert import named

import edgekit
from edgekit.codegen.program import compile_graph
from edgekit.core import simulate, target
from edgekit.core.ir import Graph
from edgekit.core.types import Array

SEEDS = range(12)
Rng = np.random.Generator


# TFLite Micro


def multiplier(ratio: float) -> tuple[int, int]:
    fraction, exponent = frexp(ratio)
    rounded = floor(fraction * 2**31 + 0.5)
    return (rounded // 2, exponent + 1) if rounded == 2**31 else (rounded, exponent)


def times(x: Array, ratio: float) -> Array:
    """By two roundings: halves up, and then away from zero."""
    m, e = multiplier(ratio)
    shifted = ((x << max(e, 0)) + 2**31) % 2**32 - 2**31
    high, right = (shifted * m + 2**30) // 2**31, max(-e, 0)
    away: Array = np.sign(high) * ((2 * np.abs(high) + 2**right) // 2 ** (right + 1))
    return away


def times_wide(x: Array, ratio: float) -> Array:
    """Of 64 bits, with 16 bits of the multiplier."""
    m, e = multiplier(ratio)
    reduced = (m + 2**15) >> 16 if m < 0x7FFF0000 else 0x7FFF
    result: Array = (x * reduced + 2 ** (14 - e)) // 2 ** (15 - e)
    return result


def stored(y: Array, t: Tensor) -> Array:
    ends = np.iinfo(t.dtype)
    return (y + t.zero[0]).clip(ends.min, ends.max).astype(t.dtype)


# Operators, with everything that each of them can be given


def single(t: Tensor) -> np.float32:
    return np.float32(t.scale[0])


def scale(rng: Rng) -> tuple[float]:
    return (float(np.float32(rng.uniform(0.01, 0.1))),)


def near_halves(ratio: float, most: int) -> Array:
    """Sums whose quotients are next to a half: a ratio that is off in its last bits shows."""
    half = np.linspace(-most, most, 255).astype(np.int64) + 0.5
    sums = np.concatenate([np.floor(half / ratio) + d for d in (-1, 0, 1, 2)])
    limit = 2**31 - 1
    return sums[np.abs(sums) < limit].astype(np.int64)


Case = tuple[Operator, list[Array], Array]


def fully_connected(rng: Rng, *, per_channel: bool = False, wide: bool = False) -> Case:
    narrow = "int16" if wide else "int8"
    x = Tensor((1, 1), narrow, scale=scale(rng), zero=(0,))
    s_w = scale(rng)
    product = float(single(x) * np.float32(s_w[0]))
    exact = float(single(x)) * float(np.float32(s_w[0]))
    s_y = float(np.float32(exact * rng.uniform(1, 2) * 2.0 ** (14 if wide else 24)))
    ratio = (exact if per_channel else product) / s_y
    b = near_halves(ratio, 2**15 if wide else 128)
    count = b.size
    w = constant(np.zeros((count, 1)), "int8", scale=s_w * (count if per_channel else 1), zero=())
    bias = constant(b, "int64" if wide else "int32")
    y = Tensor((1, count), narrow, scale=(s_y,), zero=(0,) if wide else (int(rng.integers(-20, 20)),))
    op = Operator("FULLY_CONNECTED", [x, w, bias], [y], "FullyConnectedOptions", {})
    sums = (times_wide if wide else times)(b, ratio)
    return op, [np.zeros((1, 1), narrow)], stored(sums[None], y)


def pairs(rng: Rng) -> tuple[Tensor, Tensor, Array, Array]:
    """Operands of every value, one of them with its zero point at an end."""
    a = Tensor((256, 1), "int8", scale=scale(rng), zero=(int(rng.integers(-60, 60)),))
    b = Tensor((1, 256), "int8", scale=scale(rng), zero=(-128,))
    codes = np.arange(-128, 128)
    return a, b, (codes - a.zero[0])[:, None], (codes - b.zero[0])[None]


def codes(a: Tensor, b: Tensor) -> list[Array]:
    return [np.arange(-128, 128).astype(np.int8).reshape(t.shape) for t in (a, b)]


def halving(rng: Rng, a: Tensor, b: Tensor, product: int) -> Tensor:
    """A result in whose scale one product lies next to where the first rounding decides the second."""
    half = int(rng.integers(60, 120)) + 0.5
    _, e = multiplier(half / abs(product))
    exact = float(single(a)) * float(single(b)) * abs(product) / (half - 2.0 ** (e - 1))
    return Tensor((256, 256), "int8", scale=(float(np.float32(exact)),), zero=(0,))


def product(rng: Rng) -> Case:
    a, b, u, v = pairs(rng)
    y = halving(rng, a, b, int(u.max()) * 251)
    ratio = float(single(a)) * float(single(b)) / float(single(y))
    return Operator("MUL", [a, b], [y], "MulOptions", {}), codes(a, b), stored(times(u * v, ratio), y)


def rectified(rng: Rng, leaky: bool) -> Case:
    """All of int16 by ratios of 24 bits and by more exact ones."""
    codes = np.arange(-(2**15), 2**15)
    x, y = (
        Tensor(codes.shape, "int16", scale=(float(np.float32(s)),), zero=(0,))
        for s in rng.uniform(1e-4, 1e-3, 2)
    )
    alpha = np.float32(rng.uniform(0.1, 0.9))
    ratio = float(single(x)) / float(single(y))
    below = times(codes, ratio * float(alpha)) if leaky else 0
    expected = stored(np.where(codes >= 0, times(codes, ratio), below), y)
    options = ("LeakyReluOptions", {"alpha": alpha}) if leaky else ()
    return Operator("LEAKY_RELU" if leaky else "RELU", [x], [y], *options), [codes.astype(np.int16)], expected


def prelu(rng: Rng) -> Case:
    x, slope, u, v = pairs(rng)
    slope = replace(slope, data=np.arange(-128, 128).astype(np.int8)[None])
    y = halving(rng, x, slope, int(u.min()) * 251)
    above = times(u, float(single(x)) / float(single(y)))
    below = times(u * v, float(single(x)) * float(single(slope)) / float(single(y)))
    expected = stored(np.where(u >= 0, above, below), y)
    return Operator("PRELU", [x, slope], [y]), codes(x, slope)[:1], expected


CASES: dict[str, Callable[[Rng], Case]] = {
    "FULLY_CONNECTED": fully_connected,
    "FULLY_CONNECTED per channel": lambda rng: fully_connected(rng, per_channel=True),
    "FULLY_CONNECTED 16x8": lambda rng: fully_connected(rng, wide=True),
    "MUL": product,
    "PRELU": prelu,
    "RELU 16": lambda rng: rectified(rng, leaky=False),
    "LEAKY_RELU 16": lambda rng: rectified(rng, leaky=True),
}


def convert(op: Operator, folder: Path, profile: str | None) -> Graph:
    path = folder / "net.tflite"
    path.write_bytes(model(op))
    return edgekit.convert(path, profile=profile)


def result(graph: Graph, inputs: Sequence[Array]) -> Array:
    return simulate.run(graph, named(graph, inputs))[graph.outputs[0]]


@pytest.mark.parametrize("kind", CASES)
def test_integers_of_tflite_micro(kind: str, tmp_path: Path) -> None:
    require("gcc")
    machine, differing = Machine(tmp_path, "gcc", "-O1"), 0
    for seed in SEEDS:
        op, inputs, expected = CASES[kind](np.random.default_rng(seed))
        graph = convert(op, tmp_path, "tflm")
        assert np.array_equal(result(graph, inputs), expected), f"seed {seed}"
        compiled = machine.run(compile_graph(graph, target.load("host")), named(graph, inputs))
        assert np.array_equal(compiled[graph.outputs[0]], expected), f"seed {seed}"
        litert = convert(op, tmp_path, "litert")
        assert litert == convert(op, tmp_path, None)
        differing += int((result(litert, inputs) != expected).sum())
    assert differing > 0  # or the profile makes no difference


def test_profiles_are_for_model_files_of_tflite(tmp_path: Path) -> None:
    op, _, _ = product(np.random.default_rng(0))
    graph = convert(op, tmp_path, "tflm")
    edgekit.save(graph, tmp_path / "net.ek")
    with pytest.raises(edgekit.EdgeKitError, match="converted already, its profile is fixed"):
        edgekit.convert(tmp_path / "net.ek", profile="tflm")
    with pytest.raises(edgekit.EdgeKitError, match="unknown profile nonsense"):
        convert(op, tmp_path, "nonsense")
