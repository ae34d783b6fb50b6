"""The float math of the C runtime keeps the error bounds that its headers state."""

import ctypes

import numpy as np
import pytest
from support import random_cases
from support.float_math import (
    BINARY,
    SPECIAL,
    UNARY,
    pairs,
    scan_all_f32,
    scan_values,
    specials,
    values_f64,
)
from support.runtime_c import documented_errors, map_c
from support.tools import require_module

ERRORS = {suffix: documented_errors(suffix) for suffix in ("f32", "f64")}
START, STRIDE = random_cases.sweep(2039)

# Around these arguments functions go from one piece to another.
JOINTS = (0.25, 0.41421356, 0.5, 0.6666667, 0.7071068, 0.9, 1.0, 1.4142135, 1.5, 2.0, 4.0, 10.0, 87.5)

needs_long_double = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 60, reason="needs a C long double that is wider than double"
)


@pytest.mark.parametrize(("suffix", "most"), [("f32", 2.0), ("f64", 4.0)])
def test_every_function_states_a_small_error(suffix: str, most: float) -> None:
    assert sorted(ERRORS[suffix]) == sorted(UNARY + BINARY)
    assert all(bound <= most for bound in ERRORS[suffix].values())


@pytest.mark.parametrize("name", UNARY)
def test_f32_error_over_all_floats(name: str, scans: ctypes.CDLL) -> None:
    scan_all_f32(scans, name, START, STRIDE).check(ERRORS["f32"][name], 1)


@pytest.mark.parametrize("name", BINARY)
def test_f32_error_of_binary_functions(name: str, scans: ctypes.CDLL) -> None:
    arguments = pairs(np.float32, 10**6, np.random.default_rng(1))
    scan_values(scans, name, *arguments).check(ERRORS["f32"][name], 2)


@needs_long_double
@pytest.mark.parametrize("name", UNARY)
def test_f64_error(name: str, scans: ctypes.CDLL) -> None:
    arguments = values_f64(300_000, np.random.default_rng(2))
    scan_values(scans, name, arguments).check(ERRORS["f64"][name], 1)


@needs_long_double
@pytest.mark.parametrize("name", BINARY)
def test_f64_error_of_binary_functions(name: str, scans: ctypes.CDLL) -> None:
    arguments = pairs(np.float64, 200_000, np.random.default_rng(3))
    scan_values(scans, name, *arguments).check(ERRORS["f64"][name], 2)


@pytest.mark.parametrize("suffix", ["f32", "f64"])
@pytest.mark.parametrize("name", [n for n in UNARY if ERRORS["f64"][n] > 0])
def test_error_by_a_reference_that_is_not_libm(name: str, suffix: str, maps: ctypes.CDLL) -> None:
    mpmath = require_module("mpmath")
    exact = {
        "exp2": lambda x: mpmath.mpf(2) ** x,
        "log2": lambda x: mpmath.log(x, 2),
        "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
        "rsqrt": lambda x: 1 / mpmath.sqrt(x),
        "sqrt_portable": mpmath.sqrt,
    }.get(name) or getattr(mpmath, name)
    dtype = np.dtype(np.float32 if suffix == "f32" else np.float64)
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform(-1, 1, 40), rng.uniform(1, 80, 40), rng.uniform(0, 1e10, 10)]).astype(
        dtype
    )
    y = map_c(maps, f"{name}_{suffix}", dtype, x)
    checked = 0
    with mpmath.workdps(50):
        for argument, result in zip(x.tolist(), y.tolist(), strict=True):
            want = exact(mpmath.mpf(argument)) if abs(argument) < 700 or np.isfinite(result) else mpmath.inf
            if isinstance(want, mpmath.mpc):
                assert np.isnan(result)
            elif np.isfinite(result):
                ulp = float(np.spacing(dtype.type(abs(want))))
                assert abs(want - result) / ulp <= ERRORS[suffix][name], argument
                checked += 1
    assert checked >= 40


