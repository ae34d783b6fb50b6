"""The 16-bit floats of the C runtime convert as numpy and ml_dtypes do."""

import ctypes

import ml_dtypes
import numpy as np
import pytest
from support.float_math import Array
from support.runtime_c import map_c

CODES = np.arange(2**16, dtype=np.uint16)
TYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


def f32_patterns() -> Array:
    """Every 1009th float, and the neighbours of every float that 16 bits can write or just cannot."""
    dense = np.arange(0, 2**32, 1009, np.uint64).astype(np.uint32)
    with np.errstate(all="ignore"):
        exact = np.concatenate([CODES.view(t).astype(np.float32).view(np.uint32) for t in TYPES.values()])
        half_ways = [exact + step for step in (0x800, 0x1000, 0x1800, 0x8000)]
    near = [base + step for base in (exact, *half_ways) for step in (0, 1, 2**32 - 1)]
    return np.concatenate([dense, *(a.astype(np.uint32) for a in near)]).view(np.float32)


def f64_values() -> Array:
    """Doubles at and around all halves between floats of 16 bits, where rounding twice would show."""
    with np.errstate(invalid="ignore"):
        exact = np.concatenate([CODES.view(t).astype(np.float64) for t in TYPES.values()])
    exact = exact[np.isfinite(exact)]
    middle = (exact[:-1] + exact[1:]) / 2
    more = np.array([65519.99999999999, 65520.0, 3.3961775292304601e38, 1e300, np.inf, np.nan, 5e-324])
    base = np.concatenate([exact, middle, more, -more])
    return np.concatenate([base, np.nextafter(base, np.inf), np.nextafter(base, -np.inf)])


@pytest.mark.parametrize("name", TYPES)
def test_widening_is_exact_for_every_code(name: str, small_floats: ctypes.CDLL) -> None:
    y = map_c(small_floats, f"{name}_to_f32", np.float32, CODES)
    want = CODES.view(TYPES[name]).astype(np.float32)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(y[numbers].view(np.uint32), want[numbers].view(np.uint32))
    np.testing.assert_array_equal(np.isnan(y), ~numbers)
    np.testing.assert_array_equal(np.signbit(y), CODES >= 0x8000)


@pytest.mark.parametrize("name", TYPES)
def test_every_code_survives_the_way_there_and_back(name: str, small_floats: ctypes.CDLL) -> None:
    back = map_c(
        small_floats, f"f32_to_{name}", np.uint16, map_c(small_floats, f"{name}_to_f32", np.float32, CODES)
    )
    quiet = 0x200 if name == "f16" else 0x40
    nan = np.isnan(CODES.view(TYPES[name]).astype(np.float32))
    np.testing.assert_array_equal(back, np.where(nan, CODES | quiet, CODES))


@pytest.mark.parametrize("name", TYPES)
def test_narrowing_f32_rounds_to_nearest_even(name: str, small_floats: ctypes.CDLL) -> None:
    check_narrowing(small_floats, f"f32_to_{name}", f32_patterns(), TYPES[name])


def test_narrowing_f64_to_f16_rounds_once(small_floats: ctypes.CDLL) -> None:
    check_narrowing(small_floats, "f64_to_f16", f64_values(), TYPES["f16"])


def test_narrowing_f64_to_bf16_rounds_once(small_floats: ctypes.CDLL) -> None:
    """The reference is the nearer of two neighbours, even code at ties: ml_dtypes goes by way of f32."""
    x = f64_values()
    x = x[np.abs(x) < 3.3895e38]
    y = map_c(small_floats, "f64_to_bf16", np.uint16, x)
    size = np.abs(x)
    with np.errstate(over="ignore"):
        below = (size.astype(np.float32).view(np.uint32) >> 16).astype(np.int64)
    below = np.where(bf16_value(below) > size, below - 1, below)
    down, up = size - bf16_value(below), bf16_value(below + 1) - size
    want = np.where((up < down) | ((up == down) & (below % 2 == 1)), below + 1, below)
    np.testing.assert_array_equal(y & 0x7FFF, want)
    np.testing.assert_array_equal(y >> 15, np.signbit(x))


def test_bf16_overflows_to_infinity_and_keeps_nan(small_floats: ctypes.CDLL) -> None:
    x = np.array([3.3961776e38, -3.3961776e38, 1e300, np.inf, np.nan])
    assert map_c(small_floats, "f64_to_bf16", np.uint16, x).tolist() == [
        0x7F80,
        0xFF80,
        0x7F80,
        0x7F80,
        0x7FC0,
    ]
    nan = np.array([0x7F800001, 0xFFAAFFFF], np.uint32).view(np.float32)
    assert map_c(small_floats, "f32_to_bf16", np.uint16, nan).tolist() == [0x7FC0, 0xFFEA]


def bf16_value(code: Array) -> Array:
    return (code << 16).astype(np.uint32).view(np.float32).astype(np.float64)


def check_narrowing(library: ctypes.CDLL, name: str, x: Array, to: np.dtype) -> None:
    with np.errstate(all="ignore"):
        want = x.astype(to).view(np.uint16)
    y = map_c(library, name, np.uint16, x)
    numbers = ~np.isnan(x)
    np.testing.assert_array_equal(y[numbers], want[numbers])
    assert np.isnan(y[~numbers].view(to).astype(np.float32)).all()
    np.testing.assert_array_equal(y >> 15, np.signbit(x))
