"""The power of 2 of numbers below 0, as attention and gates need it, is within 1.1 ULP."""

import ctypes
from pathlib import Path

import numpy as np
from support.generated import compiled
from support.runtime_c import INCLUDE

SOURCE = """#include "edgekit/math/math_exp_f32.h"
void exps(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = ek_exp2_below_f32(x[i]);
}
"""


def test_powers_below_zero(tmp_path: Path) -> None:
    (tmp_path / "exps.c").write_text(SOURCE)
    options = ("-O1", "-std=c99", "-ffp-contract=off", f"-I{INCLUDE}", "-shared", "-fPIC")
    compiled(tmp_path, "cc", *options, "-o", "exps.so", "exps.c")
    exps = ctypes.CDLL(str(tmp_path / "exps.so")).exps
    near = -np.geomspace(1e-30, 126, 1_000_000)
    x = np.concatenate([near, -np.linspace(0, 126, 1_000_000), [-127, -1e30, -np.inf, np.nan]]).astype(
        np.float32
    )
    y = np.empty_like(x)
    exps(*(ctypes.c_void_p(a.ctypes.data) for a in (x, y)), x.size)
    truth = np.exp2(np.maximum(x[:-1].astype(np.float64), -126))
    ulps = np.abs(y[:-1] - truth) / np.spacing(truth.astype(np.float32))
    assert ulps.max() < 1.1
    assert np.isnan(y[-1])
