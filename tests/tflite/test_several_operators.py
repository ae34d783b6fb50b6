"""What single operators on ordinary numbers do not show: operators that meet, results next to the middle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.tflite_writer import Operator, Tensor, constant, model, network
from tflite.litert import converted, litert, named

from edgekit.core import simulate
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array


def simulated(content: bytes, inputs: list[Array], folder: Path) -> list[Array]:
    graph = simplify(converted(content, folder, "net"))
    return list(simulate.run(graph, named(graph, inputs)).values())


@pytest.mark.parametrize("zero", [-128, 3])
def test_a_mean_counts_a_border_before_it_as_its_zero_point(zero: int, tmp_path: Path) -> None:
    quant = {"scale": (0.05,), "zero": (zero,)}
    x = Tensor((1, 5, 4, 3), "int8", **quant)  # type: ignore[arg-type]  # scale and zero
    wide = Tensor((1, 8, 6, 3), "int8", **quant)  # type: ignore[arg-type]
    y = Tensor((1, 7, 5, 3), "int8", **quant)  # type: ignore[arg-type]
    window = {"padding": 1, "strideH": 1, "strideW": 1, "filterHeight": 2, "filterWidth": 2}
    ops = [
        Operator("PAD", [x, constant([[0, 0], [2, 1], [1, 1], [0, 0]])], [wide]),
        Operator("AVERAGE_POOL_2D", [wide], [y], "Pool2DOptions", window),
    ]
    content = network(ops, [x], [y])
    data = [np.random.default_rng(0).integers(-128, 128, x.shape).astype(np.int8)]
    np.testing.assert_array_equal(simulated(content, data, tmp_path)[0], litert(content, data)[0])


@pytest.mark.parametrize(("kind", "out"), [("LOGISTIC", (1 / 256, -128)), ("TANH", (1 / 128, 0))])
@pytest.mark.parametrize("scale", [2.0**-8, 2.0**-9, 0.013035768643021584])
def test_results_next_to_the_middle_of_two_integers(
    kind: str, out: tuple[float, int], scale: float, tmp_path: Path
) -> None:
    """LiteRT finds them in floats; in fixed point, as TFLite Micro does, some fall to the other side."""
    y = Tensor((256,), "int8", scale=out[:1], zero=out[1:])
    data = [np.arange(-128, 128).astype(np.int8)]
    for zero in (-128, 0):
        content = model(Operator(kind, [Tensor((256,), "int8", scale=(scale,), zero=(zero,))], [y]))
        np.testing.assert_array_equal(simulated(content, data, tmp_path)[0], litert(content, data)[0])


def test_what_is_close_to_zero_is_normalized(tmp_path: Path) -> None:
    content = model(Operator("L2_NORMALIZATION", [Tensor((4, 2))], [Tensor((4, 2))], "L2NormOptions"))
    data = [np.array([[3, 4], [3e-4, 4e-4], [3e-7, 4e-7], [0, 0]], np.float32)]
    np.testing.assert_allclose(simulated(content, data, tmp_path)[0], litert(content, data)[0], rtol=1e-6)
