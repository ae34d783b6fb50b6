"""Programs for 64-bit ARM with SME, under an emulator with exact products, at all lengths of registers."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from support.generated import STRICT, written
from support.tools import require, require_module

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.program import Program
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.target import Optimize, Target, with_runner
from edgekit.core.types import Array

NAME = "aarch64-sme"
LENGTHS = (128, 256, 512)
LONGER = 1024  # than a vector of sixteen outputs


def load(cores: int = 1) -> Target:
    """Parts for several cores are as small as may be."""
    require_module("ziglang")
    emulator = require("qemu-aarch64-sme")
    target = targets.load(NAME)
    target = replace(with_runner(target, target.runner.replace("qemu-aarch64", emulator)), cores=cores)
    return replace(target, part_macs=1) if cores > 1 else target


def build(program: Program, folder: Path, optimize: Optimize = "size", *level: str) -> Driver:
    """Compiled with strict warnings."""
    names = written([program], folder, optimize)
    return Driver([program], names, folder, toolchain.find(program.target), [*(level or ("-O1",)), *STRICT])


def with_length(driver: Driver, bits: int) -> Driver:
    """The same executable on a processor whose registers have so many bits in streaming mode."""
    target, longer = load(), copy.copy(driver)
    runner = target.runner.replace("vector-length=64", f"vector-length={bits // 8}")
    assert f"vector-length={bits // 8}" in runner
    longer.target = with_runner(target, runner)
    return longer


def check(program: Program, driver: Driver, sample: Mapping[str, Array], *lengths: int) -> None:
    """Integers as simulated, at all lengths."""
    expected = simulate.run(program.graph, sample)
    for bits in lengths or LENGTHS:
        found = with_length(driver, bits).run(program, sample)
        for output in program.graph.outputs:
            assert np.array_equal(found[output], expected[output]), (bits, program.graph.producer(output))


def check_reals(program: Program, driver: Driver, sample: Mapping[str, Array], *lengths: int) -> None:
    """As close to the simulator as sums are, what is not finite exactly so; of the same bits everywhere."""
    with np.errstate(invalid="ignore"):
        expected = simulate.run(program.graph, sample)
    first, *others = (with_length(driver, bits).run(program, sample) for bits in lengths or LENGTHS)
    for output in program.graph.outputs:
        y, producer = expected[output], program.graph.producer(output)
        largest = np.abs(y[np.isfinite(y)]).max(initial=1.0)
        np.testing.assert_allclose(first[output], y, rtol=0, atol=1e-5 * largest, err_msg=str(producer))
        for longer in others:
            assert longer[output].tobytes() == first[output].tobytes(), producer
