"""C around generated libraries that calls them with bytes from outside, in memory of exactly their sizes.

Inputs, outputs, arena and state are allocations of their own, so that AddressSanitizer sees one byte too
many; arena and outputs start uninitialised: MemorySanitizer sees what is read before it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edgekit.codegen.program import Program
from edgekit.core.types import DType, Type

# What a caller may pass of types that are stored one per byte: other bytes break the contract of the header.
_NARROW = {DType.BOOL: "b", DType.S4: "4", DType.U4: "n", DType.S2: "2", DType.U2: "m", DType.F4E2M1: "n"}
_SANE = {DType.F32: "f", DType.F64: "d", DType.F16: "h", DType.BF16: "g"}
_HELPERS = r"""
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define CHECK(at, size) __msan_check_mem_is_initialized(at, size)
#endif
#endif
#ifndef CHECK
#define CHECK(at, size) (void)0
#endif

struct bytes {
    const uint8_t *at;
    size_t size, next;
    int sane; /* floats between -1 and 1 instead of any bits */
    int kept; /* states are bytes from outside, as if they had been stored */
};

static void *room(size_t size, size_t align)
{
    void *at = NULL;
    if (posix_memalign(&at, align < sizeof(void *) ? sizeof(void *) : align, size ? size : 1))
        exit(9);
    return at;
}

static uint8_t next(struct bytes *from)
{
    if (from->size == 0)
        return 0;
    if (from->next == from->size)
        from->next = 0;
    return from->at[from->next++];
}

static void fill(void *at, struct bytes *from, size_t size, char kind)
{
    uint8_t *made = at;
    for (size_t i = 0; i < size; i++) {
        const uint8_t b = next(from);
        const uint8_t sign = b & 0x80;
        const size_t width = kind == 'd' ? 8 : kind == 'f' ? 4 : 2, byte = i % width;
        uint8_t v = b;
        if (kind == 'b')
            v = b & 1;
        else if (kind == '4')
            v = (uint8_t)((b & 15) - ((b & 8) << 1));
        else if (kind == '2')
            v = (uint8_t)((b & 3) - ((b & 2) << 1));
        else if (kind == 'n')
            v = b & 15;
        else if (kind == 'm')
            v = b & 3;
        else if (from->sane && kind == 'h')
            v = byte == 1 ? (uint8_t)((b & 0x83) | 0x38) : b;
        else if (from->sane && kind != '-' && byte == width - 1)
            v = sign | 0x3f;
        else if (from->sane && kind != '-' && byte == width - 2)
            v = kind == 'd' ? (b | 0xc0) & 0xef : b & 0x7f;
        made[i] = v;
    }
}

static void *input(struct bytes *from, size_t size, char kind)
{
    void *made = room(size, 1);
    fill(made, from, size, kind);
    return made;
}
"""
# Zeros, all bits set, small floats, any bytes, and numbers at the ends of their types.
_MAIN = r"""
int main(int argc, char **argv)
{
    static const uint8_t ends[] = {
        0, 0, 0x80, 0x7f, 0, 0, 0x80, 0xff, 0, 0, 0xc0, 0x7f, 0xff, 0xff, 0x7f, 0x7f,
        0, 0, 0, 0x80, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0xcf};
    static uint8_t any[65536];
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof any; i++) {
        seed = seed * 1664525u + 1013904223u;
        any[i] = (uint8_t)(seed >> 24);
    }
    const uint8_t zero = 0, full = 0xff;
    struct bytes all[] = {
        {&zero, 1, 0, 0, 0}, {&full, 1, 0, 0, 0}, {any, sizeof any, 0, 1, 0},
        {any, sizeof any, 7, 0, 1}, {ends, sizeof ends, 0, 0, 0}, {any, sizeof any, 9999, 1, 0}};
    const int which = argc > 1 ? atoi(argv[1]) : -1;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        run(which, &all[i]);
    return which < 0 || which >= MODELS;
}
"""
_FUZZER = r"""
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct bytes from = {data + 2, size - 2, 0, data[1] & 1, data[1] >> 1 & 1};
    run(data[0] % MODELS, &from);
    return 0;
}
"""


def text(programs: Sequence[Program], *, fuzzer: bool = False) -> str:
    """The C: a main whose argument is the number of a program, or the entry of libFuzzer."""
    parts = [f'#include "{program.name}.h"' for program in programs]
    parts += ['#include "edgekit/types.h"', _HELPERS]
    for i, program in enumerate(programs):
        parts += _runner(i, program)
    parts.append(f"#define MODELS {len(programs)}\nstatic void run(int which, struct bytes *from)\n{{")
    parts.append("    switch (which) {")
    parts += [f"    case {i}: run_{i}(from); break;" for i in range(len(programs))]
    parts.append("    default: break;\n    }\n}")
    parts.append(_FUZZER if fuzzer else _MAIN)
    return "\n".join(parts)


def _runner(index: int, program: Program) -> Iterator[str]:
    """One program, two steps of it where it has states."""
    name, state = program.name, bool(program.states)
    ports = (*program.inputs, *program.outputs)
    yield f"static void run_{index}(struct bytes *from)\n{{"
    yield f"    void *arena = room({program.arena.size}, {program.target.align});"
    if state:
        yield f"    struct {name}_state *state = room(sizeof *state, {program.target.align});"
        yield f"    {name}_reset(state);\n    if (from->kept) {{"
        for memo in program.states:
            yield f"        fill(state->{memo.c}, from, {memo.type.bytes}, '{_kind(memo.type)}');"
        yield "    }"
    yield f"    for (int step = 0; step < {2 if state else 1}; step++) {{"
    for i, port in enumerate(ports):
        made = (
            f"input(from, {port.type.bytes}, '{_kind(port.type)}')"
            if i < len(program.inputs)
            else f"room({port.type.bytes}, 1)"
        )
        yield f"        {port.type.dtype.c} *p{i} = {made};"
    passed = [f"p{i}" for i in range(len(ports))] + ["state"] * state + ["arena"]
    yield f"        {name}_run({', '.join(passed)});"
    for i, port in enumerate(program.outputs, len(program.inputs)):
        yield f"        CHECK(p{i}, {port.type.bytes});"
    yield from (f"        free(p{i});" for i in range(len(ports)))
    yield "    }"
    yield from ["    free(state);"] * state
    yield "    free(arena);\n    (void)from;\n}"


def _kind(type: Type) -> str:
    return _NARROW.get(type.dtype) or _SANE.get(type.dtype, "-")
