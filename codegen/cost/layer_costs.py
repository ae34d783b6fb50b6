"""What each layer of a run costs: time where this machine runs the code, instructions under an emulator."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.build import layers_of
from edgekit.codegen.cost import counting
from edgekit.codegen.cost.bench import CLOCK, ROUNDS, LayerCost, built, setting, statement
from edgekit.codegen.cost.instructions import counted
from edgekit.codegen.execution import bochs, runner
from edgekit.codegen.execution.driver import BINARY
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.program import Program
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.core.target import Optimize, Target


@dataclass(frozen=True)
class _Clock:
    """What a program reads after each layer: declarations, an expression in C, and how many runs it takes."""

    declared: str
    now: str
    rounds: int


_TIME = _Clock(CLOCK, "microseconds()", ROUNDS)
_COUNTERS = {  # by start code: counts of instructions, which are the same in each run
    bochs.STARTUP: _Clock("#include <stdio.h>", "(double)__builtin_ia32_rdtsc()", 1),
    "wasm": _Clock(
        "#include <stdio.h>\n"
        '__attribute__((import_module("host"), import_name("operations"))) double host_operations(void);',
        "host_operations()",
        1,
    ),
}


def layer_costs(
    graph: Graph, target: Target, *, optimize: Optimize = "speed", progress: Progress = lambda step: None
) -> tuple[LayerCost, ...]:
    """Compile the library with a hook behind each layer, and measure what lies between them."""
    if target.gpu:
        raise EdgeKitError(
            "E0503",
            f"target {target.name} has no clock that is read behind each layer",
            hint="a target for processors shows where the work is, such as host or aarch64",
        )
    if runner.is_wasm(target):
        target = counting.as_counted(target)
    if reason := runner.why_not_here(target):
        raise EdgeKitError("E0503", reason)
    target = runner.here(target)
    program = fit(graph, countable(target), optimize=optimize)
    progress("measuring each layer")
    if runner.is_native(target):
        return _costs(program, layer_times(program, optimize), [None] * len(program.lines))
    return _costs(program, [None] * len(program.lines), layer_counts(program, optimize))


def layer_times(program: Program, optimize: Optimize) -> list[float]:
    """Microseconds of each kernel call of a program with a hook behind layers, which this machine runs."""
    return _by_clock(program, optimize, _TIME)


def countable(target: Target) -> Target:
    """The target as programs for `layer_counts` need it: with a hook where no emulator marks layers."""
    return target if counting.can_count(target) else replace(target, layer_hook=True)


def layer_counts(program: Program, optimize: Optimize, *, by_registers: bool = False) -> list[int]:
    """Instructions of each kernel call of a program of a countable target, in emulators. By registers, those
    of RISC-V for vectors count once more for each register, which takes as long."""
    if counting.can_count(program.target):
        found = counted(program, optimize, by_registers=by_registers)
        return [layer.instructions or 0 for layer in found.layers]
    return [round(n) for n in _by_clock(program, optimize, _COUNTERS[program.target.startup])]


def _by_clock(program: Program, optimize: Optimize, clock: _Clock) -> list[float]:
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        compiler, main = toolchain.find(program.target), _main(program, clock)
        executable = built(program, Path(scratch), compiler, optimize, main)
        return _between(program.target, executable, len(program.lines))


def _costs(
    program: Program, times: Sequence[float | None], counts: Sequence[int | None]
) -> tuple[LayerCost, ...]:
    functions = (line.kernel.function for line in program.lines)
    calls = zip(layers_of(program), functions, times, counts, strict=True)
    return tuple(
        LayerCost(x.name, x.origin, x.kernel, function, x.macs, time, count)
        for x, function, time, count in calls
    )


def _between(target: Target, executable: Path, layers: int) -> list[float]:
    """What the clock went on by in each layer, at the median of the rounds."""
    done = runner.run(target, executable, [])
    if done.code:
        raise EdgeKitError("E0602", f"the benchmark ended with {done.code}\n{done.words}")
    rounds = np.frombuffer(done.out, "<f8").reshape(-1, layers)
    return [statistics.median(row) for row in rounds.T.tolist()]


def _main(program: Program, clock: _Clock) -> str:
    """A program that writes, for each round, how much each layer took."""
    rounds, warm = clock.rounds, clock.rounds // 10
    memory = "\n".join(setting(program))
    return f"""\
{clock.declared}
{BINARY}{memory}
static double took[{len(program.lines)}], before, reading = 1e9;
void {program.name}_layer_done(int32_t layer)
{{
    const double now = {clock.now};
    took[layer] += now - before - reading; /* again and again in loops, never where a branch leaves it out */
    before = {clock.now};
}}
int main(void)
{{
    EK_BINARY();
    prepare();
    for (int i = 0; i < 1000; i++) {{ /* what it takes to read the clock */
        const double first = {clock.now}, apart = {clock.now} - first;
        reading = apart < reading ? apart : reading;
    }}
    for (int i = 0; i < {rounds + warm}; i++) {{
        for (int layer = 0; layer < {len(program.lines)}; layer++)
            took[layer] = 0;
        before = {clock.now};
        {statement(program)}
        if (i >= {warm})
            fwrite(took, sizeof took, 1, stdout);
    }}
    return 0;
}}
"""
