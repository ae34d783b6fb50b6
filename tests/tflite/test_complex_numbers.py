"""Spectra of real numbers: what LiteRT computes, in the simulator and in C."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.tflite_writer import Operator, Tensor, constant, network
from support.tools import require
from tflite.litert import converted, litert, named

from edgekit.codegen.program import compile_graph
from edgekit.core import simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.passes.simplify import simplify
from edgekit.onnx_backend import compile_programs

COMPLEX = "complex64"


def spectrum(x: Tensor, rows: int, points: int) -> tuple[list[Operator], Tensor]:
    y = Tensor((*x.shape[:-2], rows, points // 2 + 1), COMPLEX)
    return [Operator("RFFT2D", [x, constant([rows, points])], [y], "Rfft2dOptions")], y


def magnitudes(x: Tensor, rows: int, points: int) -> bytes:
    """Of frames, as tf.signal.stft makes them: what has one row becomes a matrix."""
    steps, z = spectrum(x, rows, points)
    flat = Tensor((z.shape[0] * rows, z.shape[-1]), COMPLEX)
    turned, cut = (Tensor(shape, COMPLEX) for shape in (flat.shape[::-1], (flat.shape[1], 1)))
    real, imaginary, size = Tensor(flat.shape), Tensor(turned.shape), Tensor(cut.shape)
    begins, sizes = constant([0, 0]), constant([flat.shape[1], 1])
    steps += [
        Operator(
            "RESHAPE", [z, constant([*flat.shape])], [flat], "ReshapeOptions", {"newShape": [*flat.shape]}
        ),
        Operator("REAL", [flat], [real]),
        Operator("TRANSPOSE", [flat, constant([1, 0])], [turned], "TransposeOptions"),
        Operator("IMAG", [turned], [imaginary]),
        Operator("SLICE", [turned, begins, sizes], [cut], "SliceOptions"),
        Operator("COMPLEX_ABS", [cut], [size]),
    ]
    return network(steps, [x], [real, imaginary, size])


CASES = {
    "of one row": ((5, 1, 64), 1, 64),
    "filled up": ((3, 1, 50), 1, 64),
    "cut off": ((3, 1, 70), 1, 64),
    "of four points": ((2, 1, 4), 1, 4),
    "of several rows": ((2, 4, 32), 4, 32),
    "of more rows than there are": ((2, 3, 32), 8, 16),
}


@pytest.mark.parametrize("case", CASES)
def test_spectra_are_those_of_litert(case: str, tmp_path: Path) -> None:
    shape, rows, points = CASES[case]
    content = magnitudes(Tensor(shape), rows, points)
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    graph = converted(content, tmp_path, "net")
    found = simulate.run(graph, named(graph, [x]))
    for name, expected in zip(graph.outputs, litert(content, [x]), strict=True):
        np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=1e-4)


def test_c_computes_the_same(tmp_path: Path) -> None:
    require("gcc")
    shape, rows, points = CASES["of several rows"]
    graph = simplify(converted(magnitudes(Tensor(shape), rows, points), tmp_path, "net"))
    program = compile_graph(graph, target.load("host"))
    driver, errors = compile_programs([program], tmp_path, "speed")
    assert not errors
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    expected = simulate.run(graph, named(graph, [x]))
    for name, result in driver.run(program, named(graph, [x])).items():
        np.testing.assert_allclose(result, expected[name], rtol=1e-5, atol=1e-5)


def test_what_is_not_supported_says_so(tmp_path: Path) -> None:
    x = Tensor((2, 1, 64))
    (steps, z), (short, y) = spectrum(x, 1, 64), spectrum(x, 1, 2)
    twice = Tensor(z.shape, COMPLEX)
    for content, code, words in (
        (network(steps, [x], [z]), "E0204", "has complex numbers"),
        (
            network([*steps, Operator("MUL", [z, z], [twice], "MulOptions")], [x], [twice]),
            "E0201",
            "MUL of complex",
        ),
        (network(short, [x], [y]), "E0203", "with 2 points"),
        (network([Operator("REAL", [z], [x])], [z], [x]), "E0204", "element type 8"),
    ):
        with pytest.raises(EdgeKitError, match=f"{code} .*{words}"):
            converted(content, tmp_path, "net")
