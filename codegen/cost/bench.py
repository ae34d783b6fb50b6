"""What one run costs: time where an engine or this machine runs the code, instructions under an emulator."""

from __future__ import annotations

import re
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgekit.codegen.compilation import toolchain, wasm
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.cost import counting
from edgekit.codegen.entries import with_entries
from edgekit.codegen.execution import bochs, runner
from edgekit.codegen.execution.driver import BINARY, FLAGS
from edgekit.codegen.gpu import host
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.printing.render import render, sources
from edgekit.codegen.program import Port, Program
from edgekit.codegen.verification.verify import LEVEL
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.core.simulate import check_work
from edgekit.core.target import Optimize, Target

ROUNDS = 200


@dataclass(frozen=True)
class LayerCost:
    """One kernel call of a run."""

    name: str  # in the generated C
    origin: str  # the layer of the source model
    kernel: str
    function: str  # the kernel that was selected
    macs: int
    microseconds: float | None  # median
    instructions: int | None


@dataclass(frozen=True)
class Bench:
    """What was measured: time, instructions, or both."""

    name: str
    target: str
    optimize: str
    compiler: str
    macs: int
    rounds: int
    microseconds: float | None  # median
    fastest: float | None
    slowest: float | None
    instructions: int | None
    layers: tuple[LayerCost, ...] = ()  # where they were asked for
    entries: tuple[Bench, ...] = ()  # of the same library, each under its own name

    @property
    def instructions_per_mac(self) -> float | None:
        return self.instructions / self.macs if self.instructions is not None and self.macs else None


def bench(
    graph: Graph,
    target: Target,
    *,
    optimize: Optimize = "speed",
    entries: Mapping[str, Graph] | None = None,
    progress: Progress = lambda step: None,
) -> Bench:
    """Compile the library and measure one run of it, and one of each entry beside it."""
    if reason := runner.why_not_here(target):
        raise EdgeKitError("E0503", reason)
    for measured in (graph, *(entries or {}).values()):
        check_work(measured)
    target = runner.here(target)
    library = with_entries(fit(graph, target, optimize=optimize), entries or {})
    main = _measured(library, library, optimize, progress)
    names = entries or {}
    others = (_measured(library, entry, optimize, progress) for entry in library.entries)
    named = (replace(found, name=name) for name, found in zip(names, others, strict=True))
    return replace(main, entries=tuple(named))


def _measured(library: Program, program: Program, optimize: Optimize, progress: Progress) -> Bench:
    """A run of one entry."""
    target = library.target
    compiler = toolchain.find(target)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        folder = Path(scratch)
        progress(f"compiling with {compiler.name}")
        executable = compiled(library, folder, compiler, optimize, entry=program)
        progress("running")
        if runner.is_wasm(target):
            times, instructions = _times(target, folder, str(ROUNDS)), operations(target, folder)
        elif runner.has_clock(target):
            times, instructions = _times(target, folder), None
        elif target.startup == bochs.STARTUP:
            times, instructions = [], _ticks(target, folder)
        else:
            times, instructions = [], counting.count(target, executable).total
    return Bench(
        name=program.name,
        target=target.name,
        optimize=optimize,
        compiler=compiler.name,
        macs=program.macs,
        rounds=len(times) or 1,
        microseconds=statistics.median(times) if times else None,
        fastest=min(times, default=None),
        slowest=max(times, default=None),
        instructions=instructions,
    )


def compiled(
    program: Program,
    folder: Path,
    compiler: toolchain.Compiler,
    optimize: Optimize,
    *,
    entry: Program | None = None,
) -> Path:
    """The library in a program that runs it, or an entry of it, and measures that where it is not counted."""
    main = wasm_main(entry or program) if runner.is_wasm(program.target) else _main(entry or program)
    return built(program, folder, compiler, optimize, "\n".join(main))


def built(
    program: Program, folder: Path, compiler: toolchain.Compiler, optimize: Optimize, main: str
) -> Path:
    """The library with this program."""
    target = program.target
    library = render(program, optimize, "auto")
    write(library, folder)
    (folder / "main.c").write_text(main)
    # Zig leaves names out of small programs, unless they are for a debugger.
    flags = [*FLAGS, LEVEL[optimize], "-g", *target.cflags, *runner.compile_flags(target, is_counted=True)]
    flags += wasm.start_flags([program, *program.entries])
    files = [*sources(library), "main.c", "-o", runner.executable("bench")]
    runner.link(target, compiler, [*flags, *files], folder)
    return folder / runner.executable("bench")


def _times(target: Target, folder: Path, *arguments: str) -> list[float]:
    done = runner.run(target, folder / runner.executable("bench"), arguments)
    if done.code == host.NO_DEVICE:
        raise EdgeKitError("E0503", "no OpenCL device here runs this model")
    if done.code:
        words = f"the benchmark ended with {done.code}\n{done.words}"
        raise EdgeKitError("E0602", words, hint="please report it")
    return [float(time) for time in np.frombuffer(done.out, "<f8")]


def operations(target: Target, folder: Path) -> int | None:
    """WebAssembly operations of one run, as wasmtime counts them; None where it is not installed."""
    counter = targets.with_runner(target, runner.COUNTER)
    if runner.why_not_here(counter):
        return None
    counts = []
    for runs in ("1", "2"):
        done = runner.run(counter, folder / runner.executable("bench"), ["0", runs])
        found = re.search(r"instructions (\d+)", done.words)
        if done.code or not found:
            raise EdgeKitError("E0602", f"wasmtime did not count ({done.code})\n{done.words}")
        counts.append(int(found[1]))
    return counts[1] - counts[0]


