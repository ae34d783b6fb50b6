"""The bound of the stack holds and is tight: runs leave their marks in a painted stack on emulated boards."""

import functools
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support import boards
from support.tools import ROOT

from benchmarks.reliability.networks import Layers, quantized
from benchmarks.reliability.stack import Depth, depth
from benchmarks.results import RELIABILITY
from edgekit import api
from edgekit.codegen.compilation import build, stack, toolchain
from edgekit.codegen.compilation.library_objects import FLOATS, compile_objects, measure
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import compile_graph
from edgekit.codegen.verification.verify import LEVEL
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.target import Optimize
from edgekit.reports import results

DIGITS = ROOT / "examples" / "digits"
# Both compilers tell of the stack, each in its own way; a Cortex-M0+ has no floating point.
CASES = [("cortex-m4", "zig"), ("cortex-m55", "zig"), ("cortex-m0plus", "zig")]
CASES += [(name, "arm-none-eabi-gcc") for name in ("cortex-m4", "cortex-m55", "cortex-m0plus")]


@functools.cache
def digits(dtype: str) -> Graph:
    if dtype == "float32":
        return api.convert(DIGITS / "digits.onnx")
    return api.quantize_model(DIGITS / "digits.onnx", DIGITS / "calib.npz", calibrate="minmax", io="int8")[0]


@pytest.mark.parametrize("optimize", ["size", "speed"])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize(("name", "wanted"), CASES)
def test_a_run_takes_no_more_stack_than_the_bound(
    name: str, wanted: str, dtype: str, optimize: Optimize, tmp_path: Path
) -> None:
    target = boards.load(name, wanted)
    bound, measured = depth(digits(dtype), target, optimize)
    assert measured <= bound
    # Allowances for functions of gcc's own are wide.
    assert wanted != "zig" or Depth("digits", name, optimize, bound, measured).is_tight


def test_a_build_states_the_sizes_of_each_compiler_that_is_installed(tmp_path: Path) -> None:
    """Firmware is linked by the compiler of its SDK, whose frames are others."""
    both = boards.load("cortex-m4", "zig"), boards.load("cortex-m4", "arm-none-eabi-gcc")
    program = fit(digits("int8"), both[0], optimize="speed")
    target = replace(both[0], compilers=both[0].compilers + both[1].compilers)
    report = build.build(digits("int8"), target, tmp_path / "digits")
    (other,) = report.by_other_compilers
    gcc = toolchain.find(both[1])
    assert (report.compiler, other.compiler) == ("zig cc", gcc.name)
    files = build.generate(program, "speed")
    write(files, tmp_path)
    sizes = measure(program, compile_objects(program, files, tmp_path, gcc, "speed"), tmp_path, gcc)
    assert sizes == toolchain.Sizes(other.code, other.constants, other.stack)
    assert f"compiled by {gcc.name}: flash {sizes.code + sizes.constants:,} B" in "\n".join(
        results.build(report, verbose=False)
    )


def test_a_build_without_gcc_states_what_gcc_took_at_most(tmp_path: Path) -> None:
    target = boards.load("cortex-m4", "zig")
    report = build.build(digits("int8"), target, tmp_path / "digits")
    assert report.stack_bytes
    assert report.stack_by_gcc == math.ceil(report.stack_bytes * target.gcc_stack / 100)
    words = f"up to {report.stack_by_gcc:,} B by gcc, by trials"
    assert words in "\n".join(results.build(report, verbose=False))
    by_gcc = build.build(digits("int8"), boards.load("cortex-m4", "arm-none-eabi-gcc"), tmp_path / "gcc")
    assert by_gcc.stack_by_gcc is None
    assert by_gcc.stack_bytes
    assert by_gcc.stack_bytes <= report.stack_by_gcc


def test_targets_have_what_the_page_says_of_gcc() -> None:
    table = RELIABILITY.read_text().partition("<!-- reliability.stack_compilers -->")[2]
    rows = re.findall(r"(?m)^\| (cortex-\S+) \|.* (\d+) / (\d+) \(", table)
    assert {name: targets.load(name).gcc_stack for name, _, _ in rows} == {
        name: math.ceil(100 * int(gcc) / int(zig)) for name, gcc, zig in rows
    }


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_libraries_compile_with_the_options_that_they_were_measured_with(optimize: Optimize) -> None:
    """Without -fomit-frame-pointer and -fno-unroll-loops a run took more stack than was stated."""
    for name in ("cortex-m0plus", "cortex-m4", "cortex-m55", "x86-64-avx2"):
        target = targets.load(name)
        text = render(compile_graph(digits("float32"), target), optimize)["CMakeLists.txt"].decode()
        options = text.partition("target_compile_options(digits PRIVATE ")[2].partition(")")[0].split()
        own = [flag for flag in target.cflags if flag.startswith("-f")]
        assert options == [LEVEL[optimize], *FLOATS, *own]


