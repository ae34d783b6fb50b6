"""What the tests of the float math share: the functions, the arguments and the errors libm sees at them."""

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from support.generated import compiled
from support.runtime_c import INCLUDE
from support.tools import ROOT

Array = npt.NDArray[Any]

_LISTS = (ROOT / "tests/runtime/math_functions.h").read_text(encoding="utf-8").split("#define BINARY")
UNARY, BINARY = (re.findall(r"^ +X\((\w+), ", text, re.MULTILINE) for text in _LISTS)

# fmt: off
SPECIAL = (
    0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 2.5, 33.0, 1e30, np.inf, np.nan, 0.99999994, 1.0000001, 8388607.5,
    8388608.0, 16777215.0, 16777216.0, 4503599627370495.5, 9007199254740991.0, 9007199254740992.0, 1e-45,
    1.1754942e-38, 3.4028235e38, 5e-324, 2.2250738585072009e-308, 1.7976931348623157e308, 88.72284, 103.97208,
    709.782712893384, 745.1332191019412, 0.7853982, 1.5707964, 3.1415927,
)
# fmt: on


_EACH = """#include "edgekit/math/math_exp_f32.h"
void each(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = NAME(x[i]);
}
"""


class Worst(ctypes.Structure):
    """struct worst of math_scan.c."""

    _fields_ = (
        ("ulp", ctypes.c_double),
        ("at", ctypes.c_double * 2),
        ("wrong", ctypes.c_double * 2),
        ("wrongs", ctypes.c_int64),
    )

    def check(self, bound: float, arguments: int) -> None:
        assert not self.wrongs, f"{self.wrongs} results of wrong kind or sign, as at {self.wrong[:arguments]}"
        assert self.ulp <= bound, f"{self.ulp:.4f} ULP at {self.at[:arguments]!r}"


def specials(dtype: npt.DTypeLike) -> Array:
    with np.errstate(over="ignore"):
        both = np.array([sign * value for value in SPECIAL for sign in (1.0, -1.0)]).astype(dtype)
    return np.unique(both.view(f"u{both.itemsize}")).view(dtype)


def results_in_c(folder: Path, name: str, x: Array) -> Array:
    """Of a function of math_exp_f32.h."""
    (folder / f"{name}.c").write_text(_EACH.replace("NAME", name))
    options = ("-O1", "-std=c99", "-ffp-contract=off", f"-I{INCLUDE}", "-shared", "-fPIC")
    compiled(folder, "cc", *options, "-o", f"{name}.so", f"{name}.c")
    y = np.empty_like(x)
    each = ctypes.CDLL(str(folder / f"{name}.so")).each
    each(*(ctypes.c_void_p(a.ctypes.data) for a in (x, y)), x.size)
    return y


def scan_patterns(library: ctypes.CDLL, name: str, worst: Worst, first: int, stride: int, count: int) -> None:
    scan = getattr(library, f"scan_{name}_f32")
    scan(ctypes.c_uint32(first), ctypes.c_uint32(stride), ctypes.c_size_t(count), ctypes.byref(worst))


def scan_all_f32(library: ctypes.CDLL, name: str, start: int, stride: int) -> Worst:
    """Every stride-th pattern of 32 bits, and all patterns around the special values."""
    worst = Worst()
    scan_patterns(library, name, worst, start, stride, (2**32 - start) // stride)
    for value in specials(np.float32).view(np.uint32):
        scan_patterns(library, name, worst, (int(value) - 64) % 2**32, 1, 128)
    return worst


def scan_values(library: ctypes.CDLL, name: str, *arguments: Array) -> Worst:
    suffix = "f32" if arguments[0].dtype == np.float32 else "f64"
    scan = getattr(library, f"{'scan' if len(arguments) == 1 else 'pair'}_{name}_{suffix}")
    worst = Worst()
    arrays = [np.ascontiguousarray(a) for a in arguments]  # named, so that they outlive the call
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    scan(*pointers, ctypes.c_size_t(arguments[0].size), ctypes.byref(worst))
    return worst


def values_f64(count: int, rng: np.random.Generator) -> Array:
    """Doubles of all sizes: any pattern, moderate, small, near 1; and the special ones."""
    part = count // 4
    patterns = rng.integers(0, 2**64, part, np.uint64).view(np.float64)
    moderate = rng.uniform(-800, 800, part)
    small = rng.uniform(-1, 1, part) * 2.0 ** -rng.integers(0, 60, part)
    near_one = 1 + rng.uniform(-1, 1, part) * 2.0 ** -rng.integers(0, 52, part)
    return np.concatenate([patterns, moderate, small, near_one, specials(np.float64)])


def pairs(dtype: npt.DTypeLike, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Arguments of binary functions: any two patterns, powers that are floats, like sizes; special ones."""
    part = count // 4
    bits = np.dtype(dtype).itemsize * 8
    unsigned = np.dtype(f"u{bits // 8}")
    a, b = (rng.integers(0, 2**bits, part, unsigned).view(dtype) for _ in range(2))
    base = np.abs(a)
    near_one = (1 + rng.uniform(-1, 1, part) * 2.0 ** -rng.integers(0, bits - 12, part)).astype(dtype)
    most = 160 if bits == 32 else 1090
    with np.errstate(all="ignore"):
        exponent, exponent_near = (
            (rng.uniform(-most, most, part) / np.log2(x.astype(np.float64))).astype(dtype)
            for x in (base, near_one)
        )
        nearby = (a * rng.uniform(-4, 4, part)).astype(dtype)
    grid = np.array(np.meshgrid(specials(dtype), specials(dtype))).reshape(2, -1)
    return (
        np.concatenate([a, base, near_one, a, grid[0]]),
        np.concatenate([b, exponent, exponent_near, nearby, grid[1]]),
    )
