"""Gates of SiLU and SwiGLU are the logistic function, and 0 below -87."""

import ctypes
from pathlib import Path

import numpy as np
from support.float_math import specials
from support.generated import compiled
from support.runtime_c import INCLUDE

from edgekit.core import math_f32

SOURCE = """#include "edgekit/math/math_exp_f32.h"
void gates(const float *x, float *gate, float *sigmoid, int n)
{
    for (int i = 0; i < n; i++) {
        gate[i] = ek_gate_f32(x[i]);
        sigmoid[i] = ek_sigmoid_f32(x[i]);
    }
}
"""


def test_gates_are_sigmoids_without_subnormal_numbers(tmp_path: Path) -> None:
    (tmp_path / "gates.c").write_text(SOURCE)
    options = ("-O1", "-std=c99", "-ffp-contract=off", f"-I{INCLUDE}", "-shared", "-fPIC")
    compiled(tmp_path, "cc", *options, "-o", "gates.so", "gates.c")
    gates = ctypes.CDLL(str(tmp_path / "gates.so")).gates
    near_87 = np.float32(-87) + np.float32(2.0**-17) * np.arange(-9, 10, dtype=np.float32)
    patterns = np.arange(0, 2**32, 4099, dtype=np.uint32).view(np.float32)
    x = np.concatenate([patterns, near_87, specials(np.float32)])
    gate, sigmoid = np.empty_like(x), np.empty_like(x)
    gates(*(ctypes.c_void_p(a.ctypes.data) for a in (x, gate, sigmoid)), x.size)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(gate, math_f32.gate(x))
    np.testing.assert_array_equal(gate, np.where(x < -87, 0, sigmoid))
    assert gate[gate > 0].min() > np.finfo(np.float32).tiny
    assert sigmoid[sigmoid > 0].min() < np.finfo(np.float32).tiny
