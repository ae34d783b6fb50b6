"""Targets that each have another instruction set first, with compilers that link quickly.

All of it is derived: a new instruction set is tested as soon as a target has it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from support import x86
from support.generated import written
from support.tools import require, require_module

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.cost.calibrations import calibrated
from edgekit.codegen.execution import runner
from edgekit.codegen.execution.driver import BACKWARDS, Driver
from edgekit.codegen.kernels.kernel_files import variants_of
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.target import Target
from edgekit.core.types import Array


def _by_set() -> Mapping[str, Target]:
    """By instruction set the target that has it first: where several do, the calibrated one, or the one with
    the shortest name. Boards and systems have the sets of a processor."""
    known = [targets.load(name) for name in targets.names()]
    processors = [t for t in known if t.core == t.name and not t.gpu and t.runner not in ("", "wine")]
    best = sorted(processors, key=lambda t: (t.name not in calibrated(), len(t.name), t.name), reverse=True)
    return {target.isa[0]: target for target in best}


_BY_SET = _by_set()
EVERY = tuple(sorted(target.name for target in _BY_SET.values()))
TARGETS = tuple(name for name in EVERY if name != "aarch64-sme")  # support/sme.py has all of its lengths
OWN_SETS = {  # of each target those that no other one has first
    target.name: [isa for isa in target.isa if _BY_SET.get(isa, target) is target]
    for target in _BY_SET.values()
}


def with_kernel(kernel: str, *, own: bool = True, boards: bool = True) -> Mapping[str, str]:
    """The targets whose instruction sets have kernels of a contract, beside portable C, and which of them.
    Their own are those that no other target has first."""
    found: dict[str, str] = {}
    for name in TARGETS:
        target = targets.load(name)
        sets = [isa for isa in (OWN_SETS[name] if own else target.isa) if isa != "ref"]
        isa = next((isa for isa in sets if variants_of(isa, kernel)), "")
        if isa and (boards or not target.board):
            found[name] = isa
    return found


def compiler(name: str) -> str:
    """What tests call: it links quickly, and compiles what is unoptimized as well."""
    if name.startswith("x86"):
        return "clang"  # gcc takes four times as long for tiles of vectors
    known = [command.split()[0] for command in targets.load(name).compilers]
    fits = "gcc" if name == "host" else "a*-gcc"
    is_broken = name == "cortex-m55"  # gcc ends with an internal error
    return next((command for command in known if fnmatch(command, fits) and not is_broken), "ziglang")


# The targets whose kernels multiply rows that are quantized in each run, as large blocks of outputs.
DYNAMIC_ROWS = with_kernel("dynamic_dense", boards=False)
# Those that have kernels for floats of their own, and portable C.
REALS = ("host", *with_kernel("dense"))


def load(name: str) -> Target:
    made = compiler(name)
    if name.startswith("x86"):
        return x86.load(name, made)
    target = targets.load(name)
    require_module(made) if made == "ziglang" else require(made)
    if target.runner == "wasmtime":
        require_module("wasmtime")
    elif target.runner != runner.NATIVE:
        require(target.runner.split()[0])
    chosen = tuple(c for c in target.compilers if c.startswith("zig" if made == "ziglang" else made))
    return replace(target, compilers=chosen or target.compilers)


# Optimizing takes two to five times as long, for what runs once; other tests run optimized code. Two of these
# compilers would keep a frame pointer where assembly wants its register, and check for undefined behaviour.
UNOPTIMIZED = ("-O0", "-fomit-frame-pointer", "-fno-sanitize=undefined")


def drive(program: Program, folder: Path, level: Sequence[str] = ()) -> Driver:
    return drive_all([program], folder, level)


def whole_and_in_parts(graph: Graph, target: Target, cores: int = 3) -> tuple[Program, Program]:
    """Programs with the same kernels: for one core, and for several, with as many parts as there may be."""
    several = replace(target, cores=cores, part_macs=1)
    return compile_graph(graph.with_name("whole"), target), compile_graph(graph.with_name("parts"), several)


def run_both(
    programs: tuple[Program, Program], inputs: Mapping[str, Array], folder: Path, level: Sequence[str] = ()
) -> Iterator[Mapping[str, Array]]:
    """The results as a whole, and in parts, the last ones first: of one executable, compiled once."""
    whole, parts = programs
    driver = drive_all(programs, folder, level)
    yield driver.run(whole, inputs)
    yield driver.with_threads(BACKWARDS).run(parts, inputs)


def drive_all(programs: Sequence[Program], folder: Path, level: Sequence[str] = ()) -> Driver:
    """One executable of programs that share kernels, and a processor."""
    target = programs[0].target
    # Unoptimized, the stack of all edges in one program would reach the data of this board.
    level = level or (("-O1",) if target.name == "cortex-m55" else UNOPTIMIZED)
    if target.name.startswith("x86"):
        return x86.drive_all(programs, folder, "size", level)
    names = written(programs, folder, "size")
    return Driver(programs, names, folder, toolchain.find(target), [*level, *target.cflags])