def rows() -> Graph:
    """Dense layers of one row: kernels have code for pairs of rows, too."""
    net = Layers(0)
    return net.graph(net.dense(net.dense(net.input(1, 32), 16, lo=0.0), 8))


@pytest.mark.parametrize(
    ("name", "graph"),
    [("cortex-m4", rows), ("cortex-m55", lambda: quantized(rows, io="int8"))],
    ids=("float32", "int8"),
)
def test_cases_that_a_network_has_not_cost_no_stack_where_code_is_small(
    name: str, graph: Callable[[], Graph]
) -> None:
    bound, measured = depth(graph(), boards.load(name, "zig"), "size")
    assert measured <= bound
    assert Depth("", name, "size", bound, measured).is_tight


FRAMES = """\
int sink(volatile int *at);
int leaf(int x);
int caller(int x);
int by_table(int x, int which);
__attribute__((noinline)) int leaf(int x) { volatile int many[50]; many[x] = x; return sink(many) + 1; }
__attribute__((noinline)) int caller(int x) { volatile int few[10]; few[x] = x; return leaf(*few) + 1; }
static int (*const table[])(int) = {leaf, caller};
int by_table(int x, int which) { return table[which](x) + 1; }
"""


def bound_of(source: str, entry: str, folder: Path) -> int | None:
    """Compiled for Cortex-M4, where sink takes 16 bytes."""
    compiler = toolchain.find(boards.load("cortex-m4", "zig"))
    (folder / "some.c").write_text(source)
    flags = ["-Os", "-ffunction-sections", "-fdata-sections", "-ffreestanding", *compiler.stack_flags]
    warnings = compiler.run([*flags, "-c", "some.c", "-o", "some.o"], folder)
    return stack.bound_of_objects([(folder / "some.o").read_bytes()], warnings, entry, {"sink": 16})


VECTORS = """\
#include <arm_mve.h>
void sink(int32_t *at);
void run(int32x4_t v);
__attribute__((noinline)) void run(int32x4_t v)
{
    __attribute__((aligned(16))) int32_t many[4];
    vst1q_s32(many, v);
    sink(many);
}
"""


def test_what_aligns_vectors_counts(tmp_path: Path) -> None:
    """Callers align to 8 bytes, and vectors to 16: clang's size of a frame leaves out what is between."""
    compiler = toolchain.find(boards.load("cortex-m55", "zig"))
    flags = [*boards.load("cortex-m55", "zig").cflags, "-Os", "-ffunction-sections", *compiler.stack_flags]
    (tmp_path / "some.c").write_text(VECTORS)
    warnings = compiler.run([*flags, "-c", "some.c", "-o", "some.o"], tmp_path)
    objects = [(tmp_path / "some.o").read_bytes()]
    size = stack._FRAME.findall(warnings)[0][0]
    assert stack.bound_of_objects(objects, warnings, "run", {"sink": 0}) == int(size) + 8
    # Compilers before 16 say nothing of alignment: the same is assumed of every frame.
    older = warnings.replace("Function: ", "")
    assert stack.bound_of_objects(objects, older, "run", {"sink": 0}) == int(size) + 8


def test_what_aligns_vectors_of_pcs_counts() -> None:
    """A return address, a register, 48 bytes to the next 64, and a frame: as f5 of 120 bytes disassembles."""
    said = "a.c:5:6: warning: stack frame size (120) exceeds limit (0) in 'f' [-Wframe-larger-than]\n"
    layout = (
        "a.c:5:1: remark: \nFunction: f\nOffset: [SP+16], Type: Fixed, Align: 64, Size: 4\n"
        "Offset: [SP-8], Type: Spill, Align: 16, Size: 8\n"
        "Offset: [SP-120], Type: Variable, Align: {}, Size: 64\n"
        "    a @ a.c:5 [-Rpass-analysis=stack-frame-layout]\n"
    )
    assert stack._frames(said + layout.format(64), 16) == {"f": 8 + 8 + 48 + 128}
    assert stack._frames(said + layout.format(32), 16) == {"f": 120 + 16 + 24}
    assert stack._frames(said + layout.format(16), 16) == {"f": 120 + 16}
    assert stack._frames(said, 16) == {"f": 120 + 16 + 56}


