"""Gates of SiLU and SwiGLU are the logistic function, and 0 below -87."""

from pathlib import Path

import numpy as np
from support.float_math import results_in_c, specials

from edgekit.core import math_f32


def test_gates_are_sigmoids_without_subnormal_numbers(tmp_path: Path) -> None:
    near_87 = np.float32(-87) + np.float32(2.0**-17) * np.arange(-9, 10, dtype=np.float32)
    patterns = np.arange(0, 2**32, 4099, dtype=np.uint32).view(np.float32)
    x = np.concatenate([patterns, near_87, specials(np.float32)])
    gate, sigmoid = (results_in_c(tmp_path, name, x) for name in ("ek_gate_f32", "ek_sigmoid_f32"))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(gate, math_f32.gate(x))
    np.testing.assert_array_equal(gate, np.where(x < -87, 0, sigmoid))
    assert gate[gate > 0].min() > np.finfo(np.float32).tiny
    assert sigmoid[sigmoid > 0].min() < np.finfo(np.float32).tiny
