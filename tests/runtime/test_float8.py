"""The 8-, 6- and 4-bit floats of the C runtime convert as ONNX Cast says."""

import ctypes

import ml_dtypes
import numpy as np
import pytest
from onnx.numpy_helper import saturate_cast, to_float8e8m0
from support.float_math import Array
from support.runtime_c import map_c

FLOAT8 = {
    "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e4m3fnuz": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "f8e5m2fnuz": np.dtype(ml_dtypes.float8_e5m2fnuz),
}
FINITE = {
    "f4e2m1": np.dtype(ml_dtypes.float4_e2m1fn),
    "f6e2m3": np.dtype(ml_dtypes.float6_e2m3fn),
    "f6e3m2": np.dtype(ml_dtypes.float6_e3m2fn),
}
E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)
BITS = {**dict.fromkeys(FLOAT8, 8), "f4e2m1": 4, "f6e2m3": 6, "f6e3m2": 6}


def patterns() -> Array:
    """Every 1021st float, and all whose last 20 bits are a power of two or 1 less: ties and their sides."""
    dense = np.arange(0, 2**32, 1021, np.uint64).astype(np.uint32)
    corners = np.arange(0, 2**12, dtype=np.uint32)[:, None] << 20
    sides = np.array([step for bit in range(21) for step in (1 << bit, (1 << bit) - 1)], np.uint32)
    return np.concatenate([dense, (corners | sides).ravel(), corners.ravel()]).view(np.float32)


@pytest.mark.parametrize("name", BITS)
def test_widening_is_exact_for_every_code(name: str, small_floats: ctypes.CDLL) -> None:
    codes = np.arange(2 ** BITS[name], dtype=np.uint8)
    check_same(
        map_c(small_floats, f"{name}_to_f32", np.float32, codes),
        codes.view((FLOAT8 | FINITE)[name]).astype(np.float32),
    )


@pytest.mark.parametrize("name", FLOAT8)
def test_narrowing_saturates(name: str, small_floats: ctypes.CDLL) -> None:
    x = patterns()
    with np.errstate(all="ignore"):
        want = saturate_cast(x, FLOAT8[name]).view(np.uint8)
    np.testing.assert_array_equal(map_c(small_floats, f"f32_to_{name}_saturated", np.uint8, x), want)


@pytest.mark.parametrize("name", FLOAT8)
def test_narrowing_without_saturation_keeps_what_is_infinite_or_none(
    name: str, small_floats: ctypes.CDLL
) -> None:
    x = patterns()
    with np.errstate(all="ignore"):
        want = x.astype(FLOAT8[name]).view(np.uint8)
    np.testing.assert_array_equal(map_c(small_floats, f"f32_to_{name}_free", np.uint8, x), want)


@pytest.mark.parametrize("name", FINITE)
def test_narrowing_to_formats_of_numbers_only(name: str, small_floats: ctypes.CDLL) -> None:
    x = patterns()
    with np.errstate(all="ignore"):
        want = x.astype(FINITE[name]).view(np.uint8)
    np.testing.assert_array_equal(map_c(small_floats, f"f32_to_{name}", np.uint8, x), want)


def test_powers_of_two_widen(small_floats: ctypes.CDLL) -> None:
    codes = np.arange(256, dtype=np.uint8)
    check_same(map_c(small_floats, "f8e8m0_to_f32", np.float32, codes), codes.view(E8M0).astype(np.float32))


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
def test_powers_of_two_round_as_the_reference(mode: str, small_floats: ctypes.CDLL) -> None:
    """Normal floats up to 2^127. Below 2^-126 onnx looks at the fraction as if it had a leading 1."""
    x = np.abs(patterns())
    x = x[(x >= 2.0**-126) & (x <= 2.0**127)]
    want = to_float8e8m0(x, True, mode).view(np.uint8)
    np.testing.assert_array_equal(map_c(small_floats, f"f32_to_f8e8m0_{mode}_saturated", np.uint8, x), want)
    np.testing.assert_array_equal(map_c(small_floats, f"f32_to_f8e8m0_{mode}_free", np.uint8, x), want)


@pytest.mark.parametrize(
    ("mode", "codes"), [("up", [0, 1, 1, 1]), ("down", [0, 0, 0, 1]), ("nearest", [0, 0, 1, 1])]
)
def test_powers_of_two_round_below_the_normal_floats(
    mode: str, codes: list[int], small_floats: ctypes.CDLL
) -> None:
    x = (np.array([1.0, 1.25, 1.5, 2.0]) * 2.0**-127).astype(np.float32)
    assert map_c(small_floats, f"f32_to_f8e8m0_{mode}_free", np.uint8, x).tolist() == codes


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
def test_powers_of_two_out_of_range(mode: str, small_floats: ctypes.CDLL) -> None:
    """The table of the specification: 0, below, above, infinity, NaN."""
    x = np.array([0.0, 2.0**-128, 1.25 * 2.0**127, np.inf, np.nan], np.float32)
    saturated = map_c(small_floats, f"f32_to_f8e8m0_{mode}_saturated", np.uint8, x)
    assert saturated.tolist() == [0, 0, 0xFE, 0xFE, 0xFF]
    assert (map_c(small_floats, f"f32_to_f8e8m0_{mode}_free", np.uint8, x) == 0xFF).all()


def check_same(y: Array, want: Array) -> None:
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(y[numbers].view(np.uint32), want[numbers].view(np.uint32))
    np.testing.assert_array_equal(np.isnan(y), ~numbers)
