"""Where constants go: EK_WEIGHTS names their section in C and in assembler, and linkers warn of neither."""

import subprocess
from pathlib import Path

import pytest
from support.nets import Net
from support.tools import require
from support.x86 import STRICT

from edgekit.codegen.compilation import elf
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.library_objects import library_sources
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.printing.render import Weights
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target
from edgekit.core.ops.dense import Dense

COMPILERS = {
    "gcc": ("gcc",),
    "clang": ("clang",),
    "bare gcc": ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
    "bare clang": ("clang", "--target=arm-none-eabi", "-mcpu=cortex-m4", "-mfloat-abi=hard"),
}
ATTRIBUTES = (
    '__attribute__((section(".flash.ext")))',
    '__attribute__((__section__(".flash.ext")))',
    '__attribute__((aligned(64), section(".flash.ext")))',
    '__attribute__((section(".flash.ext"), used))',
    '__attribute__((section(".flash.ext"))) __attribute__((aligned(64)))',
)


@pytest.fixture(scope="module")
def program() -> Program:
    net = Net()
    layer = net(Dense(), net.x(1, 64), net.random(10, 64), net.random(10), name="y")
    return compile_graph(net.done(layer).with_name("placed"), target.load("host"))


def compiled(
    program: Program, folder: Path, weights: Weights, command: tuple[str, ...], *options: str
) -> list[str]:
    """The objects of the library."""
    require(command[0])
    files = generate(program, "speed", weights)
    write(files, folder)
    names = library_sources(files)
    done = subprocess.run(
        [*command, *STRICT, "-std=c99", "-O2", "-I.", *options, "-c", *names],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [f"{Path(name).stem}.o" for name in names]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("weights", ["c", "bin"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_constants_are_in_the_section_that_is_asked_for(
    program: Program, compiler: str, weights: Weights, attribute: str, tmp_path: Path
) -> None:
    objects = compiled(program, tmp_path, weights, COMPILERS[compiler], f"-DEK_WEIGHTS={attribute}")
    sections = [section for name in objects for section in elf.sections((tmp_path / name).read_bytes())]
    assert sum(section.size for section in sections if section.name == ".flash.ext") >= program.weight_bytes


@pytest.mark.parametrize("attribute", ["", *(f"__attribute__(({x}))" for x in ("used", "aligned(8), used"))])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_constants_are_in_their_usual_section_else(
    program: Program, compiler: str, attribute: str, tmp_path: Path
) -> None:
    objects = compiled(program, tmp_path, "bin", COMPILERS[compiler], f"-DEK_WEIGHTS={attribute}")
    sections = [section for name in objects for section in elf.sections((tmp_path / name).read_bytes())]
    assert sum(section.size for section in sections if section.name == ".rodata") >= program.weight_bytes


@pytest.mark.parametrize("compiler", COMPILERS)
def test_linkers_do_not_warn(program: Program, compiler: str, tmp_path: Path) -> None:
    command = COMPILERS[compiler]
    objects = compiled(program, tmp_path, "bin", command)
    linker = require("arm-none-eabi-ld" if compiler.startswith("bare") else "ld")
    done = subprocess.run(
        [
            linker,
            "--fatal-warnings",
            "--unresolved-symbols=ignore-all",
            "-e",
            "placed_run",
            *objects,
            "-o",
            "linked",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
