"""The bound of the stack holds: what a run leaves below a painted stack on an emulated board is less."""

import functools
from pathlib import Path

import pytest
from support import boards
from support.tools import ROOT

from edgekit import api
from edgekit.codegen import runner, toolchain
from edgekit.codegen.build import compile_objects, generate, measure
from edgekit.codegen.program import compile_graph
from edgekit.codegen.publish import write
from edgekit.codegen.render import Optimize
from edgekit.ir import Graph

DIGITS = ROOT / "examples" / "digits"
# Both compilers tell of the stack, each in its own way; a Cortex-M0+ has no floating point.
CASES = [("cortex-m4", "zig"), ("cortex-m55", "zig"), ("cortex-m0plus", "zig")]
CASES += [("cortex-m4", "arm-none-eabi-gcc"), ("cortex-m0plus", "arm-none-eabi-gcc")]
# Paints what lies below its frame, runs the model, and looks how far down the paint is gone.
MAIN = """\
#include "digits.h"
#include <stdio.h>
static uint8_t x[1024], y[64];
static uint64_t arena[DIGITS_ARENA_SIZE / 8 + 1];
int main(void)
{{
    volatile uint8_t *const top = __builtin_frame_address(0);
    for (uint32_t i = 256; i < 16384; i++)
        top[-(int32_t)i] = 0xA5;
    digits_run((const void *)x, (void *)y, arena);
    uint32_t depth = 16383;
    while (depth > 256 && top[-(int32_t)depth] == 0xA5)
        depth--;
    fwrite(&depth, 4, 1, stdout);
    return 0;
}}
"""


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
    compiler = toolchain.find(target)
    program = compile_graph(digits(dtype), target)
    files = generate(program, optimize)
    write(files, tmp_path)
    objects = compile_objects(program, files, tmp_path, compiler, optimize)
    sizes = measure(program, objects, tmp_path, compiler)
    assert sizes is not None
    assert sizes.stack is not None
    (tmp_path / "main.c").write_text(MAIN.format())
    flags = ["-O1", "-I.", *target.cflags, *runner.compile_flags(target)]
    compiler.run(
        [*flags, *objects, "main.c", "-o", "main", *runner.link_flags(target, compiler, tmp_path)], tmp_path
    )
    done = runner.run(target, tmp_path / "main", [])
    assert done.code == 0
    used = int.from_bytes(done.out, "little")
    # 256 bytes are not painted, and the frame that paints is part of what is used.
    assert used <= max(sizes.stack + 64, 256)
    assert sizes.stack < 4096


def test_functions_whose_frames_nobody_tells_are_counted(tmp_path: Path) -> None:
    """A product of floats is a function of the compiler's own, where there is no floating point."""
    compiler = toolchain.find(boards.load("cortex-m0plus", "arm-none-eabi-gcc"))
    (tmp_path / "two.c").write_text(
        "float product(float a, float b);\nfloat product(float a, float b) { return a * b; }\n"
        "float first(float a, float b);\nfloat first(float a, float b) { (void)b; return a; }\n"
    )
    compiler.run(["-O2", *compiler.stack_flags, "-c", "two.c", "-o", "two.o"], tmp_path)
    (graph,) = tmp_path.glob("*.ci")
    product, first = (toolchain.stack_bound([graph], name) for name in ("product", "first"))
    assert product is not None
    assert first is not None
    assert product >= first + 64
