"""Kernels as Metal: text that a C++ compiler takes, with a stand-in for Metal's library."""

import subprocess
from pathlib import Path

import support.gpu_cases
from support.gpu_cases import every_kernel
from support.tools import require

from edgekit.codegen.gpu.metal import library

STAND_IN = Path(support.gpu_cases.__file__).parent  # where metal_stdlib lies


def test_types_of_libraries_fit(tmp_path: Path) -> None:
    kernels = every_kernel()
    texts = (f"namespace {name}\n{{\n{library(kernel)}}}\n" for name, kernel in kernels.items())
    (tmp_path / "all.cpp").write_text("#include <metal_stdlib>\n" + "".join(texts))
    options = ["-std=c++14", "-fsyntax-only", "-Werror", "-Wno-unknown-attributes", f"-I{STAND_IN}"]
    command = [require("clang"), *options, "all.cpp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
