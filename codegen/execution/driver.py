"""An executable around generated code: runs a program on given inputs, and sees misuse of memory."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from edgekit.codegen.compilation import toolchain, wasm
from edgekit.codegen.execution import runner
from edgekit.codegen.gpu import host
from edgekit.codegen.printing import weights_blob
from edgekit.codegen.printing.literal import restored, stored
from edgekit.codegen.printing.render import environment
from edgekit.codegen.program import Port, Program
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

FLAGS = ("-std=c99", "-ffp-contract=off", "-fno-math-errno", "-I.")
# Around the arena, inputs and outputs, to see a write beside them. Sanitizers bring their own: -DEK_GUARD=0.
_GUARD = 64
BACKWARDS = -1  # of the parts of a layer, the last ones first
_SHORT, _OUTSIDE, _CHANGED = 2, 3, 4  # exit codes of the driver
# Samples that share a process: the first ones, as many as a verification has, then as many as take about a
# second and are this many bytes.
_FIRST = 4
_BLOCK_SECONDS = 1.0
_BLOCK_BYTES = 1 << 20


class Driver:
    """Programs with different names, compiled for one target into one executable in `folder`, where their
    sources are. No process runs two of them: a crash is the fault of the program that ran. `seconds` is what
    a process may take, and `each` more for every sample."""

    def __init__(
        self,
        programs: Sequence[Program],
        sources: Sequence[str],
        folder: Path,
        compiler: toolchain.Compiler,
        flags: Sequence[str] = (),
        seconds: float = 300,
        each: float = 0,
    ) -> None:
        self.target = runner.here(programs[0].target if programs else targets.load("host"))
        self.index = {program.name: i for i, program in enumerate(programs)}
        self.executable = folder / runner.executable("driver")
        self.seconds, self.each = seconds, each
        self.threads = 0  # a plain run
        (folder / "driver.c").write_text("\n".join(_driver(programs)))
        _write_blobs(programs, folder)
        ours = [*runner.compile_flags(self.target), *wasm.start_flags(programs)]
        if any(program.target.cores > 1 and runner.runs_threads(program.target) for program in programs):
            ours += ["-pthread"] * ("windows" not in self.target.name)
        ours += [*sources, "driver.c", *blob_sources(programs), "-o", runner.executable("driver")]
        runner.link(self.target, compiler, [*FLAGS, *flags, *ours], folder)

    def with_threads(self, threads: int) -> Driver:
        """The same, for runs by so many threads, or BACKWARDS."""
        driver = copy.copy(self)
        driver.threads = threads
        return driver

    def run(self, program: Program, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the compiled code; EdgeKitError E0602 where it misbehaves."""
        (outputs,) = self._steps(program, [inputs])
        return outputs

    def run_each(
        self, program: Program, samples: Sequence[Mapping[str, Array]]
    ) -> Iterator[dict[str, Array]]:
        """The outputs for each sample; where there are states, the samples are the steps of one stream."""
        if program.states:
            yield from self._steps(program, samples)
            return
        ports = (*program.inputs, *program.outputs)
        room = max(1, _BLOCK_BYTES // max(1, sum(port.type.bytes for port in ports)))
        at, count = 0, min(_FIRST, room)
        while at < len(samples):
            block = samples[at : at + count]
            before = time.monotonic()
            results = self._steps(program, block)
            of_one = (time.monotonic() - before) / len(block)
            yield from results
            at += len(block)
            count = max(1, min(room, int(_BLOCK_SECONDS / max(of_one, 1e-6))))

    def _steps(self, program: Program, samples: Sequence[Mapping[str, Array]]) -> list[dict[str, Array]]:
        """The outputs of successive runs in one process."""
        name = program.name
        ports = [(sample, port) for sample in samples for port in program.inputs]
        data = b"".join(_bytes(simulate.check_input(p.name, p.type, sample)) for sample, p in ports)
        arguments = [str(self.index[name]), str(len(samples)), str(self.threads)]
        seconds = self.seconds + self.each * len(samples)
        done = runner.run(self.target, self.executable, arguments, data, seconds, name)
        if done.code:
            words = {
                _SHORT: f"{name} did not get its inputs",
                _OUTSIDE: f"{name} wrote outside its arena, outputs or states",
                _CHANGED: f"{name} changed its inputs",
                host.NO_DEVICE: f"{name} found no OpenCL device that runs it",
                host.LOST: f"the OpenCL device failed while it ran {name}",
            }.get(done.code, f"{name} crashed ({done.code})\n{done.words}")
            raise EdgeKitError("E0602", words, hint="please report it")
        at = 0
        results = []
        for _ in samples:
            outputs = {}
            for port in program.outputs:
                raw = np.frombuffer(
                    done.out[at : at + port.type.bytes], stored(np.empty(0, port.type.dtype.numpy)).dtype
                )
                outputs[port.name] = restored(raw, port.type.dtype).reshape(port.type.shape)
                at += port.type.bytes
            results.append(outputs)
        return results


def _write_blobs(programs: Iterable[Program], folder: Path) -> None:
    """Assembler files of the weights that runs of these programs are given."""
    for program in programs:
        if program.by_pointer and not program.within:
            text = (
                environment()
                .get_template("blob.S.j2")
                .render(
                    name=program.name,
                    symbol=blob_symbol(program),
                    align=program.target.align,
                    size=weights_blob.size(program),
                    is_wasm=runner.is_wasm(program.target),
                )
            )
            (folder / f"{blob_symbol(program)}.S").write_text(text)


def blob_sources(programs: Iterable[Program]) -> list[str]:
    """These files, beside the program that runs a library."""
    return [*dict.fromkeys(f"{blob_symbol(program)}.S" for program in programs if program.by_pointer)]


def blob_symbol(program: Program) -> str:
    """What programs that try a library call its weights."""
    return f"{program.owner}_blob"


def blob_declaration(program: Program) -> str:
    """The same as a line of C; empty where runs are given none."""
    return f"extern const unsigned char {blob_symbol(program)}[];\n" if program.by_pointer else ""


def _bytes(array: Array) -> bytes:
    return stored(np.ascontiguousarray(array)).tobytes()


def _driver(programs: Sequence[Program]) -> Iterator[str]:
    """A main that poisons memory, runs the program with a given number a number of times, and checks what is
    around memory."""
    yield from (f'#include "{host.header(p)}"' for p in programs)
    yield '#include "edgekit/types.h"'
    yield from (f"#include <{header}.h>" for header in ("stdio", "stdlib", "string"))
    if any(port.type.dtype.c.startswith("ek_") for p in programs for port in (*p.inputs, *p.outputs)):
        yield '#include "edgekit/half.h"'
    yield _BINARY
    yield f"#ifndef EK_GUARD\n#define EK_GUARD {_GUARD}\n#endif"
    yield _HELPERS
    if any(program.ports == "caller" and program.inputs for program in programs):
        yield _CHECKSUM
    if any(program.target.cores > 1 for program in programs):
        if all(runner.runs_threads(program.target) for program in programs):
            yield '#include "edgekit/threads.h"\n#define EK_HAS_THREADS'
        yield _POOLS
    yield "".join(dict.fromkeys(map(blob_declaration, programs)))
    for i, program in enumerate(programs):
        yield from _runner(i, program)
    yield "int main(int argc, char **argv)\n{\n    EK_BINARY();\n    switch (argc > 2 ? atoi(argv[1]) : -1) {"
    yield from (
        f"    case {i}:\n        return run_{i}(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 0);"
        for i in range(len(programs))
    )
    yield "    default:\n        return 1;\n    }\n}\n"


# Programs with hundreds of inputs make functions that optimizers take half a minute for. With sanitizers,
# memory lies as optimizers lay it: there, each piece has the guards of another one before it.
_HELPERS = """\
#if EK_GUARD == 0 || !defined(__GNUC__)
#define EK_PLAIN static
#elif defined(__clang__)
#define EK_PLAIN static __attribute__((noinline, optnone))
#else
#define EK_PLAIN static __attribute__((noinline, optimize("O0")))
#endif

struct room {
    unsigned char *at;
    size_t size;
};

static int intact(struct room r)
{
    for (size_t i = 0; i < EK_GUARD; i++)
        if (r.at[-1 - (long)i] != 0xA5 || r.at[r.size + i] != 0xA5)
            return 0;
    return 1;
}
"""
# Windows would change some bytes of inputs and outputs.
_BINARY = """\
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#define EK_BINARY() (_setmode(0, _O_BINARY), _setmode(1, _O_BINARY))
#else
#define EK_BINARY() (void)0
#endif
"""
# Where there are no threads, the last parts come first.
_POOLS = """\
#include "edgekit/pool.h"

static void backwards(void *ctx, void (*part)(void *job, int32_t index), void *job, int32_t parts)
{
    (void)ctx;
    for (int32_t i = parts; i-- > 0;)
        part(job, i);
}

#ifdef EK_HAS_THREADS
static struct ek_threads made;
#endif

static const struct ek_pool *pool_of(int threads)
{
    static const struct ek_pool order = {backwards, 0};
#ifdef EK_HAS_THREADS
    if (threads > 0)
        return ek_threads_start(&made, threads) == threads ? &made.pool : 0;
#else
    (void)threads;
#endif
    return &order;
}

static void pool_end(const struct ek_pool *pool)
{
#ifdef EK_HAS_THREADS
    if (pool == &made.pool)
        ek_threads_stop(&made);
#else
    (void)pool;
#endif
}
"""
_CHECKSUM = """\
static uint32_t checksum(struct room r)
{
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < r.size; i++)
        sum = (sum ^ r.at[i]) * 16777619u;
    return sum;
}
"""


def _runner(index: int, program: Program) -> Iterator[str]:
    """The function that runs one program. Inputs and outputs are aligned for their element type, not more."""
    align = max(program.target.align, 16)
    outside = [*map(_room, program.inputs), *map(_room, program.outputs)] if program.ports == "caller" else []
    used = [*outside, ("arena", str(program.arena.size), 0)]
    has_state = bool(program.states) and not program.target.opencl  # there, it is on the device
    state = [("state", f"sizeof(struct {program.owner}_state)", 0)] * has_state
    rooms = [*used, *state]
    yield f"EK_PLAIN int run_{index}(int steps, int threads)\n{{\n    (void)threads;"
    for name, size, skew in rooms:
        total = f"EK_GUARD + {skew} + {'1' if size == '0' else size} + EK_GUARD"
        yield f"    static unsigned char {name}_memory[{total}] __attribute__((aligned({align})));"
        yield f"    const struct room {name} = {{{name}_memory + EK_GUARD + {skew}, {size}}};"
        yield f"    memset({name}_memory, 0xA5, sizeof {name}_memory);"
    if program.ports == "arena":
        for port in (*program.inputs, *program.outputs):
            at = f"(unsigned char *){program.name}_{port.c}(arena.at)"
            yield f"    const struct room {_room(port)[0]} = {{{at}, {port.type.bytes}}};"
    # What is read before it is written is NaN, or -1, which no rounding error is.
    if state:
        yield "    memset(state.at, 0xFF, state.size);"
        weights = f", {blob_symbol(program)}" * program.resets_by_weights
        yield f"    {program.owner}_reset((struct {program.owner}_state *)(void *)state.at{weights});"
    if program.target.opencl:
        yield from (f"    {line}" for line in host.declared(program))
        yield from host.created(program)
    yield "    for (int step = 0; step < steps; step++) {"
    yield from (f"        memset({name}.at, 0xFF, {name}.size);" for name, _, _ in used)
    for port in program.inputs:
        name, size, _ = _room(port)
        yield f"        if (fread({name}.at, 1, {size}, stdin) != {size})\n            return {_SHORT};"
        if outside:
            yield f"        const uint32_t {name}_sum = checksum({name});"
    passed = []
    if outside:
        passed += [f"(const {p.type.dtype.c} *)(const void *){_room(p)[0]}.at" for p in program.inputs]
        passed += [f"({p.type.dtype.c} *)(void *){_room(p)[0]}.at" for p in program.outputs]
    others = [f"(struct {program.owner}_state *)(void *)state.at" for _ in state]
    others += [blob_symbol(program)] * program.by_pointer
    if program.target.cores > 1:
        yield "        const struct ek_pool *const pool = pool_of(threads);"
        given = ", ".join([*passed, *others, "arena.at"])
        yield f"        if (threads == 0)\n            {program.name}_run({given});"
        yield f"        else\n            {program.name}_run_parallel({given}, pool);"
        yield "        pool_end(pool);"
    else:
        yield f"        {host.run(program, passed, [*others, 'arena.at'])}"
    yield from (f"        if (!intact({name}))\n            return {_OUTSIDE};" for name, _, _ in rooms)
    for port in program.inputs if outside else ():
        name, _, _ = _room(port)
        yield f"        if (checksum({name}) != {name}_sum)\n            return {_CHANGED};"
    yield from (f"        fwrite({_room(p)[0]}.at, 1, {p.type.bytes}, stdout);" for p in program.outputs)
    yield "    }"
    yield from host.destroyed(program)
    yield "    return 0;\n}\n"


def _room(port: Port) -> tuple[str, str, int]:
    """(variable, bytes, distance from an aligned address) of an input or output."""
    return f"port_{port.c}", str(port.type.bytes), port.type.dtype.bytes
