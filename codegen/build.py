"""Graph -> folder: writes the generated library, compiles it, measures it, and checks it against the simulator."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import edgekit
from edgekit.codegen import selftest, toolchain
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.render import Optimize, render, sources
from edgekit.codegen.verify import Verification, verify
from edgekit.errors import EdgeKitError
from edgekit.ir import Graph
from edgekit.target import Target

# Flags of every build: one meaning of floats everywhere, and sections that a linker can drop.
BASE_FLAGS = ("-std=c99", "-ffp-contract=off", "-fno-math-errno", "-ffunction-sections", "-fdata-sections")
LEVEL = {"size": "-Os", "speed": "-O3"}


@dataclass(frozen=True)
class Report:
    """What is known when a build ends."""

    name: str
    target: str
    optimize: str
    folder: str
    files: tuple[str, ...]
    macs: int
    weight_bytes: int
    arena_bytes: int
    arena_lower_bound: int
    code_bytes: int | None = None  # None: not compiled
    constant_bytes: int | None = None
    stack_bytes: int | None = None
    compiler: str = ""
    verification: Verification | None = None

    @property
    def flash_bytes(self) -> int | None:
        return None if self.code_bytes is None else self.code_bytes + (self.constant_bytes or 0)


def build(
    graph: Graph, target: Target, folder: Path, *, optimize: Optimize = "speed", check: bool = True
) -> Report:
    """Write the library into `folder`; compile and verify it unless `check` is off or there is no compiler."""
    program = compile_graph(graph, target)
    files = generate(program, optimize)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        work = Path(scratch)
        write(files, work)
        try:
            compiler: toolchain.Compiler | None = toolchain.find(target)
        except EdgeKitError:
            compiler = None
        sizes = measure(program, files, work, compiler, optimize) if compiler else None
        verification = None
        if check and compiler:
            verification = verify(program, files, work, compiler, optimize)
        publish(files, folder)
    return Report(
        name=program.name,
        target=target.name,
        optimize=optimize,
        folder=str(folder),
        files=tuple(files),
        macs=program.macs,
        weight_bytes=program.weight_bytes,
        arena_bytes=program.arena.size,
        arena_lower_bound=program.arena.lower_bound,
        code_bytes=sizes.code if sizes else None,
        constant_bytes=sizes.constants if sizes else None,
        stack_bytes=sizes.stack if sizes else None,
        compiler=compiler.name if compiler else "",
        verification=verification,
    )


def generate(program: Program, optimize: Optimize) -> dict[str, bytes]:
    """Every file of the library, manifest included."""
    files = render(program, optimize)
    files[f"{program.name}_selftest.c"] = selftest.render(program)
    manifest = {
        "edgekit": edgekit.__version__,
        "name": program.name,
        "target": program.target.name,
        "optimize": optimize,
        "source": {"file": program.graph.source.file, "sha256": program.graph.source.sha256},
        "arena_bytes": program.arena.size,
        "weight_bytes": program.weight_bytes,
        "macs": program.macs,
        "sha256": {path: hashlib.sha256(data).hexdigest() for path, data in sorted(files.items())},
    }
    files["edgekit.manifest.json"] = (json.dumps(manifest, indent=2) + "\n").encode()
    return dict(sorted(files.items()))


def write(files: Mapping[str, bytes], folder: Path) -> None:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def publish(files: Mapping[str, bytes], folder: Path) -> None:
    """Put the files into the user's folder, each whole or not at all, and drop what an earlier build left."""
    stale = _files_of_earlier_build(folder) - set(files)
    for path, data in files.items():
        destination = folder / path
        destination.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=destination.parent, prefix=".edgekit-")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o644)
        os.replace(name, destination)
    for path in stale:
        (folder / path).unlink(missing_ok=True)


def _files_of_earlier_build(folder: Path) -> set[str]:
    """What the manifest in the folder lists, where the file is still as it was written."""
    try:
        listed = json.loads((folder / "edgekit.manifest.json").read_text(encoding="utf-8"))["sha256"]
        return {
            path
            for path, digest in listed.items()
            if ".." not in Path(path).parts
            and not Path(path).is_absolute()
            and hashlib.sha256((folder / path).read_bytes()).hexdigest() == digest
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


def measure(
    program: Program,
    files: Mapping[str, bytes],
    folder: Path,
    compiler: toolchain.Compiler,
    optimize: Optimize,
) -> toolchain.Sizes:
    """Compile the library and read its exact sizes."""
    names = [s for s in sources(files, optimize) if not s.endswith("_selftest.c")]
    flags = [*BASE_FLAGS, LEVEL[optimize], *program.target.cflags, "-I."]
    if compiler.family == "gcc":
        flags.append("-fcallgraph-info=su")
    compiler.run([*flags, "-c", *names], folder)
    objects = [folder / (Path(n).stem + ".o") for n in names]
    code, constants, writable = toolchain.section_sizes(objects)
    assert not writable, "generated code has no writable globals"
    stack = toolchain.stack_bound(sorted(folder.glob("*.ci")), f"{program.name}_run")
    return toolchain.Sizes(code, constants, stack)


def has_compiler(target: Target) -> bool:
    """Is there a compiler for this target?"""
    try:
        toolchain.find(target)
    except EdgeKitError:
        return False
    return True


def clean(folder: Path) -> None:
    """Remove a folder of ours, whatever is in it."""
    shutil.rmtree(folder, ignore_errors=True)
