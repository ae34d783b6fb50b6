"""The logistic function and tanh of 16 bits: C gives Python's integers for all inputs, near the real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.runtime_c import LANGUAGES, STRICT, load_c, map_c

from edgekit.core import fixed_tfl16

X = np.arange(-(2**15), 2**15, dtype=np.int16)
WIDE = X.astype(np.int64)
UNITS = 13  # of 2^-15: what a few roundings to 16 bits cost


@pytest.mark.parametrize("language", LANGUAGES)
def test_c_gives_the_integers_of_python(language: str, tmp_path: Path) -> None:
    source = Path(__file__).parent / "fixed16.c"
    library = load_c(source, tmp_path, *LANGUAGES[language], "-O2", *STRICT)
    assert np.array_equal(map_c(library, "logistic", np.int16, X), fixed_tfl16.logistic(WIDE))
    for bits in range(7):
        found = map_c(library, "tanh", np.int16, X, np.full(X.shape, bits, np.int8))
        assert np.array_equal(found, fixed_tfl16.tanh(WIDE, bits)), bits


def test_python_is_near_the_real_functions() -> None:
    real = 1 / (1 + np.exp(-WIDE / 2.0**12))
    assert np.abs(fixed_tfl16.logistic(WIDE) - 2.0**15 * real).max() < UNITS
    for bits in range(7):
        real = np.tanh(WIDE / 2.0 ** (15 - bits))
        assert np.abs(fixed_tfl16.tanh(WIDE, bits) - 2.0**15 * real).max() < UNITS, bits
