"""Programs for x86-64 under test: compiled strictly, run here or on an emulated processor, and compared."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.generated import written
from support.tools import require

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution import runner
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.program import Program
from edgekit.codegen.verification.selftest import tolerance
from edgekit.codegen.verification.verify import compare
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.target import Optimize, Target
from edgekit.core.types import Array

# Where Bochs has no AVX-VNNI: compilers make none of its instructions, those of kernels are replaced.
_NO_VNNI = "-mno-avxvnni"
# Without a C library, in an emulator, there are none: there the driver sees what is written beside of memory.
SANITIZED = ("-fsanitize=address", "-DEK_GUARD=0")
# gcc reads assembler files as C90, which has no variadic macros; C99 has.
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wno-variadic-macros", "-Wconversion", "-Werror")


# These compilers on machines of another kind, whose emulator finds no C library of x86-64.
_CROSS = {"gcc": "x86_64-linux-gnu-gcc", "clang": "clang -target x86_64-linux-gnu"}
_WITH_LIBRARY = ("-static", "-no-pie")


def load(name: str, compiler: str = "gcc") -> Target:
    """A target with one compiler; a case is skipped where neither the processor nor an emulator runs it."""
    target = targets.load(name)
    if target.machine and target.machine != platform.machine():
        own: tuple[str, ...] = (_CROSS[compiler],)
        target = replace(target, compilers=own, cflags=(*target.cflags, *_WITH_LIBRARY))
        require("x86_64-linux-gnu-gcc")  # which brings the headers, too
    else:
        own = tuple(command for command in target.compilers if command.split()[0] == compiler)
        target = replace(target, compilers=own)
    require(target.compilers[0].split()[0])
    if target.runner != runner.NATIVE:
        require(target.runner)
    elif is_emulated(target):
        require(target.emulator.split()[0])
        if runner.why_not_here(target):
            flags = (*target.cflags, _NO_VNNI)
            target = replace(target, emulator=targets.load("x86-64-avx512").emulator, cflags=flags)
    if reason := runner.why_not_here(target):
        pytest.skip(reason)
    return target


def is_emulated(target: Target) -> bool:
    """Do programs run on a processor that this machine's is not?"""
    return not runner.is_native(target)


LEVEL = {"size": "-Os", "speed": "-O2"}


def drive(program: Program, folder: Path, optimize: Optimize, level: Sequence[str] = ()) -> Driver:
    """What runs the program, compiled with these flags."""
    return drive_all([program], folder, optimize, level)


def drive_all(
    programs: Sequence[Program], folder: Path, optimize: Optimize, level: Sequence[str] = ()
) -> Driver:
    """One executable of programs, and a processor. They share kernels: copies for layers compile slowly."""
    target, level = programs[0].target, level or (LEVEL[optimize],)
    names = written(programs, folder, optimize, share=True)
    if _NO_VNNI in target.cflags:  # its products are those of AVX-512 in other bytes
        for path in folder.rglob("*.[ch]"):
            text = path.read_bytes()
            if b"{vex%}" in text:
                path.write_bytes(text.replace(b"{vex%}", b"{evex%}"))
    if is_emulated(target):
        level = [word for word in level if word not in SANITIZED]
    flags = [*STRICT, *level, *target.cflags]
    return Driver(programs, names, folder, toolchain.find(target), flags)


def check(program: Program, driver: Driver, samples: Sequence[dict[str, Array]]) -> None:
    for sample in samples:
        check_results(program, driver.run(program, sample), simulate.run(program.graph, sample))


def check_results(program: Program, found: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    """Integers are equal, and floats as near as rounding allows."""
    for port in program.outputs:
        error, _, exact = compare(found[port.name], expected[port.name])
        is_float = port.type.dtype.is_float
        assert exact or (is_float and error <= tolerance(port.type.dtype, expected[port.name])), port.name


def called(program: Program) -> set[str]:
    """The kernels that are none of portable C."""
    return {line.kernel.function for line in program.lines if not line.kernel.function.endswith("__ref")}
