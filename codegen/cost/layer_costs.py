"""What each layer of a run costs: time where this machine runs the code, instructions under an emulator."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.build import layers_of
from edgekit.codegen.cost import counting
from edgekit.codegen.cost.bench import CLOCK, ROUNDS, LayerCost, built, setting, statement
from edgekit.codegen.cost.instructions import counted
from edgekit.codegen.execution import bochs, runner
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.printing.render import Optimize
from edgekit.codegen.program import Program
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.core.target import Target


def layer_costs(
    graph: Graph, target: Target, *, optimize: Optimize = "speed", progress: Progress = lambda step: None
) -> tuple[LayerCost, ...]:
    """Compile the library with a hook behind each layer, and measure what lies between them."""
    if runner.is_wasm(target) or target.gpu:
        raise EdgeKitError(
            "E0503",
            f"target {target.name} has no clock that is read behind each layer",
            hint="a target for processors shows where the work is, such as host or aarch64",
        )
    if reason := runner.why_not_here(target):
        raise EdgeKitError("E0503", reason)
    target = runner.here(target)
    if counting.can_count(target):
        program = fit(graph, target, optimize=optimize)
        progress("counting the instructions of each layer")
        counts = [layer.instructions for layer in counted(program, optimize).layers]
        return _costs(program, [None] * len(counts), counts)
    program = fit(graph, replace(target, layer_hook=True), optimize=optimize)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        progress("measuring each layer")
        main = "\n".join(_main(program))
        executable = built(program, Path(scratch), toolchain.find(target), optimize, main)
        found = _between(target, executable, len(program.lines))
    if target.startup == bochs.STARTUP:  # its clock is a count of instructions
        return _costs(program, [None] * len(found), [round(number) for number in found])
    return _costs(program, found, [None] * len(found))


def _costs(
    program: Program, times: Sequence[float | None], counts: Sequence[int | None]
) -> tuple[LayerCost, ...]:
    calls = zip(layers_of(program), times, counts, strict=True)
    return tuple(LayerCost(x.name, x.origin, x.kernel, x.macs, time, count) for x, time, count in calls)


def _between(target: Target, executable: Path, layers: int) -> list[float]:
    """What the clock went on by in each layer, at the median of the rounds."""
    done = runner.run(target, executable, [])
    if done.code:
        raise EdgeKitError("E0602", f"the benchmark ended with {done.code}\n{done.words}")
    rounds = np.frombuffer(done.out, "<f8").reshape(-1, layers)
    return [statistics.median(row) for row in rounds.T.tolist()]


def _main(program: Program) -> Iterator[str]:
    """A program that writes, for each round, how long each layer took."""
    is_pc = program.target.startup == bochs.STARTUP
    rounds = 1 if is_pc else ROUNDS
    yield "#include <stdio.h>" if is_pc else CLOCK
    yield "#define NOW() " + ("(double)__builtin_ia32_rdtsc()" if is_pc else "microseconds()")
    yield from setting(program)
    yield f"""\
static double took[{len(program.lines)}], before, reading = 1e9;
void {program.name}_layer_done(int32_t layer)
{{
    const double now = NOW();
    took[layer] += now - before - reading; /* again and again in loops, never where a branch leaves it out */
    before = NOW();
}}
int main(void)
{{
    prepare();
    for (int i = 0; i < 1000; i++) {{ /* what it takes to read the clock */
        const double first = NOW(), apart = NOW() - first;
        reading = apart < reading ? apart : reading;
    }}
    for (int i = 0; i < {rounds + rounds // 10}; i++) {{
        for (int layer = 0; layer < {len(program.lines)}; layer++)
            took[layer] = 0;
        before = NOW();
        {statement(program)}
        if (i >= {rounds // 10})
            fwrite(took, sizeof took, 1, stdout);
    }}
    return 0;
}}
"""
