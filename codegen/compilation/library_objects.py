"""Compiles the files of a library and measures them: code, constants and stack, by each compiler."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgekit.codegen.compilation import stack, toolchain, wasm
from edgekit.codegen.compilation.objects import section_sizes
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.execution import runner
from edgekit.codegen.printing.render import sources
from edgekit.codegen.program import Program
from edgekit.codegen.verification.verify import LEVEL
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Optimize, Target

# Flags of every build: one meaning of floats everywhere, and sections that a linker can drop.
FLOATS = ("-ffp-contract=off", "-fno-math-errno")
BASE_FLAGS = ("-std=c99", *FLOATS, "-ffunction-sections", "-fdata-sections")
_WARNINGS = "warnings.txt"  # of the compiler


@dataclass(frozen=True)
class CompiledSizes:
    """Bytes of the same library by another compiler."""

    compiler: str
    code: int
    constants: int
    stack: int | None  # None: a frame is unbounded, or the compiler does not tell


def by_other_compilers(
    program: Program, files: Mapping[str, bytes], optimize: Optimize, compiler: toolchain.Compiler
) -> Iterator[CompiledSizes]:
    """By each further compiler of a microcontroller that is installed: firmware takes that of its SDK."""
    if not program.target.startup:
        return
    for other in toolchain.installed(program.target):
        if other.family != compiler.family:
            with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
                sizes = _measured(program, files, optimize, other, Path(folder))
            if sizes:
                yield CompiledSizes(other.name, sizes.code, sizes.constants, sizes.stack)


def stack_by_gcc(target: Target, sizes: toolchain.Sizes | None, compiler: toolchain.Compiler) -> int | None:
    """What a run takes at most where gcc compiles the library later, by trials with both compilers."""
    if not sizes or not sizes.stack or not target.gcc_stack or compiler.family == "gcc":
        return None
    return -(-sizes.stack * target.gcc_stack // 100)


def _measured(
    program: Program,
    files: Mapping[str, bytes],
    optimize: Optimize,
    compiler: toolchain.Compiler,
    folder: Path,
) -> toolchain.Sizes | None:
    """None where this compiler is too old for the target, or lacks a part: another one did compile it."""
    write(files, folder)
    try:
        objects = compile_objects(program, files, folder, compiler, optimize)
    except EdgeKitError:
        return None
    return measure(program, objects, folder, compiler)


def library_sources(files: Mapping[str, bytes]) -> list[str]:
    """What is compiled into the library."""
    return [path for path in sources(files) if not path.endswith("_selftest.c")]


def compile_objects(
    program: Program,
    files: Mapping[str, bytes],
    folder: Path,
    compiler: toolchain.Compiler,
    optimize: Optimize,
) -> list[str]:
    """Compile the library in its folder; the names of the object files."""
    names = library_sources(files)
    flags = [
        *BASE_FLAGS,
        LEVEL[optimize],
        *program.target.cflags,
        *runner.compile_flags(program.target),
        "-I.",
    ]
    objects = [f"{Path(name).stem}.o" for name in names]
    warnings = ""
    for name, made in zip(names, objects, strict=True):  # not every compiler takes several at once
        warnings += compiler.run([*flags, *compiler.stack_flags, "-c", name, "-o", made], folder)
    (folder / _WARNINGS).write_text(warnings)
    return objects


def measure(
    program: Program, objects: Sequence[str], folder: Path, compiler: toolchain.Compiler
) -> toolchain.Sizes | None:
    """The exact sizes of a compiled library; None where its object files are of an unknown format."""
    paths = [folder / name for name in objects]
    if all(path.read_bytes().startswith(wasm.MAGIC) for path in paths):
        # Object files hold room for the linker's changes: the module is what ships.
        code, constants = wasm.sizes(wasm.link_library(program, objects, folder, compiler).read_bytes())
    else:
        sizes = section_sizes(paths)
        if sizes is None:
            return None
        code, constants, writable = sizes
        assert not writable, "generated code has no writable globals"
    return toolchain.Sizes(code, constants, stack_bound(program, folder))


def stack_bound(program: Program, folder: Path) -> int | None:
    """Bytes of stack that a run of any entry takes, from what the compiler left in this folder."""
    bounds = [_stack_bound(entry, folder) for entry in (program, *program.entries)]
    known = [bound for bound in bounds if bound is not None]
    return max(known) if len(known) == len(bounds) else None


def _stack_bound(program: Program, folder: Path) -> int | None:
    entry = program.function
    # The function of a layer in code for speed, and that of its kernel in code for size.
    layers = [(f"{program.name}_{x.c}", x.kernel) for x in program.lines]
    pushed = [
        (kernel.assembly, kernel.stack, (name, kernel.symbol)) for name, kernel in layers if kernel.stack
    ]
    if graphs := sorted(folder.glob("*.ci")):
        return stack.bound_of_call_graphs(graphs, entry, pushed)
    warnings = (folder / _WARNINGS).read_text()
    objects = [path.read_bytes() for path in sorted(folder.glob("*.o"))]
    known = stack.own_functions(program.target.isa)
    found = stack.bound_of_objects(objects, warnings, entry, known, pushed)
    if found is None:
        names = {name for own, kernel in layers for name in (own, kernel.symbol)}
        unseen = max((size for _, size, _ in pushed), default=0)
        found = stack.bound_of_frames(warnings, entry, names) + unseen
    return found
