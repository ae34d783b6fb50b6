"""WebAssembly modules: linking a library into one, what it needs of an engine, and what its bytes are for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from edgekit.codegen.compilation.toolchain import Compiler
from edgekit.codegen.execution import runner
from edgekit.codegen.kernels.overflow_safe import is_light
from edgekit.codegen.program import Program

MAGIC = b"\0asm"
PAGE = 65536  # bytes: the unit of memory
_MEMORY, _DATA = 5, 11  # section numbers of the specification
# No C library and no main: what is exported is called from outside.
LINK_FLAGS = ("-ffreestanding", "-nostdlib", "-Wl,--no-entry", "-Wl,--strip-all")


def link_library(program: Program, objects: Sequence[str], folder: Path, compiler: Compiler) -> Path:
    """Link object files into <name>.wasm, which exports its memory and the function that runs the model."""
    module = f"{program.name}.wasm"
    compiler.run([*LINK_FLAGS, f"-Wl,--export={program.function}", *objects, "-o", module], folder)
    return folder / module


def wants_exact(program: Program) -> bool:
    """Has it kernels for relaxed vectors that saturated sums of two products would make wrong?"""
    relaxed = (kernel for kernel in program.kernels if kernel.function.endswith("__relaxed"))
    layouts = (kernel.pack.get("w", "") for kernel in relaxed)
    return any(not is_light(layout) and not layout.endswith("u4") for layout in layouts)


def start_flags(programs: Sequence[Program]) -> list[str]:
    """What runtime_c/bare/wasm.c is compiled with, which asks the engine whether its products are exact."""
    is_wasm = any(runner.is_wasm(program.target) for program in programs)
    return ["-DEK_ANY_PRODUCTS"] if is_wasm and not any(map(wants_exact, programs)) else []


def sizes(module: bytes) -> tuple[int, int]:
    """(code, constants): the bytes of data segments with what they need around them, and all others."""
    constants = sum(size for section, size, _ in sections(module) if section == _DATA)
    return len(module) - constants, constants


def pages(module: bytes) -> int:
    """How large the memory of a module is at first, in units of PAGE."""
    (start,) = (body for section, _, body in sections(module) if section == _MEMORY)
    return read_unsigned(module, start + 2)[
        0
    ]  # behind how many memories there are, and whether it has a limit


def with_section(module: bytes, name: str, content: bytes) -> bytes:
    """The module with a custom section behind all others, which engines leave to JavaScript."""
    named = unsigned(len(name)) + name.encode() + content
    return module + b"\0" + unsigned(len(named)) + named


def sections(module: bytes) -> Iterator[tuple[int, int, int]]:
    """The number of each section, how many bytes it takes, and where its content begins."""
    assert module[:4] == MAGIC, "a file of another format"
    at = 8
    while at < len(module):
        section, (size, body) = module[at], read_unsigned(module, at + 1)
        yield section, body + size - at, body
        at = body + size


def read_unsigned(data: bytes, at: int) -> tuple[int, int]:
    """A number in LEB128, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def unsigned(value: int) -> bytes:
    """A number in LEB128."""
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + unsigned(rest) if rest else bytes([low])


def signed(value: int) -> bytes:
    """The same for numbers that may be negative."""
    low, rest = value & 127, value >> 7
    is_last = rest in (0, -1) and (rest < 0) == bool(low & 64)
    return bytes([low]) if is_last else bytes([low | 128]) + signed(rest)
