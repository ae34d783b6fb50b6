"""Generated code compiles clean: every kernel and whole models, as C and as C++, with gcc and with clang."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.every_kernel import graphs
from support.generated import STRICT, compiled
from support.tools import ROOT, require_shared

from edgekit import target
from edgekit.builder import Builder
from edgekit.codegen.build import generate
from edgekit.codegen.kernels import instance_name
from edgekit.codegen.lower import lower
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.publish import write
from edgekit.codegen.render import Optimize
from edgekit.codegen.verify import LEVEL
from edgekit.converters import from_onnx, from_tflite
from edgekit.ir import DType, Graph, Type
from edgekit.ops import Call
from edgekit.ops.arithmetic import Neg
from edgekit.passes.simplify import simplify

HOST = target.load("host")
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
ALL = pytest.mark.parametrize("compiler", COMPILERS)


@dataclass(frozen=True)
class Folders:
    """Libraries for each way to optimize, side by side in one folder; they share kernels."""

    programs: list[Program]
    path: dict[Optimize, Path]

    def sources(self, optimize: Optimize) -> list[str]:
        """What is to compile: models, weights, self-tests. The kernels of `size` are one source: each of
        thousands would cost the start of a compiler."""
        folder = self.path[optimize]
        return sorted(path.name for path in folder.glob("*.c"))


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """The operators, in models that together call every kernel."""
    return written([*graphs(), empty()], tmp_path_factory)


@pytest.fixture(scope="module", params=["examples", "mlperf_tiny"])
def models(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """The examples, which are float, and int8 networks."""
    if request.param == "examples":
        found = [from_onnx.convert(path) for path in sorted((ROOT / "examples").glob("*/*.onnx"))]
    else:
        folder = require_shared("models/mlperf_tiny")
        found = [from_tflite.convert(folder / f"{name}.tflite") for name in ("kws_ref_model", "ad01_int8")]
    return written([simplify(graph) for graph in found], tmp_path_factory)


def written(found: list[Graph], factory: pytest.TempPathFactory) -> Folders:
    programs = [compile_graph(graph, HOST) for graph in found]
    folders: dict[Optimize, Path] = {}
    for optimize in ("size", "speed"):
        folders[optimize] = factory.mktemp(optimize)
        for program in programs:
            write(generate(program, optimize, weights="c"), folders[optimize])
    kernels = sorted(path.name for path in folders["size"].glob("edgekit/*.c"))
    (folders["size"] / "kernels.c").write_text("".join(f'#include "edgekit/{name}"\n' for name in kernels))
    return Folders(programs, folders)


def empty() -> Graph:
    """Nothing in, nothing out."""
    b = Builder()
    x = b.input("x", Type(DType.F32, (2, 0)))
    return b.graph("empty", [x], [b.one(Neg(), x)])


def calls() -> Iterator[Call]:
    for graph in graphs():
        yield from (step for layer in lower(graph, HOST) for step in layer.steps if isinstance(step, Call))


def test_these_models_call_every_kernel() -> None:
    called = {name for call in calls() for name in (call.kernel, instance_name(call))}
    assert {path.stem for path in (ROOT / "runtime_c" / "kernels" / "ref").glob("*.c")} <= called


@ALL
@BOTH
def test_every_kernel_compiles_clean(kernels: Folders, optimize: Optimize, compiler: str) -> None:
    program, *flags = COMPILERS[compiler]
    compiled(
        kernels.path[optimize], program, *flags, *STRICT, "-I.", "-fsyntax-only", *kernels.sources(optimize)
    )


@BOTH
def test_every_kernel_compiles_clean_for_chips_of_32_bits(kernels: Folders, optimize: Optimize) -> None:
    """Without any C library: memcpy and memset are the user's."""
    folder = kernels.path[optimize]
    (folder / "bare").mkdir(exist_ok=True)
    (folder / "bare" / "string.h").write_text(STRING_H)
    chip = ("--target=thumbv6m-none-eabi", "-mcpu=cortex-m0", "-ffreestanding", "-Ibare")
    flags = ("-std=c99", *STRICT, *chip, "-I.", "-fsyntax-only")
    compiled(folder, "clang", *flags, *kernels.sources(optimize))


@ALL
@BOTH
def test_models_compile_clean(models: Folders, optimize: Optimize, compiler: str) -> None:
    program, *flags = COMPILERS[compiler]
    compiled(
        models.path[optimize], program, *flags, *STRICT, "-I.", "-fsyntax-only", *models.sources(optimize)
    )


@BOTH
def test_optimizers_find_nothing_to_warn_of(models: Folders, optimize: Optimize) -> None:
    """What only the flow of the code tells: variables without a value, loops that go too far."""
    flags = ("-std=c99", *STRICT, LEVEL[optimize], "-I.", "-c")
    compiled(models.path[optimize], "gcc", *flags, *models.sources(optimize))


def test_a_kernel_includes_all_that_it_uses(kernels: Folders) -> None:
    """Each file by itself; one of those that are made from the same text and include the same."""
    alike = {}
    for program in kernels.programs:
        for layer in lower(program.graph, HOST):
            alike |= {step.kernel: step for step in layer.steps if isinstance(step, Call)}
    files = sorted({f"edgekit/{instance_name(call)}.c" for call in alike.values()})
    compiled(kernels.path["size"], "gcc", "-std=c99", *STRICT, "-I.", "-fsyntax-only", *files)
