"""Libraries for microcontrollers on emulated boards: compiled without a warning, then run and compared."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from support.generated import written
from support.tools import require, require_module

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution import runner
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.program import Program
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.target import Optimize, Target
from edgekit.core.types import Array

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-ffp-contract=off")


def load(name: str, compiler: str) -> Target:
    """A target with one of its compilers."""
    require("qemu-system-arm")
    if compiler == "zig":
        require_module("ziglang")
    else:
        require(compiler)
    target = targets.load(name)
    return replace(target, compilers=tuple(c for c in target.compilers if c.startswith(compiler)))


def drive(program: Program, folder: Path, optimize: Optimize, level: str) -> Driver:
    """The library in a program that runs it."""
    target, compiler = program.target, toolchain.find(program.target)
    names = written([program], folder, optimize)
    flags = [level, "-std=c99", *target.cflags, *runner.compile_flags(target)]
    objects = [f"{Path(name).stem}.o" for name in names]
    for name, made in zip(names, objects, strict=True):
        compiler.run([*flags, *STRICT, "-I.", "-c", name, "-o", made], folder)
    return Driver([program], objects, folder, compiler, flags)


def check(program: Program, driver: Driver, samples: Sequence[dict[str, Array]]) -> None:
    """The integers of the simulator, all of them."""
    for sample in samples:
        found, expected = driver.run(program, sample), simulate.run(program.graph, sample)
        for output in program.graph.outputs:
            assert np.array_equal(found[output], expected[output]), output
