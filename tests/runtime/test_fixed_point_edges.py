"""The ends of the integer specification: next to powers of two, beyond integers of a type, of either sign."""

import numpy as np
import pytest

from edgekit.core import fixed, fixed_gates, fixed_tfl
from edgekit.core.ops._integer import acc_bits
from edgekit.core.types import DType, Quant, Type


@pytest.mark.parametrize("dtype", [DType.S8, DType.S16, DType.S32])
@pytest.mark.parametrize("scale", [1e-30, 1e-10, 1.0, 1e30])
def test_clamps_are_integers_of_their_type(dtype: DType, scale: float) -> None:
    least, most = fixed.int_range(dtype)
    x = np.array([least, -1, 0, 1, most], np.int64)
    for lo, hi in ((1.0, 6.0), (-6.0, -1.0), (-1.0, 1.0), (0.0, np.inf), (-np.inf, 0.0)):
        low, high = fixed.bounds(lo, hi, dtype, Quant((scale,), (0,)))
        assert least <= low <= most
        assert least <= high <= most
        exact = np.clip(np.clip(x, lo / scale, hi / scale), least, most)
        np.testing.assert_allclose(x.clip(low, high), exact, rtol=0, atol=0.5)


@pytest.mark.parametrize("bits", [15, 22, 31])
@pytest.mark.parametrize("shift", [33, 40, 54])
def test_multipliers_have_all_bits_up_to_the_next_power_of_two(bits: int, shift: int) -> None:
    most = 2**bits - 1
    assert _rule_e(most / 2**shift, bits) == (most, shift)
    assert _rule_e((most + 0.25) / 2**shift, bits) == (most, shift)
    assert _rule_e((most + 0.5) / 2**shift, bits) == (2 ** (bits - 1), shift - 1)
    assert _rule_e((most + 1) / 2**shift, bits) == (2 ** (bits - 1), shift - 1)


def _rule_e(ratio: float, bits: int) -> tuple[int, int]:
    multiplier, shift = fixed.rule_e(np.array([ratio]), bits)
    if bits == 31:
        assert fixed.rule_e(np.array([ratio])) == (multiplier, shift)
    return int(multiplier[0]), shift


def test_sums_count_weights_of_both_signs() -> None:
    weights = np.array([[127, -127], [-128, -128]], np.int8)
    assert fixed.acc_bits(np.array([0, -1]), weights, 255) == (1 + 256 * 255).bit_length()
    assert fixed.acc_bits(np.array([-(2**20), 0]), weights, 255) == (2**20 + 254 * 255).bit_length()


def test_bits_of_sums_are_those_of_the_arrays_that_are_there() -> None:
    """Those of read-only arrays are cached while the arrays exist: later ones may have the same address."""
    x, w, b = Type(DType.S8, (1, 64), Quant((1.0,), (0,))), np.ones((1, 64), np.int8), np.zeros(1, np.int32)
    assert acc_bits(x, w, b) == (64 * 128).bit_length()
    w[:] = 2
    assert acc_bits(x, w, b) == (2 * 64 * 128).bit_length()
    b.flags.writeable = False
    found = set()
    for i in range(1, 100):
        w = np.full((1, 64), i, np.int8)
        w.flags.writeable = False
        for zero in (0, 100):
            type = Type(DType.S8, (1, 64), Quant((1.0,), (zero,)))
            assert acc_bits(type, w, b) == acc_bits(type, w, b) == (i * 64 * (128 + zero)).bit_length()
        found.add(id(w))
    assert len(found) < 99


@pytest.mark.parametrize("size", [2.0**-40, 0.01, 0.99, 1.0, 1.01, 100.0])
@pytest.mark.parametrize("offset", [0.0, -3.0, 3.0, 1e4, -1e4])
def test_factors_of_norms_keep_16_bits_beside_any_offset(size: float, offset: float) -> None:
    gamma, beta = np.array([size, -size / 3]), np.array([offset, 0.0])
    out = Quant((0.5,), (7,))
    factor, constant, exponent = fixed.norm_factors(gamma, beta, 11, out)
    g, b = gamma / (0.5 * 2**11), beta / 0.5 + 7
    most = 2**15 / 2.0**exponent
    assert np.abs(factor / 2.0**exponent - g.clip(-most, most)).max() <= 1 / 2.0**exponent
    half = 2.0 ** (exponent - 1)
    assert np.abs(constant - half - b * 2.0**exponent).max() <= 0.5
    assert np.abs(factor).max() < 2**15
    assert np.abs(constant).max() < 2**30 + half
    # As many bits as one of the two numbers takes.
    assert np.abs(g).max() * 2.0**exponent >= 2**14 or (np.abs(b).max() + 1) * 2.0**exponent >= 2**29


