"""Runs a compiled library here and compares it with the simulator, value by value; misuse of memory is caught too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgekit import simulate
from edgekit.codegen import toolchain
from edgekit.codegen.driver import Driver
from edgekit.codegen.program import Program
from edgekit.codegen.render import Optimize, sources
from edgekit.codegen.selftest import tolerance
from edgekit.errors import EdgeKitError
from edgekit.ir import Array

_LEVEL = {"size": "-Os", "speed": "-O3"}


@dataclass(frozen=True)
class Verification:
    """The largest difference between compiled code and simulator, over `samples` random inputs."""

    samples: int
    max_error: float  # absolute, over all outputs
    relative_error: float  # of the output's largest value
    exact: bool


def verify(
    program: Program,
    files: Mapping[str, bytes],
    folder: Path,
    compiler: toolchain.Compiler,
    optimize: Optimize,
    samples: int = 3,
) -> Verification:
    """Compile the library in `folder` (where its files are) with a driver, run it on seeded inputs, compare."""
    names = [s for s in sources(files, optimize) if not s.endswith("_selftest.c")]
    driver = Driver([program], names, folder, compiler, [_LEVEL[optimize], *program.target.cflags])
    worst = relative = 0.0
    exact = True
    for seed in range(samples):
        inputs = simulate.random_inputs(program.graph, seed)
        expected = simulate.run(program.graph, inputs)
        found = driver.run(program, inputs)
        for port in program.outputs:
            error, scale, same = compare(found[port.name], expected[port.name])
            exact &= same
            worst, relative = max(worst, error), max(relative, error / scale if scale else error)
            if error > tolerance(port.type.dtype, expected[port.name]):
                raise EdgeKitError(
                    "E0601",
                    f"the compiled code differs from the simulator by {error:.3g} in output {port.name}",
                    f"seed {seed}, compiler {compiler.name}",
                    "the library was not written; this is a fault of EdgeKit or of the compiler: please report it",
                )
    return Verification(samples, worst, relative, exact)


def compare(found: Array, expected: Array) -> tuple[float, float, bool]:
    """(largest difference, largest expected value, bitwise equal). NaN equals NaN, inf equals inf."""
    a, b = found.astype(np.float64), expected.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, np.abs(a - b))
    difference = np.where(np.isnan(difference), np.inf, difference)
    scale = np.abs(b[np.isfinite(b)]).max(initial=0.0)
    return float(difference.max(initial=0.0)), float(scale), bool(found.tobytes() == expected.tobytes())
