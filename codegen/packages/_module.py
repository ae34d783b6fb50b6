"""Links a library into a WebAssembly module: no imports, memory of just what it needs, which never grows.

Weights that are a binary file of the library stay one: the module has room for them, which JavaScript fills.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import edgekit
from edgekit.codegen.compilation import build, library_objects, publish, toolchain, wasm
from edgekit.codegen.execution import runner
from edgekit.codegen.packages._text import text_of
from edgekit.codegen.packages._weights import Part, parts
from edgekit.codegen.packages._zeros import without_zeros
from edgekit.codegen.printing.render import Weights, environment, weight_blocks
from edgekit.codegen.program import Port, Program
from edgekit.codegen.verification import verify
from edgekit.codegen.verification.selftest import SelfTest, prepare
from edgekit.core.escape import Code
from edgekit.core.progress import Progress
from edgekit.core.target import Optimize, Target

_BARE = Path(str(files("edgekit.runtime_c"))) / "bare"
ENTRY = "edgekit_module.c"
_ROOM = "edgekit_room.S"
_MAX_MEMORY_BYTES = 2**32 - wasm.PAGE  # bytes: more than any model has


@dataclass(frozen=True)
class Module:
    """A linked module, and what its memory is for: that of a module with `threads` comes from JavaScript."""

    target: str
    threads: bool
    data: bytes
    pages: int  # of memory, from the first to the last run
    stack: int
    verification: verify.Verification | None
    parts: tuple[Part, ...] = ()  # weights that JavaScript brings into its memory; none: they are in it
    room: int = 0  # bytes of memory for them
    text: bytes = b""  # a module of tokenizer and sampler alone, for a model that runs on GPUs


def link(
    program: Program,
    optimize: Optimize,
    weights: Weights = "auto",
    *,
    check: bool | None = None,
    test: SelfTest | None = None,
    threads: bool = False,
    segments: bool = False,
    progress: Progress = lambda step: None,
) -> Module:
    """Compile and link; compare with the simulator what was linked, as `build` does. With `threads`, workers
    that have the same memory take parts of the layers. Of `segments`, JavaScript runs each entry of the
    program by its number, and weights are in the module."""
    if threads:
        program = replace(program, target=_with_atomics(program.target))
    compiler = toolchain.find(program.target)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        folder = Path(scratch)
        test = test or prepare(program.graph, [other.graph for other in program.entries])
        library = build.generate(program, optimize, weights, test)
        publish.write(library, folder)
        progress(f"compiling for {program.target.name}")
        objects = library_objects.compile_objects(program, library, folder, compiler, optimize)
        stack = library_objects.stack_bound(program, folder)
        assert stack is not None, "the compilers of WebAssembly tell of every frame"
        stack += -stack % 16
        apart = f"{program.name}_weights.bin" in library and not segments
        text = segment_entry(program) if segments else entry(program, stack, threads, apart)
        (folder / ENTRY).write_text(text, encoding="utf-8")
        linked = objects
        if apart:
            (folder / _ROOM).write_text(room(program), encoding="utf-8")
            linked = [_ROOM if name == f"{program.name}_weights.o" else name for name in objects]
        data, pages = _linked(program, linked, folder, compiler, optimize, stack, threads)
        words = b""
        if program.target.gpu and text_of(program):
            (folder / ENTRY).write_text(text_entry(program), encoding="utf-8")
            words, _ = _linked(program, objects, folder, compiler, optimize, stack, threads=False)
        verified = None
        if check or (check is None and not runner.why_not_here(program.target)):
            driver = verify.drive(program, objects, folder, compiler, optimize)
            build.with_self_test(library, program, verify.settled(program, driver, test), folder)
            samples = verify.random_samples(program)
            verified = verify.verify(program, driver, compiler, objects, samples, progress)
            if check:
                verify.insist(verified, program.graph)
    own = parts(program) if apart else ()
    size = sum(len(block) for _, block in weight_blocks(program)) if apart else 0
    return Module(program.target.name, threads, data, pages, stack, verified, own, size, words)


def room(program: Program) -> str:
    """Assembly that has zeros in the place of the weights, with the names of the constants."""
    blocks = [(constant.c, len(data)) for constant, data in weight_blocks(program)]
    return environment().get_template("npm/room.S.j2").render(name=program.name, blocks=blocks)


def entry(program: Program, stack: int, threads: bool, brings_weights: bool = False) -> str:
    """The C file with the memory of a run, and the functions that JavaScript calls; it may bring weights."""
    ports = [f"ek_port0_{port.c}" for port in (*program.inputs, *program.outputs)]
    state = ["&ek_module_state"] * bool(program.states)
    arguments = [*(ports if program.ports == "caller" else ()), *state, "ek_module_arena"]
    return (
        environment()
        .get_template("npm/module.c.j2")
        .render(
            p=program,
            version=edgekit.__version__,
            guard=program.name.upper(),
            text=text_of(program),
            workers=(program.target.cores - 1) * threads,
            stack=stack,
            wants_exact=wasm.wants_exact(program),
            align=max(program.target.align, 16),
            arguments=Code(", ".join(arguments)),
            brings_weights=brings_weights,
        )
    )


def text_entry(program: Program) -> str:
    """The C file of tokenizer and sampler alone: of the library, what it does not call is not linked."""
    return (
        environment()
        .get_template("npm/text_module.c.j2")
        .render(
            p=program,
            version=edgekit.__version__,
            guard=program.name.upper(),
            text=text_of(program),
        )
    )


def segment_entry(program: Program) -> str:
    """The C file of CPU segments: memory for what each of them reads and writes, by its number."""
    runs: list[tuple[Program, list[int]]] = []
    tensors: list[Port] = []
    for each in (program, *program.entries):
        ports = [*each.inputs, *each.outputs]
        runs.append((each, list(range(len(tensors), len(tensors) + len(ports)))))
        tensors += ports
    template = environment().get_template("npm/segments.c.j2")
    return template.render(
        p=program,
        version=edgekit.__version__,
        guard=program.name.upper(),
        wants_exact=any(map(wasm.wants_exact, (program, *program.entries))),
        align=max(program.target.align, 16),
        runs=runs,
        tensors=tensors,
    )


def _linked(
    program: Program,
    objects: list[str],
    folder: Path,
    compiler: toolchain.Compiler,
    optimize: Optimize,
    stack: int,
    threads: bool,
) -> tuple[bytes, int]:
    """Link once to learn how many pages of memory there are, and once more to state that as the most, too.
    The stack is below everything else: where it ended, an access would trap and not destroy anything."""
    flags = [*library_objects.BASE_FLAGS, verify.LEVEL[optimize], *program.target.cflags]
    common = str(_BARE / "common.c")  # memcpy and memset, where a library calls them
    command = [*flags, *runner.compile_flags(program.target), "-I.", ENTRY, common, *objects]
    command += [*wasm.LINK_FLAGS, f"-Wl,-z,stack-size={stack}"]
    if threads:  # a worker begins with a stack of its own
        command += ["-Wl,--shared-memory", "-Wl,--export=__stack_pointer"]
    compiler.run([*command, *[f"-Wl,--max-memory={_MAX_MEMORY_BYTES}"] * threads, "-o", "sized.wasm"], folder)
    pages = wasm.pages((folder / "sized.wasm").read_bytes())
    limits = [f"-Wl,--initial-memory={pages * wasm.PAGE}", f"-Wl,--max-memory={pages * wasm.PAGE}"]
    limits += ["-Wl,--import-memory"] * threads
    compiler.run([*command, *limits, "-o", "module.wasm"], folder)
    module = (folder / "module.wasm").read_bytes()
    return module if threads else without_zeros(module), pages


def _with_atomics(target: Target) -> Target:
    """The target with the instructions for threads."""
    compilers = [f"{c}+atomics" if c.startswith("zig") else f"{c} -matomics" for c in target.compilers]
    return replace(target, compilers=tuple(compilers))
