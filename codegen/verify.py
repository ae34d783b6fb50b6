"""Runs a compiled library here and compares it with the simulator, value by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgekit import simulate
from edgekit.codegen import runner, toolchain, wasm
from edgekit.codegen.driver import FLAGS, Driver
from edgekit.codegen.program import Program
from edgekit.codegen.render import Optimize
from edgekit.codegen.selftest import tolerance
from edgekit.errors import EdgeKitError, raise_all
from edgekit.ir import Array, Type

_SECONDS = 300
_WHOSE_FAULT = "a fault of EdgeKit or of the compiler: please report it"
LEVEL = {"size": "-Os", "speed": "-O3"}
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Agreement:
    """How close compiled code and simulator are in one output, over all samples."""

    name: str
    type: Type
    max_error: float  # absolute
    relative_error: float  # of the largest value that the simulator gives
    exact: bool


@dataclass(frozen=True)
class Verification:
    """What was compared; that it exists says that every output was within its tolerance."""

    samples: int
    compiler: str
    outputs: tuple[Agreement, ...]

    @property
    def max_error(self) -> float:
        return max((o.max_error for o in self.outputs), default=0.0)

    @property
    def relative_error(self) -> float:
        return max((o.relative_error for o in self.outputs), default=0.0)

    @property
    def exact(self) -> bool:
        return all(o.exact for o in self.outputs)


def drive(
    program: Program, sources: Sequence[str], folder: Path, compiler: toolchain.Compiler, optimize: Optimize
) -> Driver:
    """Make a program that runs the library, from its sources or object files in `folder`."""
    if reason := runner.why_not_here(program.target):
        raise EdgeKitError("E0503", reason)
    return Driver([program], sources, folder, compiler, [LEVEL[optimize], *program.target.cflags])


def random_samples(program: Program, count: int = 3) -> list[Mapping[str, Array]]:
    """Seeded inputs: the same in every verification."""
    return [simulate.random_inputs(program.graph, seed) for seed in range(count)]


def verify(
    program: Program,
    driver: Driver,
    compiler: toolchain.Compiler,
    sources: Sequence[str],
    samples: Sequence[Mapping[str, Array]],
    tell: Tell = lambda step: None,
) -> Verification:
    """Run the compiled library on the samples and compare, then its self-test with these sources or objects;
    E0601 names every output that is off. Where it has states, the samples are the steps of one stream."""
    worst = {port.name: Agreement(port.name, port.type, 0.0, 0.0, True) for port in program.outputs}
    simulated, compiled = simulate.run_each(program.graph, samples), driver.run_each(program, samples)
    for i in range(len(samples)):
        tell(f"verifying, sample {i + 1} of {len(samples)}")
        expected, found = next(simulated), next(compiled)
        faults = []
        for port in program.outputs:
            error, scale, same = compare(found[port.name], expected[port.name])
            known = worst[port.name]
            worst[port.name] = Agreement(
                port.name,
                port.type,
                max(known.max_error, error),
                max(known.relative_error, error / scale if scale else error),
                known.exact and same,
            )
            if error > tolerance(port.type.dtype, expected[port.name]):
                faults.append(_off(port.name, error, f"sample {i}, compiler {compiler.name}"))
        raise_all(faults)
    tell("running the self-test")
    _self_test(program, sources, driver.executable.parent, compiler)
    return Verification(len(samples), compiler.name, tuple(worst.values()))


def _self_test(program: Program, sources: Sequence[str], folder: Path, compiler: toolchain.Compiler) -> None:
    """Run the self-test that comes with the library, as a firmware would."""
    name = program.name
    main = f"""#include "{name}.h"
int {name}_selftest(void *arena);
static unsigned char arena[{name.upper()}_ARENA_SIZE + 1] __attribute__((aligned({program.target.align})));
int main(void)
{{
    return {name}_selftest(arena);
}}
"""
    (folder / "selftest_main.c").write_text(main)
    target = runner.here(program.target)
    files = [*sources, f"{name}_selftest.c", "selftest_main.c", "-o", runner.executable("selftest")]
    # Without optimization zig adds checks, and a megabyte to explain them.
    flags = [*FLAGS, "-O1", *target.cflags, *runner.compile_flags(target)]
    flags += wasm.start_flags([program])
    compiler.run([*flags, *files, *runner.link_flags(target, compiler, folder)], folder)
    made = folder / runner.executable("selftest")
    code = runner.run(target, made, [], seconds=_SECONDS, name=f"the self-test of {name}").code
    if code:
        raise EdgeKitError(
            "E0601", f"the self-test of {name} fails ({code})", f"compiler {compiler.name}", _WHOSE_FAULT
        )


def _off(output: str, error: float, where: str) -> EdgeKitError:
    message = f"the compiled code differs from the simulator by {error:.3g} in output {output}"
    return EdgeKitError("E0601", message, where, _WHOSE_FAULT)


def compare(found: Array, expected: Array) -> tuple[float, float, bool]:
    """(largest difference, largest expected value, bitwise equal). NaN equals NaN, inf equals inf."""
    a, b = found.astype(np.float64), expected.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, np.abs(a - b))
    difference = np.where(np.isnan(difference), np.inf, difference)
    scale = np.abs(b[np.isfinite(b)]).max(initial=0.0)
    return float(difference.max(initial=0.0)), float(scale), bool(found.tobytes() == expected.tobytes())
