"""What users do with a library: link it with C++, build it with CMake, let the assembler take weights in."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.generated import C99, STRICT, compiled
from support.tools import ROOT, require

from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.library_objects import library_sources
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.printing.render import Weights
from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.onnx.reader import convert
from edgekit.core import target
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import DType, Type

HOST = target.load("host")
BOTH = pytest.mark.parametrize("optimize", ["size", "speed"])
# Classifies the images that come with the example, and prints what it saw.
MAIN = """\
#include "digits.h"
#include "samples.h"
#include <cstdio>
#include <vector>
int main()
{
    std::vector<unsigned char> arena(DIGITS_ARENA_SIZE + DIGITS_ARENA_ALIGN);
    unsigned char *start = arena.data();
    while (reinterpret_cast<std::size_t>(start) % DIGITS_ARENA_ALIGN != 0)
        start++;
    for (const auto &sample : samples) {
        float x[DIGITS_X_SIZE], y[DIGITS_Y_SIZE];
        for (int i = 0; i < DIGITS_X_SIZE; i++)
            x[i] = sample[i] / 16.0f;
        digits_run(x, y, start);
        int best = 0;
        for (int i = 1; i < DIGITS_Y_SIZE; i++)
            best = y[i] > y[best] ? i : best;
        std::printf("%d", best);
    }
}
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES C CXX)
add_subdirectory(library)
add_executable(user main.cpp)
target_include_directories(user PRIVATE {samples})
target_link_libraries(user PRIVATE digits)
"""


@pytest.fixture(scope="module")
def digits() -> Program:
    return compile_graph(simplify(convert(ROOT / "examples" / "digits" / "digits.onnx")), HOST)


def run(program: Path) -> str:
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def built_by_cmake(
    digits: Program, optimize: Optimize, weights: Weights, folder: Path, *options: str
) -> Path:
    """A program in C++ that uses the library, from its CMakeLists.txt."""
    require("gcc")
    require("g++")
    write(generate(digits, optimize, weights), folder / "library")
    (folder / "main.cpp").write_text(MAIN)
    (folder / "CMakeLists.txt").write_text(CMAKE.format(samples=ROOT / "examples" / "digits"))
    cmake = require("cmake")
    for step in (["-S", ".", "-B", "build", *options], ["--build", "build"]):
        done = subprocess.run([cmake, *step], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build" / "user"


@BOTH
@pytest.mark.parametrize("weights", ["c", "bin"])
def test_cmake_builds_a_library_and_cpp_uses_it(
    digits: Program, optimize: Optimize, weights: Weights, tmp_path: Path
) -> None:
    assert run(built_by_cmake(digits, optimize, weights, tmp_path)) == "0123456789"


@pytest.mark.parametrize("share", ["ON", "OFF"])
def test_cmake_shares_kernels_on_request(share: str, digits: Program, tmp_path: Path) -> None:
    user = built_by_cmake(digits, "size", "c", tmp_path, f"-DEK_SHARE_KERNELS={share}")
    assert run(user) == "0123456789"
    names = subprocess.run([require("nm"), user], capture_output=True, text=True, check=True).stdout
    weak = set(re.findall(r" W ek_(\w+)_[0-9a-f]{8}$", names, re.MULTILINE))
    functions = {kernel.function.removeprefix("ek_") for kernel in digits.kernels}
    assert weak == (functions if share == "ON" else set())


def test_the_whole_library_may_be_cpp(digits: Program, tmp_path: Path) -> None:
    files = generate(digits, "speed")
    write(files, tmp_path)
    (tmp_path / "main.cpp").write_text(MAIN)
    sources = [f"-I{ROOT}/examples/digits", "main.cpp", "-x", "c++", *library_sources(files)]
    compiled(tmp_path, "g++", "-std=c++11", *STRICT, "-I.", *sources, "-o", "user")
    assert run(tmp_path / "user") == "0123456789"


def large() -> Graph:
    """A layer whose weights are a little more than is written as C text."""
    b = Builder()
    x = b.input("x", Type(DType.F32, (1, 512)))
    weights = np.linspace(-1, 1, 520 * 512, dtype=np.float32).reshape(520, 512)
    return b.graph("large", [x], [b.one(Dense(), x, b.const(weights), b.const(np.zeros(520, np.float32)))])


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_large_weights_are_bytes_for_the_assembler(compiler: str, tmp_path: Path) -> None:
    """Their text would keep a compiler busy for minutes. The same numbers come out, wherever it is called."""
    program = compile_graph(large(), HOST)
    library = tmp_path / "library"
    files = generate(program, "size")
    write(files, library)
    assert len(files["large_weights.bin"]) >= program.weight_bytes > 1 << 20
    assert len(b"".join(data for name, data in files.items() if name.endswith((".c", ".h", ".S")))) < 1 << 17
    paths = [f"library/{name}" for name in (*library_sources(files), "large_selftest.c")]
    assert "library/large_weights.S" in paths
    (tmp_path / "main.c").write_text(
        '#include "large.h"\n'
        "int large_selftest(void *arena);\n"
        "int main(void) { static double arena[LARGE_ARENA_SIZE / 8 + 1]; return large_selftest(arena); }\n"
    )
    compiled(tmp_path, compiler, *C99, "-O2", "-Ilibrary", *paths, "main.c", "-o", "main")
    subprocess.run([tmp_path / "main"], check=True)


def test_weights_for_the_assembler_are_aligned_as_compilers_take_them() -> None:
    """The ABI of x86-64 aligns arrays of 16 bytes and more to 16, whatever lies in front of them."""
    text = generate(compile_graph(large(), HOST), "speed")["large_weights.S"].decode()
    constants = re.findall(r"^    \.balign (\d+).*\n    \.globl SYMBOL\((\w+)\)", text, re.MULTILINE)
    assert constants == [("16", "large_constant"), ("16", "large_constant_1")]
