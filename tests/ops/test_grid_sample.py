"""Positions at the border of an image."""

import numpy as np
import pytest

from edgekit.core.ops.grid_sample import GridSample


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_beyond_the_border_cells_repeat(mode: str) -> None:
    """As torch and ONNX Runtime have it: an image whose edges are repeated far enough has no outside."""
    rng = np.random.default_rng(1)
    n, around = 5, 6
    x = rng.standard_normal((1, n, 2)).astype(np.float32)
    grid = rng.uniform(-2, 2, (1, 40, 1)).astype(np.float32)
    (found,) = GridSample(mode, "border", align=True).eval(x, grid)
    wide = np.pad(x, ((0, 0), (around, around), (0, 0)), "edge")
    scaled = (grid * (n - 1) / (n + 2 * around - 1)).astype(np.float32)  # the same places in the wider image
    (expected,) = GridSample(mode, "zeros", align=True).eval(wide, scaled)
    np.testing.assert_allclose(found, expected, atol=1e-5)
