"""Links a library into a WebAssembly module: no imports, memory of just what it needs, which never grows."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import edgekit
from edgekit.codegen.compilation import build, publish, toolchain, wasm
from edgekit.codegen.execution import runner
from edgekit.codegen.packages._zeros import without_zeros
from edgekit.codegen.printing.render import Optimize, Weights, environment
from edgekit.codegen.program import Program
from edgekit.codegen.verification import verify
from edgekit.codegen.verification.selftest import SelfTest, prepare
from edgekit.core.escape import Code
from edgekit.core.progress import Progress

_BARE = Path(str(files("edgekit.runtime_c"))) / "bare"
_ENTRY = "edgekit_module.c"


@dataclass(frozen=True)
class Module:
    """A linked module, and what its memory is for."""

    target: str
    data: bytes
    pages: int  # of memory, from the first to the last run
    stack: int
    verification: verify.Verification | None


def link(
    program: Program,
    optimize: Optimize,
    weights: Weights = "auto",
    *,
    check: bool | None = None,
    test: SelfTest | None = None,
    progress: Progress = lambda step: None,
) -> Module:
    """Compile and link; compare with the simulator what was linked, as `build` does."""
    compiler = toolchain.find(program.target)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        folder = Path(scratch)
        test = test or prepare(program.graph)
        library = build.generate(program, optimize, weights, test)
        publish.write(library, folder)
        progress(f"compiling for {program.target.name}")
        objects = build.compile_objects(program, library, folder, compiler, optimize)
        stack = build.stack_bound(program, folder)
        assert stack is not None, "the compilers of WebAssembly tell of every frame"
        (folder / _ENTRY).write_text(_entry(program), encoding="utf-8")
        data = _linked(program, objects, folder, compiler, optimize, stack)
        verified = None
        if check or (check is None and not runner.why_not_here(program.target)):
            driver = verify.drive(program, objects, folder, compiler, optimize)
            build.with_self_test(library, program, verify.settled(program, driver, test), folder)
            samples = verify.random_samples(program)
            verified = verify.verify(program, driver, compiler, objects, samples, progress)
            if check:
                verify.insist(verified)
    return Module(program.target.name, data, wasm.pages(data), stack, verified)


def _entry(program: Program) -> str:
    """The C file with the memory of a run, and the functions that JavaScript calls."""
    ports = [f"ek_port_{port.c}" for port in (*program.inputs, *program.outputs)]
    state = ["&ek_module_state"] * bool(program.states)
    arguments = [*(ports if program.ports == "caller" else ()), *state, "ek_module_arena"]
    return (
        environment()
        .get_template("npm/module.c.j2")
        .render(
            p=program,
            version=edgekit.__version__,
            guard=program.name.upper(),
            wants_exact=wasm.wants_exact(program),
            align=max(program.target.align, 16),
            arguments=Code(", ".join(arguments)),
        )
    )


def _linked(
    program: Program,
    objects: list[str],
    folder: Path,
    compiler: toolchain.Compiler,
    optimize: Optimize,
    stack: int,
) -> bytes:
    """Link once to learn how much memory there is, and once more to state that as the most, too. The stack
    lies below everything else: where it ended, an access would trap and not destroy anything."""
    flags = [*build.BASE_FLAGS, verify.LEVEL[optimize], *program.target.cflags]
    command = [*flags, *runner.compile_flags(program.target), "-I.", _ENTRY, *objects]
    if not compiler.name.startswith("zig"):  # which brings memcpy and memset itself
        command.append(str(_BARE / "common.c"))
    command += [*wasm.LINK_FLAGS, f"-Wl,-z,stack-size={stack + -stack % 16}"]
    compiler.run([*command, "-o", "sized.wasm"], folder)
    pages = wasm.pages((folder / "sized.wasm").read_bytes())
    limits = [f"-Wl,--initial-memory={pages * wasm.PAGE}", f"-Wl,--max-memory={pages * wasm.PAGE}"]
    compiler.run([*command, *limits, "-o", "module.wasm"], folder)
    return without_zeros((folder / "module.wasm").read_bytes())
