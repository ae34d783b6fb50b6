"""Generated code compiles clean: every kernel and whole models, as C and as C++, with gcc and with clang."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from support.generated import STRICT, Libraries, compiled
from support.tools import ROOT

from edgekit.codegen.kernels.sources import instantiate, variant_of
from edgekit.codegen.lowering.lower import lower
from edgekit.codegen.verification.verify import LEVEL
from edgekit.core import target
from edgekit.core.ops import Call
from edgekit.core.target import Optimize

HOST = target.load("host")
# In a self-test of 500 outputs clang takes four seconds to find no variable without a value; gcc looks for
# them where it optimizes.
QUICK = "-Wno-uninitialized"
COMPILERS = {
    "gcc": ("gcc", "-std=c99"),
    "clang": ("clang", "-std=c99"),
    "g++": ("g++", "-x", "c++", "-std=c++11"),
    "clang++": ("clang++", "-x", "c++", "-std=c++11"),
}
STRING_H = """\
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
"""
BOTH = pytest.mark.parametrize("optimize", ["size", "speed"])
# Each takes ten seconds for all kernels: one by itself, the other included.
SLOW = (("size", "clang"), ("speed", "clang++"))
ALL = pytest.mark.parametrize("compiler", COMPILERS)


def calls(libraries: Libraries) -> Iterator[Call]:
    for program in libraries.programs:
        if any(line.rows for line in program.lines):  # it has other calls than on whole tensors
            yield from (line.call for line in program.lines)
            continue
        for layer in lower(program.graph, HOST):
            yield from (step for step in layer.steps if isinstance(step, Call))


def test_these_models_call_every_kernel(kernels: Libraries) -> None:
    called = {variant_of(call, HOST).stem for call in calls(kernels)}
    assert {path.stem for path in (ROOT / "runtime_c" / "kernels" / "ref").glob("*.c")} <= called


@pytest.mark.parametrize(("optimize", "compiler"), [*product(["size", "speed"], ["gcc", "g++"]), *SLOW])
def test_every_kernel_compiles_clean(kernels: Libraries, optimize: Optimize, compiler: str) -> None:
    program, *flags = COMPILERS[compiler]
    flags += [*STRICT, *[QUICK] * ("clang" in compiler), "-I.", "-fsyntax-only"]
    compiled(kernels.folder[optimize], program, *flags, *kernels.sources(optimize))


@BOTH
def test_every_kernel_compiles_clean_for_chips_of_32_bits(
    kernels: Libraries, optimize: Optimize, tmp_path: Path
) -> None:
    """Without any C library: memcpy and memset are the user's."""
    (tmp_path / "string.h").write_text(STRING_H)
    chip = ("--target=thumbv6m-none-eabi", "-mcpu=cortex-m0", "-ffreestanding", f"-I{tmp_path}")
    flags = ("-std=c99", *STRICT, QUICK, *chip, "-I.", "-fsyntax-only")
    compiled(kernels.folder[optimize], "clang", *flags, *kernels.sources(optimize))


@ALL
@BOTH
def test_models_compile_clean(models: Libraries, optimize: Optimize, compiler: str) -> None:
    program, *flags = COMPILERS[compiler]
    compiled(
        models.folder[optimize], program, *flags, *STRICT, "-I.", "-fsyntax-only", *models.sources(optimize)
    )


@BOTH
def test_optimizers_find_nothing_to_warn_of(models: Libraries, optimize: Optimize) -> None:
    """What only the flow of the code tells: variables without a value, loops that go too far."""
    flags = ("-std=c99", *STRICT, LEVEL[optimize], "-I.", "-c")
    compiled(models.folder[optimize], "gcc", *flags, *models.sources(optimize))


def test_a_kernel_includes_all_that_it_uses(kernels: Libraries) -> None:
    """Each file by itself; one of those that are made from the same text and include the same."""
    made = [(call.kernel, instantiate(call, HOST)) for call in calls(kernels)]
    alike = {(kernel, instance.supports): instance for kernel, instance in made}
    files = sorted({f"edgekit/{instance.name}.c" for instance in alike.values()})
    compiled(kernels.folder["size"], "gcc", "-std=c99", *STRICT, "-I.", "-fsyntax-only", *files)
