"""An executable around generated code: runs a program on given inputs, and sees misuse of memory."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
# Bytes around the arena, inputs and outputs, to see a write beside them, and to change what is read there.
# Boards have less memory to spare, and sanitizers bring their own: -DEK_GUARD=0.
_GUARDS = {False: 1024, True: 64}
BACKWARDS = -1  # of the parts of a layer, the last ones first
# Memory without a value: not a number, or -1, which no rounding error is, and another word around it. Where
# extremes are wanted, both are larger, or smaller, than almost all numbers of every type, float16 and int8
# among them, so that a maximum that reads too far is another one.
_NO_VALUE, _AROUND, _LARGE, _SMALL = 0xFFFFFFFF, 0xA5A5A5A5, 0x7B7F7B7F, 0xFB808080
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
        self.extremes = False  # memory without a value holds large and small numbers by turns
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

    def among_extremes(self) -> Driver:
        """The same, with large and small numbers by turns where memory has no value, and around it."""
        driver = copy.copy(self)
        driver.extremes = True
        return driver

    def run(self, program: Program, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the compiled code; EdgeKitError E0602 where it misbehaves."""
        (outputs,) = self._steps(program, [inputs], 0)
        return outputs

    def run_each(
        self, program: Program, samples: Sequence[Mapping[str, Array]]
    ) -> Iterator[dict[str, Array]]:
        """The outputs for each sample; where there are states, the samples are the steps of one stream."""
        if program.states:
            yield from self._steps(program, samples, 0)
            return
        ports = (*program.inputs, *program.outputs)
        room = max(1, _BLOCK_BYTES // max(1, sum(port.type.bytes for port in ports)))
        at, count = 0, min(_FIRST, room)
        while at < len(samples):
            block = samples[at : at + count]
            before = time.monotonic()
            results = self._steps(program, block, at)
            of_one = (time.monotonic() - before) / len(block)
            yield from results
            at += len(block)
            count = max(1, min(room, int(_BLOCK_SECONDS / max(of_one, 1e-6))))

    def _steps(
        self, program: Program, samples: Sequence[Mapping[str, Array]], first: int
    ) -> list[dict[str, Array]]:
        """The outputs of successive runs in one process, of which the first has this number."""
        name = program.name
        ports = [(sample, port) for sample in samples for port in program.inputs]
        data = b"".join(_bytes(simulate.check_input(p.name, p.type, sample)) for sample, p in ports)
        fill = 1 + first % 2 if self.extremes else 0
        arguments = [str(self.index[name]), str(len(samples)), str(self.threads), str(fill)]
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
                plain = stored(np.empty(0, port.type.dtype.numpy)).dtype
                raw = np.frombuffer(done.out[at : at + port.type.bytes], plain.newbyteorder("<"))
                numbers = restored(raw.astype(plain), port.type.dtype)
                outputs[port.name] = numbers.reshape(port.type.shape)
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
    """Numbers as processes exchange them, little-endian whatever the byte order of either."""
    numbers = stored(np.ascontiguousarray(array))
    return numbers.astype(numbers.dtype.newbyteorder("<"), copy=False).tobytes()


def _driver(programs: Sequence[Program]) -> Iterator[str]:
    """A main that poisons memory, runs the program with a given number a number of times, and checks what is
    around memory."""
    yield from (f'#include "{host.header(p)}"' for p in programs)
    yield '#include "edgekit/types.h"'
    yield from (f"#include <{header}.h>" for header in ("stdio", "stdlib", "string"))
    if any(port.type.dtype.c.startswith("ek_") for p in programs for port in (*p.inputs, *p.outputs)):
        yield '#include "edgekit/half.h"'
    yield BINARY
    guard = _GUARDS[any(program.target.board for program in programs)]
    yield f"#ifndef EK_GUARD\n#define EK_GUARD {guard}\n#endif"
    yield _HELPERS
    if any(program.ports != "arena" for program in programs):
        yield _CHECKSUM
    if any(program.target.cores > 1 for program in programs):
        if all(runner.runs_threads(program.target) for program in programs):
            yield '#include "edgekit/threads.h"\n#define EK_HAS_THREADS'
        yield _POOLS
    yield "".join(dict.fromkeys(map(blob_declaration, programs)))
    for i, program in enumerate(programs):
        yield from _runner(i, program)
    given = ", ".join(f"argc > {i} ? atoi(argv[{i}]) : 0" for i in (3, 4))
    yield "int main(int argc, char **argv)\n{\n    EK_BINARY();\n    switch (argc > 2 ? atoi(argv[1]) : -1) {"
    yield from (
        f"    case {i}:\n        return run_{i}(atoi(argv[2]), {given});" for i in range(len(programs))
    )
    yield "    default:\n        return 1;\n    }\n}\n"


# Programs with hundreds of inputs make functions that optimizers take half a minute for. With sanitizers,
# memory lies as optimizers lay it: there, each piece has the guards of another one before it.
_HELPERS = (
    f"""\
#define NO_VALUE {_NO_VALUE:#x}u
#define AROUND {_AROUND:#x}u
#define LARGE {_LARGE:#x}u
#define SMALL {_SMALL:#x}u
"""
    + """
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
    size_t width; /* of an element */
};

/* What memory without a value holds in run number `step`. */
static uint32_t filling(int step, int fill)
{
    return fill == 0 ? NO_VALUE : (step + fill) % 2 ? LARGE : SMALL;
}

static unsigned char part(uint32_t word, size_t i)
{
    return (unsigned char)(word >> i % 4 * 8);
}

static void filled(unsigned char *at, size_t size, uint32_t word)
{
    for (size_t i = 0; i < size; i++)
        at[i] = part(word, i);
}

/* Programs exchange little-endian numbers. */
static void to_order_of_files(struct room r)
{
#if EK_IS_BIG_ENDIAN
    for (size_t at = 0; at < r.size; at += r.width)
        for (size_t i = 0; i < r.width / 2; i++) {
            const unsigned char first = r.at[at + i];
            r.at[at + i] = r.at[at + r.width - 1 - i];
            r.at[at + r.width - 1 - i] = first;
        }
#else
    (void)r;
#endif
}

static void surrounded(const struct room *rooms, int count, uint32_t word)
{
    for (const struct room *r = rooms; r < rooms + count; r++) {
        filled(r->at - EK_GUARD, EK_GUARD, word);
        filled(r->at + r->size, EK_GUARD, word);
    }
}

static int intact(const struct room *rooms, int count, uint32_t word)
{
    for (const struct room *r = rooms; r < rooms + count; r++)
        for (size_t i = 0; i < EK_GUARD; i++)
            if (*(r->at - EK_GUARD + i) != part(word, i) || r->at[r->size + i] != part(word, i))
                return 0;
    return 1;
}

static int given(const struct room *inputs, int count)
{
    for (const struct room *r = inputs; r < inputs + count; r++) {
        if (fread(r->at, 1, r->size, stdin) != r->size)
            return 0;
        to_order_of_files(*r);
    }
    return 1;
}

static void taken(const struct room *outputs, int count)
{
    for (const struct room *r = outputs; r < outputs + count; r++) {
        to_order_of_files(*r);
        fwrite(r->at, 1, r->size, stdout);
        to_order_of_files(*r);
    }
}
"""
)
_CHECKSUM = """\
static uint32_t checksum(const struct room *rooms, int count)
{
    uint32_t sum = 2166136261u;
    for (const struct room *r = rooms; r < rooms + count; r++)
        for (size_t i = 0; i < r->size; i++)
            sum = (sum ^ r->at[i]) * 16777619u;
    return sum;
}
"""
# Windows would change some bytes of inputs and outputs.
BINARY = """\
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


@dataclass(frozen=True)
class _Room:
    """Memory that a run is given, with guards around: `struct room` in C."""

    name: str
    size: str  # in bytes, as C
    width: int = 1  # of an element
    skew: int = 0  # bytes from an aligned address to its start

    @staticmethod
    def of(port: Port) -> _Room:
        """Of an input or output: aligned for its elements, and not more."""
        width = port.type.dtype.bytes
        return _Room(f"port_{port.c}", str(port.type.bytes), width, width)

    @property
    def memory(self) -> str:
        """The array that it lies in, with its guards."""
        return f"{self.name}_memory"


def _runner(index: int, program: Program) -> Iterator[str]:
    """The function that runs one program."""
    align = max(program.target.align, 16)
    ports = (*program.inputs, *program.outputs)
    inside = [port for port in ports if port.offset is not None]
    in_arena, count = program.ports == "arena", len(program.inputs)
    rooms = [_Room.of(port) for port in ports if port.offset is None]
    rooms.append(_Room("arena", str(program.arena.size)))
    used = len(rooms)
    has_state = bool(program.states) and not program.target.opencl  # there, it is on the device
    if has_state:
        rooms.append(_Room("state", f"sizeof(struct {program.owner}_state)"))
    yield f"EK_PLAIN int run_{index}(int steps, int threads, int fill)\n{{\n    (void)threads;"
    for room in rooms:
        total = f"EK_GUARD + {room.skew} + {'1' if room.size == '0' else room.size} + EK_GUARD"
        yield f"    static unsigned char {room.memory}[{total}] __attribute__((aligned({align})));"
    # Which lays them out in this order.
    yield from (f"    memset({room.memory}, 0, sizeof {room.memory});" for room in rooms)
    yield "    static const struct room rooms[] = {"
    for room in rooms:
        yield f"        {{{room.memory} + EK_GUARD + {room.skew}, {room.size}, {room.width}}},"
    yield "    };"
    yield f"    unsigned char *const arena = rooms[{used - 1}].at;"
    if inside:
        yield "    const struct room ports[] = {"
        for port in inside:
            at = f"(unsigned char *){program.name}_{port.c}(arena)"
            yield f"        {{{at}, {port.type.bytes}, {port.type.dtype.bytes}}},"
        yield "    };"
    table = "ports" if in_arena else "rooms"
    outputs = "ports" if program.row_port else f"inputs + {count}"
    yield f"    const struct room *const inputs = {table}, *const outputs = {outputs};"
    if has_state:
        yield f"    struct {program.owner}_state *const state = (void *)rooms[{used}].at;"
        yield f"    filled(rooms[{used}].at, rooms[{used}].size, filling(0, fill));"
        weights = f", {blob_symbol(program)}" * program.resets_by_weights
        yield f"    {program.owner}_reset(state{weights});"
    if program.target.opencl:
        yield from (f"    {line}" for line in host.declared(program))
        yield from host.created(program)
    yield "    for (int step = 0; step < steps; step++) {"
    yield "        const uint32_t inside = filling(step, fill), around = fill == 0 ? AROUND : inside;"
    yield f"        surrounded(rooms, {len(rooms)}, around);"
    yield f"        for (int i = 0; i < {used}; i++)\n            filled(rooms[i].at, rooms[i].size, inside);"
    yield f"        if (!given(inputs, {count}))\n            return {_SHORT};"
    passed = []
    if not in_arena:
        yield f"        const uint32_t sum = checksum(inputs, {count});"
        types = [f"const {p.type.dtype.c} *)(const void *" for p in program.inputs]
        types += [f"{p.type.dtype.c} *)(void *" for p in program.outputs if p.offset is None]
        passed += [f"({type})rooms[{i}].at" for i, type in enumerate(types)]
    others = ["state"] * has_state
    others += [blob_symbol(program)] * program.by_pointer
    if program.target.cores > 1:
        yield "        const struct ek_pool *const pool = pool_of(threads);"
        given = ", ".join([*passed, *others, "arena"])
        yield f"        if (threads == 0)\n            {program.name}_run({given});"
        yield f"        else\n            {program.name}_run_parallel({given}, pool);"
        yield "        pool_end(pool);"
    else:
        yield f"        {host.run(program, passed, [*others, 'arena'])}"
    yield f"        if (!intact(rooms, {len(rooms)}, around))\n            return {_OUTSIDE};"
    if not in_arena:
        yield f"        if (checksum(inputs, {count}) != sum)\n            return {_CHANGED};"
    yield f"        taken(outputs, {len(program.outputs)});\n    }}"
    yield from host.destroyed(program)
    yield "    return 0;\n}\n"