def test_vectors_as_long_as_registers_count() -> None:
    """RISC-V's spilled vectors, which clang leaves out of frames: 32 bytes for each 64 bits of a register."""
    said = "c.c:4:9: warning: stack frame size (48) exceeds limit (0) in 'f' [-Wframe-larger-than]\n"
    layout = (
        "c.c:4:1: remark: \nFunction: f\nOffset: [SP-8], Type: Spill, Align: 8, Size: 8\n"
        "Offset: [SP-32], Type: Spill, Align: 8, Size: vscale x 32\n"
        "Offset: [SP-32], Type: Spill, Align: 8, Size: vscale x 16\n"
        "Offset: [SP-48], Type: Spill, Align: 8, Size: 8 [-Rpass-analysis=stack-frame-layout]\n"
    )
    assert stack._frames(said + layout, 16) == {"f": 48 + 16 + (32 + 16) * 512 // 64}


def test_calls_are_followed_through_functions_and_tables(tmp_path: Path) -> None:
    leaf, caller, by_table = (bound_of(FRAMES, name, tmp_path) for name in ("leaf", "caller", "by_table"))
    assert leaf is not None
    assert caller is not None
    assert by_table is not None
    assert 200 + 16 <= leaf <= 200 + 16 + 32
    assert leaf + 40 <= caller <= leaf + 40 + 32
    assert caller + 4 <= by_table <= caller + 16


def test_a_function_that_ends_with_another_has_given_its_frame_back(tmp_path: Path) -> None:
    source = "int leaf(int x);\nint jumps(int x, int y);\nint jumps(int x, int y) { return leaf(x + y); }\n"
    compiler = toolchain.find(boards.load("cortex-m4", "zig"))
    (tmp_path / "jumps.c").write_text(source)
    flags = ["-Os", "-ffunction-sections", *compiler.stack_flags]
    warnings = compiler.run([*flags, "-c", "jumps.c", "-o", "jumps.o"], tmp_path)
    data = (tmp_path / "jumps.o").read_bytes()
    assert stack.bound_of_objects([data], warnings, "jumps", {"leaf": 48}) == 48


def test_functions_that_come_back_to_themselves_have_no_bound(tmp_path: Path) -> None:
    source = """\
int sink(volatile int *at);
int ping(int x);
int pong(int x);
__attribute__((noinline)) int ping(int x) { volatile int at = x; return pong(x) + sink(&at); }
__attribute__((noinline)) int pong(int x) { volatile int at = x; return ping(x) - sink(&at); }
"""
    assert bound_of(source, "ping", tmp_path) is None


def test_what_assembly_pushes_counts_where_it_is_called() -> None:
    """And for the whole run, where its function is not to be seen."""
    found = stack._beneath([(("assembly",), 76, ("layer",))], {"assembly", "layer", "run"}, "run")
    assert found == {"assembly": 76}
    assert stack._beneath([(("assembly",), 76, ("layer",))], {"layer", "run"}, "run") == {"layer": 76}
    assert stack._beneath([(("assembly",), 76, ("layer",))], {"run"}, "run") == {"run": 76}


def test_functions_whose_frames_nobody_tells_are_counted(tmp_path: Path) -> None:
    """A product of floats is a function of the compiler's own, where there is no floating point."""
    compiler = toolchain.find(boards.load("cortex-m0plus", "arm-none-eabi-gcc"))
    (tmp_path / "two.c").write_text(
        "float product(float a, float b);\nfloat product(float a, float b) { return a * b; }\n"
        "float first(float a, float b);\nfloat first(float a, float b) { (void)b; return a; }\n"
    )
    compiler.run(["-O2", *compiler.stack_flags, "-c", "two.c", "-o", "two.o"], tmp_path)
    (graph,) = tmp_path.glob("*.ci")
    product, first = (stack.bound_of_call_graphs([graph], name) for name in ("product", "first"))
    assert product is not None
    assert first is not None
    assert product >= first + 64
