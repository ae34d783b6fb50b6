"""Graph -> folder: writes the generated library, compiles it, measures it, compares it with the simulator."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import edgekit
from edgekit.codegen import packages
from edgekit.codegen.compilation import budget, publish, sbom, toolchain
from edgekit.codegen.compilation.library_objects import (
    CompiledSizes,
    by_other_compilers,
    compile_objects,
    library_sources,
    measure,
    stack_by_gcc,
)
from edgekit.codegen.compilation.objects import named_sections
from edgekit.codegen.compilation.publish import write as write
from edgekit.codegen.cost import code_size, instructions
from edgekit.codegen.cost.code_size import CodeSize
from edgekit.codegen.cost.weight_loads import loaded_bytes, total_loads
from edgekit.codegen.entries import with_entries
from edgekit.codegen.entry_summaries import EntrySummary, entry_summaries
from edgekit.codegen.execution import runner
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.gpu.summary import GpuSummary, summary
from edgekit.codegen.library_map import LibraryMap, library_map
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.memory.planner import Peak
from edgekit.codegen.memory.sharing import Ports
from edgekit.codegen.packages import NO_CONTENT, Content, Packaged
from edgekit.codegen.printing import weights_blob
from edgekit.codegen.printing.dead_code import without_dead_code
from edgekit.codegen.printing.render import Weights, render
from edgekit.codegen.program import Program
from edgekit.codegen.row_plans import RowGain
from edgekit.codegen.verification import selftest, selftest_source
from edgekit.codegen.verification import verify as verification
from edgekit.codegen.verification.selftest import SelfTest
from edgekit.codegen.verification.verify import Verification
from edgekit.core.errors import EdgeKitError
from edgekit.core.files import unlinked
from edgekit.core.ir import Graph, RemovedWork
from edgekit.core.notebook import Number, card
from edgekit.core.passes.stored_weights import narrow_weights
from edgekit.core.progress import Progress
from edgekit.core.target import Optimize, Target
from edgekit.core.types import Array


@dataclass(frozen=True)
class CallSummary:
    """One kernel call of the library."""

    name: str  # in the generated C
    origin: str  # the layer of the source model
    kernel: str
    macs: int
    weight_bytes: int  # of constants that no earlier layer uses
    weight_load_bytes: int | None  # of its weights, that a run loads; None: its kernel does not say


@dataclass(frozen=True)
class Report:
    """What is known when a build ends."""

    name: str
    target: str
    optimize: str
    folder: str
    files: tuple[str, ...]
    layers: tuple[CallSummary, ...]
    macs: int
    weight_bytes: int
    weight_load_bytes: int | None  # that a run loads; None where a kernel does not say how often
    arena_bytes: int
    arena_lower_bound: int  # no plan for this order of layers needs less
    working_bytes: int  # arena, inputs and outputs
    peak: Peak | None  # what fills the arena
    # What searches did until their budgets ended them: pairs of buffers that were compared, and layers that
    # were run in other orders. 0 where nothing better exists.
    arena_compared: int = 0
    order_runs: int = 0
    branches: int = 0  # conditions that decide which layers run
    loops: int = 0
    row_gain: RowGain | None = None  # of layers that run as loops over rows, where less memory is asked for
    state_bytes: int = 0  # what the caller keeps for each stream
    blob_bytes: int = 0  # of the file of weights that runs are given; 0: they are linked
    code_bytes: int | None = None  # None: not compiled
    constant_bytes: int | None = None  # weights, parameters of the layers, tables
    stack_bytes: int | None = None  # None: not compiled, or the compiler does not tell
    compiler: str = ""
    by_other_compilers: tuple[CompiledSizes, ...] = ()  # of microcontrollers
    stack_by_gcc: int | None = None  # bytes at most by trials, where no gcc is installed for it
    verification: Verification | None = None
    unverified: str = ""  # why the compiled code was not compared with the simulator
    warning: str = ""  # what will not fit on the target, outside of the library
    removed: RemovedWork | None = None  # dead channels, when the model was read
    narrow_weights: Mapping[str, int] = field(default_factory=dict)  # of float layers: bytes by format
    repeated_weights: Mapping[str, int] = field(default_factory=dict)  # stored in several layouts: bytes more
    entries: tuple[EntrySummary, ...] = ()  # beside the main one; weights and arena above are of all
    packages: tuple[Packaged, ...] = ()  # made of it, in folders of their own
    gpu: GpuSummary | None = None  # of a library or package with a path for GPUs
    map: LibraryMap | None = field(default=None, repr=False, compare=False, metadata={"json": False})
    # Where it was not compiled, and the kernels of the target are known from other libraries.
    code_estimate: CodeSize | None = field(default=None, repr=False, metadata={"json": False})

    @property
    def flash_bytes(self) -> int | None:
        return None if self.code_bytes is None else self.code_bytes + (self.constant_bytes or 0)

    def __repr__(self) -> str:
        flash = "not compiled" if self.flash_bytes is None else f"flash {self.flash_bytes:,} B"
        checked = "verified" if self.verification else "not verified"
        return f"<Report {self.name} on {self.target}: {flash}, arena {self.arena_bytes:,} B, {checked}>"

    def _repr_html_(self) -> str:
        """In notebooks."""
        run = self.map.run if self.map else None
        figures = [
            ("flash", "not compiled" if self.flash_bytes is None else f"{self.flash_bytes:,} B"),
            ("arena", f"{self.arena_bytes:,} B"),
            ("stack", "unknown" if self.stack_bytes is None else f"{self.stack_bytes:,} B"),
            ("MACs", f"{self.macs:,}"),
            *([("instructions", f"{run.total:,}, within {run.error:.1%}")] if run else []),
            ("verified", "yes" if self.verification else f"no: {self.unverified}"),
            ("folder", self.folder),
        ]
        counts = [layer.instructions or 0 for layer in run.layers] if run else [x.macs for x in self.layers]
        most = max(counts, default=0) or 1
        rows = [
            (x.name, x.kernel, Number(f"{x.weight_bytes:,}"), Number(f"{count:,}", count / most))
            for x, count in zip(self.layers, counts, strict=True)
        ]
        head = ("layer", "kernel", "weights, B", "instructions" if run else "MACs")
        return card(f"{self.name} on {self.target}, for {self.optimize}", figures, head, rows)


def build(
    graph: Graph,
    target: Target,
    folder: Path | None = None,
    *,
    optimize: Optimize = "speed",
    weights: Weights = "auto",
    ports: Ports = "caller",
    check: bool | None = None,
    package: Sequence[str] = (),
    helpers: Sequence[str] = (),
    content: Content = NO_CONTENT,
    samples: Sequence[Mapping[str, Array]] = (),
    entries: Mapping[str, Graph] | None = None,
    bill: bool = False,
    force: bool = False,
    progress: Progress = lambda step: None,
) -> Report:
    """Write the library into `folder`, by default one with its name, after it was compiled and compared with
    the simulator. `ports`: inputs and outputs are the caller's, or parts of the arena; with "rows" the input
    arrives row by row, and outputs are parts of the arena. `check` is False to leave the comparison out, True
    to insist, None to do what is possible here. `weights` by "pointer" are a file, whose content each run is
    given. `package` names kinds of packages to make of it, each in a folder of its own in there, `helpers`
    what to add to them, and `content` what their examples show. `samples` are typical inputs, which are
    compared beside random ones. `entries` get a run function each: entries.py.
    `bill` adds a software bill of materials to the library and to each package."""
    packages.check(package, helpers, target, content)
    packages.check_entries(package, entries or ())
    packages.check_ports(package, ports)
    progress("planning")
    by_pointer = weights == "pointer"
    if by_pointer:
        packages.check_pointer(package, target)
    program = fit(graph, target, ports, optimize=optimize, by_pointer=by_pointer)
    program = with_entries(program, entries or {})
    packages.check_content(program, content)
    folder = folder or Path(unlinked(program.name))
    test = selftest.prepare(graph, [entry.graph for entry in program.entries])
    files = generate(program, optimize, weights, test)
    if not force:
        publish.check(files, folder)
    compiler, reason = _compiler(target, insist=bool(check))
    sizes, verified, sections, others = None, None, dict[tuple[str, str], int](), tuple[CompiledSizes, ...]()
    budget.check(program, None, _weights_of(program))
    if compiler:
        with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
            work = Path(scratch)
            program, files, objects, sizes = settled(
                program,
                files,
                work,
                compiler,
                optimize=optimize,
                weights=weights,
                progress=progress,
                test=test,
            )
            others = tuple(by_other_compilers(program, files, optimize, compiler))
            sections = named_sections(work / name for name in objects)
            budget.check(program, sizes, _weights_of(program))
            if check is False:
                reason = "verification was switched off"
            elif check or not reason:
                driver = verification.drive(program, objects, work, compiler, optimize)
                test = verification.settled(program, driver, test)
                files = with_self_test(files, program, test, work)
                drawn = verification.random_samples(program)
                inputs = [*drawn.samples, *samples] if samples else drawn
                verified = verification.verify(program, driver, compiler, objects, inputs, progress)
                if check:
                    verification.insist(verified, graph)
                elif verified.shortfall:
                    reason, verified = f"{verified.shortfall}: {verification.more_samples(graph)}", None
    name = compiler.name if compiler else ""
    request = packages.PackageRequest(
        program,
        optimize,
        weights,
        check,
        helpers=tuple(helpers),
        sizes=sizes,
        compiler=name,
        sbom=bill,
        progress=progress,
        test=test,
        content=content,
    )
    made = [packages.make(kind, request) for kind in package]
    more = {f"{one.kind}/{path}": data for one in made for path, data in one.files.items()}
    if bill:
        library = {path: data for path, data in files.items() if path != publish.MANIFEST}
        more |= sbom.file(program, library, optimize, name)
    files, largest = _with_manifest(files, more), program.largest
    publish.publish(files, folder, force=force)
    return Report(
        name=program.name,
        target=target.name,
        optimize=optimize,
        folder=str(folder),
        files=tuple(files),
        layers=tuple(layers_of(program)),
        macs=program.macs,
        weight_bytes=program.library_weight_bytes,
        weight_load_bytes=total_loads(program.lines),
        arena_bytes=program.arena_bytes,
        arena_lower_bound=largest.arena.lower_bound,
        working_bytes=max(entry.working_bytes for entry in (program, *program.entries)),
        peak=largest.peak,
        arena_compared=0 if largest.arena.optimal else largest.arena.compared,
        order_runs=largest.order_runs,
        branches=program.branches,
        loops=program.loops,
        row_gain=largest.row_gain,
        state_bytes=program.state_bytes,
        removed=program.graph.source.removed,
        blob_bytes=weights_blob.size(program) if by_pointer else 0,
        narrow_weights=narrow_weights(program.graph),
        repeated_weights=program.repeated_weights,
        code_bytes=sizes.code if sizes else None,
        constant_bytes=sizes.constants if sizes else None,
        stack_bytes=sizes.stack if sizes else None,
        compiler=name,
        by_other_compilers=others,
        stack_by_gcc=stack_by_gcc(target, sizes, compiler) if compiler and not others else None,
        verification=verified,
        unverified=reason,
        warning=budget.warning(program, sizes),
        entries=tuple(entry_summaries(program, optimize)),
        packages=tuple(one.summary for one in made),
        gpu=summary(*program.gpu_plans) if program.target.gpu else None,
        map=library_map(program, sizes, sections, instructions.estimated(program, optimize)),
        code_estimate=None if sizes else code_size.estimated(program, files, optimize),
    )


def _with_manifest(files: Mapping[str, bytes], more: Mapping[str, bytes]) -> dict[str, bytes]:
    """The library and what was made of it, all in the manifest."""
    manifest = json.loads(files[publish.MANIFEST])
    manifest["sha256"] |= {path: hashlib.sha256(data).hexdigest() for path, data in sorted(more.items())}
    return {**files, **more, publish.MANIFEST: (json.dumps(manifest, indent=2) + "\n").encode()}


def settled(
    program: Program,
    files: dict[str, bytes],
    folder: Path,
    compiler: toolchain.Compiler,
    *,
    optimize: Optimize,
    weights: Weights = "auto",
    test: SelfTest,
    progress: Progress = lambda step: None,
) -> tuple[Program, dict[str, bytes], list[str], toolchain.Sizes | None]:
    """A program that is compiled and fits, if any does: with smaller weights, once it is known what is beside
    them. Its files, the names of its objects, and its sizes."""
    while True:
        write(files, folder)
        progress(f"compiling with {compiler.name}")
        objects = compile_objects(program, files, folder, compiler, optimize)
        sizes = measure(program, objects, folder, compiler)
        linked = 0 if program.by_pointer else program.weight_bytes
        smaller = fit(
            program.graph,
            program.target,
            program.ports,
            optimize=optimize,
            others=sizes.code + sizes.constants - linked if sizes else 0,
            before=program,
            by_pointer=program.by_pointer,
        )
        smaller = replace(smaller, entry_graphs=program.entry_graphs)
        if smaller.weight_bytes >= program.weight_bytes:
            return program, files, objects, sizes
        program, files = smaller, generate(smaller, optimize, weights, test)


def _compiler(target: Target, *, insist: bool) -> tuple[toolchain.Compiler | None, str]:
    """The compiler to use, and why its code cannot be verified, if so."""
    try:
        return toolchain.find(target), runner.why_not_verified(target)
    except EdgeKitError as error:
        if insist:
            raise
        return None, f"{error.message}; {error.hint}"


def _weights_of(program: Program) -> list[tuple[str, int]]:
    return [(layer.origin, layer.weight_bytes) for layer in layers_of(program)]


def layers_of(program: Program) -> Iterator[CallSummary]:
    """The kernel calls of a program, and what each of them adds to the constants."""
    bytes_of = {c.c: c.data.size * c.dtype.bytes for c in program.constants}
    seen: set[str] = set()
    for line in program.lines:
        constants = {o.place.name for o in line.operands if o.place.kind == "constant"} - seen
        seen |= constants
        size = sum(bytes_of[name] for name in constants)
        loads = loaded_bytes(line)
        yield CallSummary(line.c, line.origin, line.kernel.name, line.macs, size, loads)


@dataclass(frozen=True)
class Compiled:
    """A library, compiled for this machine."""

    driver: Driver
    compiler: toolchain.Compiler
    sources: tuple[str, ...]
    files: Mapping[str, bytes]
    test: SelfTest


@contextmanager
def compiled(
    program: Program, optimize: Optimize, progress: Progress = lambda step: None
) -> Iterator[Compiled]:
    """The library of a program, in a folder that is gone afterwards."""
    compiler = toolchain.find(program.target)
    test = selftest.prepare(program.graph, [entry.graph for entry in program.entries])
    files = generate(program, optimize, test=test)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        folder = Path(scratch)
        write(files, folder)
        progress(f"compiling with {compiler.name}")
        names = library_sources(files)
        driver = verification.drive(program, names, folder, compiler, optimize)
        yield Compiled(driver, compiler, tuple(names), files, test)


def verify(
    graph: Graph,
    target: Target,
    *,
    optimize: Optimize = "speed",
    ports: Ports = "caller",
    samples: Sequence[Mapping[str, Array]] | None = None,
    entries: Mapping[str, Graph] | None = None,
    progress: Progress = lambda step: None,
) -> Verification:
    """Compile the library and compare it with the simulator, on these samples or on random ones; then run the
    self-test that comes with it. `entries` beside it are compared on random ones."""
    program = with_entries(fit(graph, target, ports, optimize=optimize), entries or {})
    with compiled(program, optimize, progress) as made:
        test = verification.settled(program, made.driver, made.test)
        with_self_test(made.files, program, test, made.driver.executable.parent)
        given = verification.random_samples(program) if samples is None else samples
        found = verification.verify(program, made.driver, made.compiler, made.sources, given, progress)
        return verification.insist(found, graph)


def run(
    graph: Graph,
    target: Target,
    samples: Sequence[Mapping[str, Array]],
    *,
    optimize: Optimize = "speed",
    ports: Ports = "caller",
    progress: Progress = lambda step: None,
) -> list[dict[str, Array]]:
    """The outputs of the compiled library for each sample; where the graph has states, the samples are the
    steps of one stream."""
    program = fit(graph, target, ports, optimize=optimize)
    with compiled(program, optimize, progress) as made:
        results = []
        for i, outputs in enumerate(made.driver.run_each(program, samples)):
            progress(f"ran sample {i + 1} of {len(samples)}")
            results.append(outputs)
        return results


def with_self_test(
    files: Mapping[str, bytes], program: Program, test: SelfTest, folder: Path
) -> dict[str, bytes]:
    """The files with this self-test, which is written into the folder where it is another."""
    texts = {name: text for name, text in self_tests(program, test).items() if files[name] != text}
    if not texts:
        return dict(files)
    manifest = json.loads(files[publish.MANIFEST])
    for name, text in texts.items():
        (folder / name).write_bytes(text)
        manifest["sha256"][name] = hashlib.sha256(text).hexdigest()
    return {**files, **texts, publish.MANIFEST: (json.dumps(manifest, indent=2) + "\n").encode()}


def self_tests(program: Program, test: SelfTest) -> dict[str, bytes]:
    """The source of the self-test of each entry."""
    pairs = zip((program, *program.entries), (test, *test.entries), strict=True)
    return {f"{entry.name}_selftest.c": selftest_source.render(entry, own) for entry, own in pairs}


def generate(
    program: Program, optimize: Optimize, weights: Weights = "auto", test: SelfTest | None = None
) -> dict[str, bytes]:
    """Every file of the library, manifest included."""
    test = test or selftest.prepare(program.graph, [entry.graph for entry in program.entries])
    files = without_dead_code(render(program, optimize, weights) | self_tests(program, test))
    manifest = {
        "edgekit": edgekit.__version__,
        "name": program.name,
        "target": program.target.name,
        "optimize": optimize,
        "source": {"file": program.graph.source.file, "sha256": program.graph.source.sha256},
        "arena_bytes": program.arena_bytes,
        **({"cores": program.target.cores} if program.target.cores > 1 else {}),
        **({"ports": program.ports} if program.ports != "caller" else {}),
        **({"state_bytes": program.state_bytes} if program.states else {}),
        "weight_bytes": program.library_weight_bytes,
        "macs": program.macs,
        **(
            {"entries": {entry.name: entry.macs for entry in program.entries}} if program.entry_graphs else {}
        ),
        "sha256": {path: hashlib.sha256(data).hexdigest() for path, data in sorted(files.items())},
    }
    files[publish.MANIFEST] = (json.dumps(manifest, indent=2) + "\n").encode()
    return dict(sorted(files.items()))
