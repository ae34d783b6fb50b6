"""The headers of the float math build cleanly, alone, and to the same results with every compiler."""

import ctypes
import platform
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.float_math import BINARY, UNARY, Array, pairs, scan_all_f32, specials, values_f64
from support.runtime_c import (
    INCLUDE,
    LANGUAGES,
    STRICT,
    STRICT_FLOATS,
    compile_c,
    documented_errors,
    load_c,
    map_c,
    undefined_symbols,
)
from support.tools import require

from edgekit.codegen.execution import processor

HERE = Path(__file__).parent
HEADERS = sorted(path.name for path in (INCLUDE / "edgekit" / "math").glob("math_*.h"))
SOURCES = ["math_maps.c", "small_floats.c"]

HOT = ["exp", "expm1", "sigmoid", "tanh", "erf", "log", "sqrt_portable", "rsqrt", "floor", "round_even"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("source", SOURCES)
def test_no_warning(source: str, compiler: str, language: str, tmp_path: Path) -> None:
    flags = (*LANGUAGES[language], *STRICT, "-O2", "-c")
    compile_c([HERE / source], tmp_path / "all.o", *flags, compiler=compiler)


@pytest.mark.parametrize("header", [*HEADERS, "bits.h", "half.h", "float8.h"])
def test_each_header_stands_alone(header: str, tmp_path: Path) -> None:
    source = tmp_path / "alone.c"
    source.write_text(f'#include "edgekit/math/{header}"\ntypedef int not_empty;\n')
    compile_c([source], tmp_path / "alone.o", "-std=c99", *STRICT, "-c")


@pytest.mark.parametrize("optimize", ["-O0", "-Os", "-O3", "-O2 -fno-math-errno"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("source", SOURCES)
def test_no_library_is_needed(source: str, compiler: str, optimize: str, tmp_path: Path) -> None:
    flags = ("-ffreestanding", "-nostdlib", *optimize.split(), "-c")
    built = compile_c([HERE / source], tmp_path / "free.o", *flags, compiler=compiler)
    assert undefined_symbols(built) <= {"memcpy", "memset"}


def test_undefined_symbols_are_seen(tmp_path: Path) -> None:
    source = tmp_path / "calls.c"
    source.write_text("float expf(float); float y(float x) { return expf(x); }\n")
    assert undefined_symbols(compile_c([source], tmp_path / "calls.o", "-fno-builtin", "-c")) == {"expf"}


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("gcc", "-O0"),
        ("gcc", "-O3"),
        ("gcc", "-O3 -fno-math-errno"),
        ("clang", "-O0"),
        ("clang", "-O3"),
        ("clang", "-Os -fno-math-errno"),
    ],
)
def test_every_compiler_gives_the_same_bits(
    compiler: str, flags: str, maps: ctypes.CDLL, build_folder: Path
) -> None:
    other = load_c(HERE / "math_maps.c", build_folder, *flags.split(), *STRICT_FLOATS, compiler=compiler)
    for suffix, dtype in (("f32", np.float32), ("f64", np.float64)):
        one, two = arguments(dtype)
        for name in UNARY:
            assert_same_bits(name, *(map_c(m, f"{name}_{suffix}", dtype, one) for m in (maps, other)))
        for name in BINARY:
            assert_same_bits(name, *(map_c(m, f"{name}_{suffix}", dtype, *two) for m in (maps, other)))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names flags of x86-64")
def test_contraction_to_fma_keeps_the_bound(build_folder: Path) -> None:
    if "fma" not in processor.flags():
        pytest.skip("this machine has no FMA instruction")
    scans = load_c(HERE / "math_scan.c", build_folder, "-O3", "-mfma", "-ffp-contract=fast")
    for name in UNARY:
        exact = documented_errors("f32")[name] in (0, 0.5)
        scan_all_f32(scans, name, 0, 16381).check(documented_errors("f32")[name] if exact else 2.0, 1)


@pytest.mark.parametrize("name", HOT)
def test_gcc_vectorizes_a_loop_over_it(name: str, tmp_path: Path) -> None:
    source = tmp_path / "loop.c"
    source.write_text(
        '#include "edgekit/math/math_f32.h"\n'
        "void loop(const float *restrict x, float *restrict y, int n)\n"
        f"{{ for (int i = 0; i < n; i++) y[i] = ek_{name}_f32(x[i]); }}\n"
    )
    command = [
        require("gcc"),
        "-O3",
        "-fopt-info-vec-optimized",
        f"-I{INCLUDE}",
        "-S",
        "-o",
        "-",
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "loop vectorized" in done.stderr


def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    flags = ("-O1", "-g", "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all")
    program = compile_c([HERE / "math_sanitize.c"], tmp_path / "sanitize", *flags)
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("called ")


def arguments(dtype: type) -> tuple[Array, tuple[Array, Array]]:
    rng = np.random.default_rng(6)
    if dtype is np.float32:
        dense = np.arange(0, 2**32, 40013, np.uint64).astype(np.uint32).view(np.float32)
        return np.concatenate([dense, specials(np.float32)]), pairs(np.float32, 50_000, rng)
    return values_f64(50_000, rng), pairs(np.float64, 20_000, rng)


def assert_same_bits(name: str, y: Array, other: Array) -> None:
    """NaN equals NaN: C does not say which of them an operation gives."""
    same = (y.view(f"u{y.itemsize}") == other.view(f"u{y.itemsize}")) | (np.isnan(y) & np.isnan(other))
    assert same.all(), f"{name}: {np.count_nonzero(~same)} results differ"
