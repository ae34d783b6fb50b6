"""Compiles C sources that use the headers of runtime_c, for tests that call them."""

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from support import object_cache
from support.tools import ROOT, require

INCLUDE = ROOT / "runtime_c" / "include"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
LANGUAGES = {"C99": ("-x", "c", "-std=c99"), "C++11": ("-x", "c++", "-std=c++11")}
STRICT_FLOATS = ("-ffp-contract=off",)  # the same bits from every compiler


def compile_c(sources: Sequence[Path], output: Path, *flags: str, compiler: str = "gcc") -> Path:
    """Compiles to what the flags say; warnings and errors fail the test with the compiler's words."""
    libraries = () if "-c" in flags else ("-lm",)
    command = [require(compiler), *flags, f"-I{INCLUDE}", "-o", str(output), *map(str, sources), *libraries]

    def run() -> str:
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
        return done.stderr

    beside = [str(header) for source in sources for header in sorted(source.parent.glob("*.h"))]
    with tempfile.TemporaryDirectory() as empty:
        object_cache.remembered([*command, *beside], Path(empty), run)
    return output


def load_c(source: Path, folder: Path, *flags: str, compiler: str = "gcc") -> ctypes.CDLL:
    """A library of one source file, ready to call."""
    name = "_".join([source.stem, compiler, *flags]).replace("-", "").replace("=", "_")
    library = compile_c([source], folder / f"{name}.so", "-shared", "-fPIC", *flags, compiler=compiler)
    return ctypes.CDLL(str(library))


def map_c(library: ctypes.CDLL, name: str, dtype: npt.DTypeLike, *ins: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Calls void map_<name>(const x*, ..., y *y, size_t n) on arrays of one length."""
    y = np.empty(ins[0].shape, dtype)
    arrays = [*map(np.ascontiguousarray, ins), y]  # named, so that they outlive the call
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    getattr(library, f"map_{name}")(*pointers, ctypes.c_size_t(y.size))
    return y


def undefined_symbols(object_file: Path) -> set[str]:
    listing = subprocess.run(
        [require("nm"), "--undefined-only", str(object_file)], capture_output=True, text=True, check=True
    )
    return set(re.findall(r"\bU (\w+)", listing.stdout))


def documented_errors(suffix: str) -> dict[str, float]:
    """The bound in ULP that the comment of each function with that suffix states; 0 where it says exact."""
    word = "float" if suffix == "f32" else "double"
    function = re.compile(
        rf"/\*((?:(?!\*/).)*)\*/\nstatic inline {word} ek_(\w+)_{suffix}\((?:{word} \w+(?:, )?)+\)", re.DOTALL
    )
    found = {}
    for path in sorted((INCLUDE / "edgekit" / "math").glob("*.h")):
        for comment, name in function.findall(path.read_text(encoding="utf-8")):
            if bound := re.search(r"Error below ([\d.]+) ULP|(Exact)|(Correctly rounded)", comment):
                found[name] = float(bound[1]) if bound[1] else 0.0 if bound[2] else 0.5
    return found