def _ticks(target: Target, folder: Path) -> int:
    """What the emulated processor itself counts."""
    done = runner.run(target, folder / runner.executable("bench"), [])
    if done.code:
        raise EdgeKitError(
            "E0602", f"the benchmark ended with {done.code}\n{done.words}", hint="please report it"
        )
    return int.from_bytes(done.out, "little")


def setting(program: Program) -> Iterator[str]:
    """Memory for a run, and a function that fills it; in front of it, what it includes."""
    ports: Sequence[Port] = (*program.inputs, *program.outputs)
    yield f'#include <stdlib.h>\n#include "{host.header(program)}"'
    for i, port in enumerate(ports):
        words = " __attribute__((aligned(4)))" * bool(program.row_port)  # where a row is copied at once
        yield f"static {port.type.dtype.c} p{i}[{port.type.size or 1}]{words};"
    yield f"static uint8_t arena[{program.arena.size + 1}] __attribute__((aligned({program.target.align})));"
    has_state = bool(program.states) and not program.target.opencl
    if has_state:
        yield f"static struct {program.owner}_state state;"
    yield from (f"static {line}" for line in host.declared(program))
    yield "static void prepare(void)\n{"
    for i, port in enumerate(program.inputs):
        is_float = port.type.dtype.c in ("float", "double")
        value = "(float)(i * 37 % 101) / 50.0f - 1.0f" if is_float else f"({port.type.dtype.c})(i * 37 % 101)"
        yield f"    for (int i = 0; i < {port.type.size}; i++)\n        p{i}[i] = {value};"
    if has_state:
        yield f"    {program.owner}_reset(&state);"
    if program.target.opencl:
        yield from host.created(program)
    yield "}"


def statement(program: Program) -> str:
    """The statement that runs it once."""
    ports = [f"p{i}" for i in range(len(program.inputs) + len(program.outputs))]
    return host.run(program, ports, [*["&state"] * bool(program.states), "arena"])


def wasm_main(program: Program) -> Iterator[str]:
    """A program for an engine: the first argument says how often time is taken, with as many runs each time
    that a coarse clock can tell. For none, the second says how often the model runs."""
    yield "#include <stdio.h>\n#include <stdlib.h>"
    yield from setting(program)
    yield f"""\
__attribute__((import_module("host"), import_name("microseconds"))) double host_microseconds(void);
static double time_of(int runs)
{{
    const double start = host_microseconds();
    for (int i = 0; i < runs; i++)
        {statement(program)}
    return host_microseconds() - start;
}}
int main(int argc, char **argv)
{{
    const int times = argc > 1 ? atoi(argv[1]) : 0;
    prepare();
    if (!times)
        for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--)
            {statement(program)}
    /* Engines compile twice, quickly at first. */
    for (double warm = 0.0; times && warm < 300e3;)
        warm += time_of(8) + 1.0;
    int runs = 1;
    while (times && runs < 4096 && time_of(runs) < 1000.0)
        runs *= 2;
    for (int i = 0; i < times; i++) {{
        const double one = time_of(runs) / (double)runs;
        fwrite(&one, sizeof one, 1, stdout);
    }}
    return 0;
}}
"""


CLOCK = """\
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#ifdef _WIN32
int __stdcall QueryPerformanceCounter(long long *ticks);
int __stdcall QueryPerformanceFrequency(long long *of_a_second);
static double microseconds(void)
{
    long long ticks, of_a_second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&of_a_second);
    return (double)ticks * 1e6 / (double)of_a_second;
}
#else
#include <time.h>
static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}
#endif
"""


def _main(program: Program) -> Iterator[str]:
    """A program that runs the model: once between markers or readings of a counter, or often with a clock."""
    target = program.target
    has_clock = runner.has_clock(target)
    counts_itself = target.startup == bochs.STARTUP
    if has_clock:
        yield CLOCK + BINARY
    elif counts_itself:
        yield "#include <stdio.h>"
    yield from setting(program)
    yield "void ek_begin(void);\nvoid ek_end(void);"
    for marker in counting.MARKERS:
        yield f'__attribute__((noinline)) void {marker}(void)\n{{\n    __asm volatile("" ::: "memory");\n}}'
    yield "int main(void)\n{\n    prepare();"
    run = statement(program)
    if has_clock:
        yield "    EK_BINARY();"
        yield f"    for (int i = 0; i < {ROUNDS + ROUNDS // 10}; i++) {{"
        yield f"        const double start = microseconds();\n        {run}"
        yield "        const double took = microseconds() - start;"
        yield f"        if (i >= {ROUNDS // 10})\n            fwrite(&took, sizeof took, 1, stdout);\n    }}"
    elif counts_itself:  # its clock is a count of instructions
        yield f"    const unsigned long long start = __builtin_ia32_rdtsc();\n    {run}"
        yield "    const unsigned long long ticks = __builtin_ia32_rdtsc() - start;"
        yield "    fwrite(&ticks, sizeof ticks, 1, stdout);"
    else:
        yield f"    ek_begin();\n    {run}\n    ek_end();"
    yield "    return 0;\n}\n"
