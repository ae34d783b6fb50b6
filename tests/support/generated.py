"""Generated libraries under test: written into a folder, compiled there, and called in this process."""

import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from support import object_cache
from support.tools import require

from edgekit.codegen.compilation.build import self_tests
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.printing.dead_code import without_dead_code
from edgekit.codegen.printing.literal import restored, stored
from edgekit.codegen.printing.render import render, sources
from edgekit.codegen.program import Program
from edgekit.codegen.verification.selftest import RandomInputs, SelfTest, inputs
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.target import Optimize
from edgekit.core.types import Array

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
C99 = ("-std=c99", "-ffp-contract=off", "-fno-math-errno")
_SHARE = b"#define EK_SHARE_KERNELS 1\n"


def written(
    programs: Sequence[Program], folder: Path, optimize: Optimize, *, share: bool = False
) -> list[str]:
    """Write libraries, whose names must differ, into one folder; the names of what is to compile. For size,
    several share their kernels, and one where that is asked for."""
    files: dict[str, bytes] = {}
    for program in programs:
        files |= render(program, optimize)
    if optimize == "size" and (share or len(programs) > 1):
        files = sharing(files)
    write(files, folder)
    return sources(files)


def kernel_sources(files: Mapping[str, bytes]) -> list[str]:
    return [path for path in files if path.startswith("edgekit/") and path.endswith(".c")]


def sharing(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of libraries for size, whose kernels are functions that they share, in kernels.c."""
    every = "".join(f'#include "{path}"\n' for path in kernel_sources(files)).encode()
    return {**files, **{path: _SHARE + files[path] for path in sources(files)}, "kernels.c": every}


def compiled(folder: Path, compiler: str, *arguments: str) -> None:
    """Run a compiler in a folder; what it complains about fails the test."""
    command = [require(compiler), *arguments]

    def run() -> str:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"{compiler} {' '.join(arguments)}\n{done.stderr[:4000]}"
        return done.stderr

    object_cache.remembered(command, folder, run)


@dataclass(frozen=True)
class Libraries:
    """Whole libraries for each way to optimize, side by side in one folder. At `size` they share kernels."""

    programs: tuple[Program, ...]
    folder: Mapping[Optimize, Path]

    def sources(self, optimize: Optimize) -> list[str]:
        """What is compiled."""
        return sorted(path.name for path in self.folder[optimize].glob("*.c"))


def plain_selftest(graph: Graph) -> SelfTest:
    """Of the first inputs there are, without a search for better ones and runs that measure rounding."""
    draws = RandomInputs(0, 0), RandomInputs(0, 1)
    outputs = simulate.run_each(graph, [inputs(graph, draw) for draw in draws])
    return SelfTest(graph, draws, tuple(outputs))


def libraries(programs: Sequence[Program], folders: Mapping[Optimize, Path]) -> Libraries:
    """Write these programs, whose names must differ, with plain self-tests."""
    tests = {program.name: plain_selftest(program.graph) for program in programs}
    for optimize, folder in folders.items():
        files: dict[str, bytes] = {}
        for program in programs:
            files |= render(program, optimize, "c") | self_tests(program, tests[program.name])
        files = without_dead_code(files)
        write(sharing(files) if optimize == "size" else files, folder)
    return Libraries(tuple(programs), folders)


class Library:
    """Programs in one shared object."""

    def __init__(
        self,
        programs: Sequence[Program],
        folder: Path,
        optimize: Optimize = "speed",
        flags: Sequence[str] = (),
        compiler: str = "gcc",
    ) -> None:
        names = written(programs, folder, optimize)
        compiled(folder, compiler, *C99, "-O1", "-shared", "-fPIC", "-I.", *flags, *names, "-o", "library.so")
        self._library = ctypes.CDLL(str(folder / "library.so"))

    def run(self, program: Program, inputs: Mapping[str, Array], arena: Array) -> dict[str, Array]:
        """The outputs. `arena` may be larger than it must; its bytes stay as the program leaves them."""
        ins = [np.ascontiguousarray(stored(inputs[port.name])) for port in program.inputs]
        outs = [stored(np.zeros(port.type.shape, port.type.dtype.numpy)) for port in program.outputs]
        if program.row_port:
            return self._pushed(program, ins[0], arena)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*ins, *outs, arena)]
        getattr(self._library, f"{program.name}_run")(*pointers)
        ports = zip(program.outputs, outs, strict=True)
        return {port.name: restored(out, port.type.dtype) for port, out in ports}

    def start(self, program: Program, arena: Array) -> None:
        """Begin an input that arrives row by row."""
        getattr(self._library, f"{program.name}_start")(ctypes.c_void_p(arena.ctypes.data))

    def push(self, program: Program, row: Array, arena: Array) -> int:
        """Give it a row, which is overwritten afterwards; what the library answers."""
        row = row.copy()
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (row, arena)]
        answer = int(getattr(self._library, f"{program.name}_push")(*pointers))
        row.fill(0)
        return answer

    def _pushed(self, program: Program, x: Array, arena: Array) -> dict[str, Array]:
        """The outputs, in the arena, of an input that arrives row by row."""
        assert program.row_port
        rows = x.reshape(program.row_port.rows, -1)
        self.start(program, arena)
        answers = [self.push(program, row, arena) for row in rows]
        assert answers == [0] * (len(rows) - 1) + [1]
        return outputs(program, arena)


def outputs(program: Program, arena: Array) -> dict[str, Array]:
    """Those that are parts of the arena."""
    found = {}
    for port in program.outputs:
        assert port.offset is not None
        plain = stored(np.empty(0, port.type.dtype.numpy)).dtype
        numbers = arena[port.offset : port.offset + port.type.bytes].view(plain).reshape(port.type.shape)
        found[port.name] = restored(numbers.copy(), port.type.dtype)
    return found


def memory(size: int, fill: int, align: int = 64) -> Array:
    """So many bytes of one value, at an aligned address."""
    room = np.full(size + align, fill, np.uint8)
    start = -room.ctypes.data % align
    return room[start : start + size]


def differences(library: Library, program: Program) -> list[str]:
    """Where runs differ from the simulator: outputs, and bytes around the arena, whatever was in there."""
    guard, size = 64, program.arena.size
    inputs = simulate.random_inputs(program.graph, 1)
    expected = simulate.run(program.graph, inputs)
    found: list[str] = []
    for fill in (0x00, 0xA5):
        room = memory(guard + size + guard, fill)
        made = library.run(program, inputs, room[guard : guard + size])
        found += [
            f"{program.name}: {name}" for name, y in expected.items() if not np.array_equal(made[name], y)
        ]
        for where, around in (("in front of", room[:guard]), ("behind", room[guard + size :])):
            if np.any(around != fill):
                found.append(f"{program.name} writes {where} its arena")
    return found