@pytest.mark.parametrize("size", [0.0, 1e-9, 2.0**-17, 1.0, 200.0])
def test_filters_have_digits_that_a_shift_of_32_bits_takes(size: float) -> None:
    weights, digits = fixed.filter_weights(np.full((2, 3), size))
    assert 0 < digits <= 29
    np.testing.assert_allclose(weights / 2.0**digits, size, rtol=0, atol=1 / 2.0**digits)


def test_filters_have_as_many_digits_as_16_bits_take() -> None:
    weights = np.random.default_rng(3).uniform(-1, 1, (200, 7))
    for size in (2.0**-9, 1.0, 2.0**5):
        found, _ = fixed.filter_weights(size * weights)
        assert 1 << 13 <= np.abs(found).max() < 1 << 15


@pytest.mark.parametrize("taps", [100, 1000, 5000])
def test_sums_of_filters_stay_within_32_bits(taps: int) -> None:
    weights = np.stack([np.ones(taps), np.full(taps, 1 / taps)])
    found, digits = fixed.filter_weights(weights)
    assert np.abs(found).sum(axis=1).max() << 9 < 1 << 31
    assert digits >= 9


def test_an_epsilon_is_rounded_to_the_nearest_integer() -> None:
    parts = set()
    for n in range(1, 40):
        exact = n * 1e-3 / float(np.float32(0.02)) ** 2
        assert abs(fixed.norm_epsilon(1e-3, n, 0.02) - exact) <= 0.5
        parts.add(exact % 1 < 0.5)
    assert parts == {True, False}


@pytest.mark.parametrize("below", [0, 2.0**-32, 2.0**-18, 2.0**-16])
def test_multipliers_of_16_bits_stop_before_one(below: float) -> None:
    multiplier, exponent = fixed_tfl._in_16_bits(1 - below)
    assert 2**14 <= multiplier < 2**15
    assert multiplier / 2**15 * 2.0**exponent == pytest.approx(1 - below, abs=2**-15)


@pytest.mark.parametrize("scale", [1e-4, 0.005, 0.0118, 0.02, 0.05])
@pytest.mark.parametrize("zero", [-128, 0, 100])
def test_hard_swish_is_near_to_reals(scale: float, zero: int) -> None:
    x, y = Quant((scale,), (zero,)), Quant((scale,), (-20,))
    real = (np.arange(-128, 128) - zero) * scale
    exact = np.rint(real * (real / 6 + 0.5).clip(0, 1) / scale - 20).clip(-128, 127)
    assert np.abs(fixed_tfl.hard_swish(x, y) - exact).max() <= 1


@pytest.mark.parametrize("bits", range(7))
def test_states_become_sums_by_rounding(bits: int) -> None:
    c = np.arange(-(2**15), 2**15)
    exact = np.floor(c * 2.0**bits / 8 + 0.5).clip(-(2**15) + 1, 2**15 - 1)
    np.testing.assert_array_equal(fixed_gates.as_sum(c, bits), exact)


@pytest.mark.parametrize("scale", [0.01, 0.05, 0.2, 1.0])
def test_functions_of_tflite_micro_are_near_to_reals_at_their_ends(scale: float) -> None:
    x = Quant((scale,), (0,), None, "tflm")
    real = np.arange(-128, 128) * scale
    ends = (1 / (1 + np.exp(-real)) * 256 - 128, np.tanh(real) * 128)
    found = (
        fixed_tfl.logistic_table(x, Quant((1 / 256,), (-128,), None, "tflm")),
        fixed_tfl.tanh_table(x, Quant((1 / 128,), (0,), None, "tflm")),
    )
    for table, exact in zip(found, ends, strict=True):
        assert np.abs(table - exact.clip(-128, 127)).max() <= 1
    row = np.array([[127, -128, 126]], np.int64)
    exact = np.exp((row - 127) * scale)
    exact = (exact / exact.sum() * 256 - 128).clip(-128, 127)
    assert np.abs(fixed_tfl.softmax(row, scale) - exact).max() <= 1


@pytest.mark.parametrize("length", [1, 2, 255, 256, 511, 512, 4000])
@pytest.mark.parametrize("scale", [1e-4, 0.05, 1.0])
def test_softmax_of_any_length_is_near_to_reals(length: int, scale: float) -> None:
    random = np.random.default_rng(length)
    x = random.integers(-128, 128, (5, length))
    x[0] = 7
    e = np.exp((x - x.max(axis=1, keepdims=True)) * scale)
    exact = (e / e.sum(axis=1, keepdims=True) * 256 - 128).clip(max=127)
    assert np.abs(fixed.softmax(x, scale) - exact).max() <= 0.52
