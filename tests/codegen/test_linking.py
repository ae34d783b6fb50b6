"""Several libraries in one program: they share kernels of one text, and keep others apart, in any form."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.generated import STRICT, kernel_sources
from support.tools import require

from edgekit.codegen.compilation.publish import write
from edgekit.codegen.printing.render import render, sources
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target
from edgekit.core.builder import Builder
from edgekit.core.ir import Source
from edgekit.core.ops.dense import Dense
from edgekit.core.target import Optimize
from edgekit.core.types import DType, Type

SHARED = "-DEK_SHARE_KERNELS=1"
MAIN = """\
#include "one/one.h"
#include "two/two.h"
int main(void)
{
    static const float x[2] = {1.0f, 2.0f};
    static float y[1], z[1], arena[2];
    one_run(x, y, arena);
    two_run(x, z, arena);
    return (int)y[0] * 10 + (int)z[0];
}
"""
ARM = ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-ffreestanding")
LINK = {"arm-none-eabi-gcc": ("-nostdlib", "-lgcc", "-Wl,--entry=main")}
COMPILERS = pytest.mark.parametrize("compiler", [("gcc",), ("clang",), ARM], ids=lambda argv: argv[0])
FORMS = pytest.mark.parametrize(
    ("form", "order"), [*product(("objects", "archives"), (("one", "two"), ("two", "one")))]
)


def library(name: str, weight: float) -> Program:
    """The sum of two numbers, each times the weight."""
    b = Builder()
    x = b.input("x", Type(DType.F32, (1, 2)))
    w = b.const(np.full((1, 2), weight, np.float32), hint="w")
    bias = b.const(np.zeros(1, np.float32), hint="bias")
    y = b.one(Dense(), x, w, bias, name="y")
    return compile_graph(b.graph(name, [x], [y], Source(file=f"{name}.onnx")), target.load("host"))


def of_another_version(program: Program) -> Program:
    """The same library with a kernel of another text, whose results are larger by one."""
    lines = []
    for line in program.lines:
        text = re.sub(r"= b\[o\]", "= b[o] + 1.0f", line.kernel.source)
        assert text != line.kernel.source
        lines.append(replace(line, kernel=replace(line.kernel, source=text)))
    return replace(program, lines=tuple(lines))


def run(argv: Sequence[str], folder: Path) -> str:
    done = subprocess.run(
        [require(argv[0]), *argv[1:]], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def linked(
    programs: Sequence[Program],
    folder: Path,
    compiler: Sequence[str],
    form: str,
    order: Sequence[str],
    optimize: Optimize = "size",
    *flags: str,
) -> Path:
    """A program that uses both libraries, which are compiled separately, with their kernels if shared."""
    parts: dict[str, list[str]] = {}
    for program in programs:
        files = render(program, optimize)
        write(files, folder / program.name)
        parts[program.name] = []
        shared = kernel_sources(files) if SHARED in flags else []
        for k, name in enumerate([*sources(files), *shared]):
            made = f"{program.name}_{k}.o"
            run(
                [*compiler, *STRICT, "-std=c99", "-Os", *flags, "-c", f"{program.name}/{name}", "-o", made],
                folder,
            )
            parts[program.name].append(made)
    if form == "archives":
        for name, objects in parts.items():
            run(["ar", "rc", f"lib{name}.a", *objects], folder)
            parts[name] = [f"lib{name}.a"]
    (folder / "main.c").write_text(MAIN)
    ends = LINK.get(compiler[0], ())
    run(
        [*compiler, "-I.", "main.c", *(part for name in order for part in parts[name]), *ends, "-o", "main"],
        folder,
    )
    return folder / "main"


def kernels(program: Path) -> list[str]:
    return sorted(
        re.findall(r"\b(ek_dense\w*__ref\w*)$", run(["nm", program.name], program.parent), re.MULTILINE)
    )


def result(program: Path) -> int:
    return subprocess.run([program], check=False).returncode


@COMPILERS
@FORMS
def test_two_models_share_a_kernel(
    compiler: tuple[str, ...], form: str, order: tuple[str, ...], tmp_path: Path
) -> None:
    program = linked(
        [library("one", 1.0), library("two", 2.0)], tmp_path, compiler, form, order, "size", SHARED
    )
    assert len(kernels(program)) == 1
    if compiler != ARM:
        assert result(program) == 36


@COMPILERS
@FORMS
def test_libraries_of_two_versions_keep_their_kernels(
    compiler: tuple[str, ...], form: str, order: tuple[str, ...], tmp_path: Path
) -> None:
    both = [library("one", 1.0), of_another_version(library("two", 2.0))]
    program = linked(both, tmp_path, compiler, form, order, "size", SHARED)
    assert len(kernels(program)) == 2
    if compiler != ARM:
        assert result(program) == 37


@pytest.mark.parametrize("form", ["objects", "archives"])
def test_without_weak_symbols_each_library_has_its_own_kernels(form: str, tmp_path: Path) -> None:
    both = [library("one", 1.0), of_another_version(library("two", 2.0))]
    program = linked(both, tmp_path, ("gcc",), form, ("two", "one"), "size", SHARED, "-DEK_HAS_WEAK=0")
    assert result(program) == 37


@pytest.mark.parametrize("form", ["objects", "archives"])
@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_libraries_with_kernels_of_their_own_link_as_well(
    form: str, optimize: Optimize, tmp_path: Path
) -> None:
    both = [library("one", 1.0), of_another_version(library("two", 2.0))]
    assert result(linked(both, tmp_path, ("gcc",), form, ("two", "one"), optimize)) == 37


@pytest.mark.parametrize("optimize", ["size", "speed"])
@pytest.mark.parametrize("changed", ["edgekit/dense_f32.h", "one.h", "one_weights.h"])
def test_files_of_another_build_are_refused_with_the_command(
    optimize: Optimize, changed: str, tmp_path: Path
) -> None:
    files = render(library("one", 1.0), optimize)
    text = re.sub(rb"_INTERFACE 0x\w+", b"_INTERFACE 0x00000000", files[changed])
    assert text != files[changed]
    write({**files, changed: text}, tmp_path)
    command = [require("gcc"), "-fsyntax-only", "one.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "run `edgekit build one.onnx` again" in done.stderr


def test_a_changed_layout_or_order_changes_the_interface() -> None:
    """Not only the declaration: where working memory or a layout is another one, callers are others."""
    kernel = library("one", 1.0).lines[0].kernel
    assert re.fullmatch(r"[0-9a-f]{8}", kernel.interface)
    assert f"#define {kernel.macro} 0x{kernel.interface}" in kernel.header
    assert of_another_version(library("one", 1.0)).lines[0].kernel.interface == kernel.interface
