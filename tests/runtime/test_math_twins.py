"""The float32 math in numpy gives the same bits as the compiled C, and knows every function of it."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
from support import random_cases
from support.float_math import BINARY, UNARY, Array, pairs, specials
from support.runtime_c import STRICT_FLOATS, compile_c, map_c

from edgekit.core import math_f32

# Functions that are known by another name in numpy.
TWINS = {"sqrt_portable": "sqrt"}
START, STRIDE = random_cases.sweep(4093, 509)


@pytest.fixture(scope="module")
def arguments() -> Array:
    """Floats that are far apart, all around the special ones, and every number of 16 bits."""
    dense = np.arange(START, 2**32, STRIDE, dtype=np.uint64).astype(np.uint32)
    around = (specials(np.float32).view(np.uint32)[:, None] + np.arange(-64, 64, dtype=np.int64)).reshape(-1)
    codes = np.arange(2**16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        halves = codes.view(np.float16).astype(np.float32).view(np.uint32)
    parts = [dense, around.astype(np.uint32), codes.astype(np.uint32) << 16, halves]
    return np.concatenate(parts).view(np.float32)


def assert_same_bits(found: Array, wanted: Array, *arguments: Array) -> None:
    assert found.dtype == np.float32
    same = (found.view(np.uint32) == wanted.view(np.uint32)) | (np.isnan(found) & np.isnan(wanted))
    at = [a[~same][:4] for a in arguments]
    assert same.all(), f"{found[~same][:4]} instead of {wanted[~same][:4]} at {at}"


def test_every_function_has_a_twin() -> None:
    known = {TWINS.get(name, name) for name in UNARY + BINARY}
    assert known == set(math_f32.__all__) - {"gate", "mod"}  # test_gate.py has that one


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name: str, maps: ctypes.CDLL, arguments: Array) -> None:
    twin = getattr(math_f32, TWINS.get(name, name))
    with np.errstate(all="ignore"):
        found = twin(arguments)
    assert_same_bits(found, map_c(maps, f"{name}_f32", np.float32, arguments), arguments)


def of_two_numbers() -> tuple[Array, Array]:
    """All pairs of special values, pairs of any bits, and powers that neither vanish nor overflow."""
    random = np.random.default_rng(6)
    special = np.stack(np.meshgrid(*(specials(np.float32),) * 2)).reshape(2, -1)
    usual = pairs(np.float32, 10**6, random)
    base = (1 + random.normal(size=10**6) * 2.0 ** -random.integers(0, 20, 10**6)).astype(np.float32)
    power = random.uniform(-99, 99, 10**6).astype(np.float32)
    return (
        np.concatenate([special[0], usual[0], base]).astype(np.float32),
        np.concatenate([special[1], usual[1], power]).astype(np.float32),
    )


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name: str, maps: ctypes.CDLL) -> None:
    x, y = of_two_numbers()
    with np.errstate(all="ignore"):
        found = getattr(math_f32, name)(x, y)
    assert_same_bits(found, map_c(maps, f"{name}_f32", np.float32, x, y), x, y)


def test_remainders_towards_minus_infinity(tmp_path: Path) -> None:
    source = tmp_path / "modulo.c"
    source.write_text(
        '#include <stddef.h>\n#include "edgekit/math/modulo_f32.h"\n'
        "void map_mod_f32(const float *a, const float *b, float *y, size_t n)\n"
        "{\n    for (size_t i = 0; i < n; i++)\n        y[i] = ek_mod_f32(a[i], b[i]);\n}\n"
    )
    flags = ("-shared", "-fPIC", "-O2", *STRICT_FLOATS)
    library = ctypes.CDLL(str(compile_c([source], tmp_path / "modulo.so", *flags)))
    x, y = of_two_numbers()
    with np.errstate(all="ignore"):
        found = math_f32.mod(x, y)
    assert_same_bits(found, map_c(library, "mod_f32", np.float32, x, y), x, y)
