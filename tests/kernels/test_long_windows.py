"""Means of windows whose rows are longer than what fits sums of 16 bits: to the bit what is simulated."""

from pathlib import Path

import numpy as np
import pytest
from support.called import kernels
from support.each_target import drive, load, with_kernel
from support.integer_bench import Bench, drawn

from edgekit.codegen.program import compile_graph
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.types import Quant

ISAS = with_kernel("avgpool2d_s8", boards=False)
# Height and width of the image; of the window; cells above and left of the image that do not count.
WINDOWS = (
    ((1, 256), (1, 256), (0, 0)),
    ((1, 257), (1, 257), (0, 0)),
    ((12, 48), (12, 48), (0, 0)),
    ((3, 520), (2, 515), (1, 1)),
)


def long_windows(b: Bench) -> None:
    """Of the least and the largest numbers alone in some channels."""
    for b.rounding in ("E", "tfl"):
        for image, window, before in WINDOWS:
            x = b.input(1, *image, 21, quant=Quant((0.5,), (-7,), None, b.rounding))
            b.inputs[x][:] = b.choices.generator().integers(-128, 128, b.inputs[x].shape)
            b.inputs[x][..., (0, 20)] = (-128, 127)
            op = Pool2d("mean", window, pads=(*before, 0, 0))
            b.result(op, x, quant=b.builder.type(x).quant)


@pytest.mark.parametrize("name", ISAS)
def test_sums_of_more_than_256_cells_are_exact(name: str, tmp_path: Path) -> None:
    graph, inputs, expected = drawn((long_windows,), 1)
    program = compile_graph(graph, load(name))
    used = kernels(program, ISAS[name])
    assert used["avgpool2d_s8_tfl"] == len(WINDOWS), used
    assert name == "armv7-neon" or used["meanpool2d_s8_plain"] >= 3, used
    results = drive(program, tmp_path).run(program, inputs)
    for output, y in expected.items():
        np.testing.assert_array_equal(results[output], y)
