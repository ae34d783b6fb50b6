"""The power of 2 of numbers below 0, as attention needs it, is within 1.1 ULP."""

from pathlib import Path

import numpy as np
from support.float_math import results_in_c


def test_powers_below_zero(tmp_path: Path) -> None:
    near = -np.geomspace(1e-30, 126, 1_000_000)
    x = np.concatenate([near, -np.linspace(0, 126, 1_000_000), [-127, -1e30, -np.inf, np.nan]]).astype(
        np.float32
    )
    y = results_in_c(tmp_path, "ek_exp2_below_f32", x)
    truth = np.exp2(np.maximum(x[:-1].astype(np.float64), -126))
    ulps = np.abs(y[:-1] - truth) / np.spacing(truth.astype(np.float32))
    assert ulps.max() < 1.1
    assert np.isnan(y[-1])