@pytest.mark.parametrize("suffix", ["f32", "f64"])
@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("sigmoid", 0, 1), ("tanh", -1, 1), ("erf", -1, 1), ("sin", -1, 1), ("cos", -1, 1), ("exp", 0, np.inf)],
)
def test_results_stay_in_range(name: str, low: float, high: float, suffix: str, maps: ctypes.CDLL) -> None:
    if suffix == "f32":
        x = np.arange(0, 2**32, 4099, np.uint32).view(np.float32)
    else:
        x = values_f64(10**5, np.random.default_rng(5))
    y = map_c(maps, f"{name}_{suffix}", x.dtype, x)
    y = y[np.isfinite(x)]
    assert y.min() >= low
    assert y.max() <= high


@pytest.mark.parametrize("name", ["exp", "sigmoid", "tanh", "erf", "log", "sqrt", "atan", "asinh"])
def test_growing_functions_do_not_step_back(name: str, maps: ctypes.CDLL) -> None:
    """By more than the rounding of 1 ULP."""
    for joint in JOINTS:
        bits = int(np.float32(joint).view(np.uint32))
        x = np.arange(bits - 5000, bits + 5000, dtype=np.uint32).view(np.float32)
        y = map_c(maps, f"{name}_f32", np.float32, x)
        assert (np.diff(y) >= -np.spacing(np.abs(y[:-1]))).all()
        assert y[-1] >= y[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_agrees_with_numpy(dtype: type, maps: ctypes.CDLL) -> None:
    halves = (np.arange(-41, 41) / 2).astype(dtype)
    x = np.concatenate([halves, np.nextafter(halves, dtype(0)), specials(dtype)])
    suffix = "f32" if dtype is np.float32 else "f64"
    for name, reference in {
        "floor": np.floor,
        "ceil": np.ceil,
        "trunc": np.trunc,
        "round_even": np.rint,
    }.items():
        y, want = map_c(maps, f"{name}_{suffix}", dtype, x), reference(x)
        np.testing.assert_array_equal(y, want)
        np.testing.assert_array_equal(np.signbit(y), np.signbit(want))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "reference"), [("fmin", np.minimum), ("fmax", np.maximum), ("fmod", np.fmod)]
)
def test_special_pairs_agree_with_numpy(
    name: str, reference: np.ufunc, dtype: type, maps: ctypes.CDLL
) -> None:
    a, b = np.array(np.meshgrid(specials(dtype), specials(dtype))).reshape(2, -1)
    suffix = "f32" if dtype is np.float32 else "f64"
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(map_c(maps, f"{name}_{suffix}", dtype, a, b), reference(a, b))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_two_are_exact(dtype: type, maps: ctypes.CDLL) -> None:
    suffix, low, high = ("f32", -149, 128) if dtype is np.float32 else ("f64", -1074, 1024)
    exponents = np.arange(low, high).astype(dtype)
    powers = np.ldexp(dtype(1), exponents.astype(np.int32))
    two = np.full_like(exponents, 2)
    np.testing.assert_array_equal(map_c(maps, f"exp2_{suffix}", dtype, exponents), powers)
    np.testing.assert_array_equal(map_c(maps, f"log2_{suffix}", dtype, powers), exponents)
    np.testing.assert_array_equal(map_c(maps, f"pow_{suffix}", dtype, two, exponents), powers)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_whole_powers_that_are_floats_are_exact(dtype: type, maps: ctypes.CDLL) -> None:
    suffix, limit = ("f32", 2**24) if dtype is np.float32 else ("f64", 2**53)
    cases = [(b, e) for e in range(1, 20) for b in range(-300, 300) if abs(b) ** e <= limit]
    base, exponent = np.array(cases).T.astype(dtype)
    want = np.array([b**e for b, e in cases]).astype(dtype)
    np.testing.assert_array_equal(map_c(maps, f"pow_{suffix}", dtype, base, exponent), want)


def test_special_arguments_cover_what_they_should() -> None:
    values = specials(np.float32)
    assert len(values) > len(SPECIAL)
    assert {np.inf, -np.inf, 0.0, 1.0} <= set(values.tolist())
    assert np.isnan(values).any()
    assert np.signbit(values[values == 0]).any()
