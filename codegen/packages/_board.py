"""What packages for boards share: targets, the library's files, compiler options, and words about it all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import edgekit
from edgekit.codegen.compilation import build, library_objects, sbom
from edgekit.codegen.packages import Package, PackageRequest, _classes, _sample
from edgekit.codegen.packages._platforms import platforms_of
from edgekit.codegen.packages._words import meaning
from edgekit.codegen.printing.names import apart
from edgekit.codegen.printing.processor_checks import FLOATS, HELIUM, needs
from edgekit.codegen.printing.render import environment, model_origin
from edgekit.codegen.program import Port, Program
from edgekit.codegen.verification import verify
from edgekit.core.errors import EdgeKitError
from edgekit.core.escape import Code
from edgekit.core.target import Target
from edgekit.core.types import DType

VERSION = "1.0.0"  # of what is packed: the first one


def is_cortex_m(target: Target) -> bool:
    return target.startup == "cortex_m"


def is_riscv32(target: Target) -> bool:
    return target.core == "riscv32"


def is_xtensa(target: Target) -> bool:
    return target.core == "xtensa"


def check(package: str, target: Target, fits: bool, examples: str) -> None:
    """EdgeKitError unless the package fits the target."""
    if not fits:
        hint = f"--target {examples}; edgekit targets lists them all"
        raise EdgeKitError("E0103", f"there is no {package} for target {target.name}", hint=hint)


def options(request: PackageRequest) -> list[str]:
    """What the library was compiled with when it was checked, but for the processor, which the board says."""
    own = request.program.target.code_options
    return [verify.LEVEL[request.optimize], *library_objects.FLOATS, *own]


def library(request: PackageRequest) -> dict[str, bytes]:
    """Sources and headers. Boards have megabytes of flash at most: weights are C text, for any builder."""
    made = build.generate(request.program, request.optimize, "c", request.test)
    found = {path: data for path, data in made.items() if path.endswith((".c", ".h"))}
    if request.content.classes:
        found[f"{request.program.name}_classes.h"] = _classes.header(request.program, request.content.classes)
    found |= _sample.header(request)
    return dict(sorted(found.items()))


def render(request: PackageRequest, template: str, **more: object) -> bytes:
    """A template of templates/boards, which knows of the model, its memory and its options."""
    program = request.program
    guard = program.name.upper()
    ports = (*program.inputs, *program.outputs)
    passed = [_variable(port) for port in ports] if program.ports == "caller" else []
    values: dict[str, Any] = {
        "p": program,
        "name": program.name,
        "guard": guard,
        "version": edgekit.__version__,
        "package_version": VERSION,
        "origin": model_origin(program),
        "options": options(request),
        "architectures": ",".join(platforms_of(program.target).arduino),
        "sizes": request.sizes,
        "compiler": request.compiler,
        "arena": Code(f"arena[{guard}_ARENA_SIZE]" if program.arena.size else "arena[1]"),
        "declared": [_declared(program, port) for port in ports if port.type.size or passed],
        "filled": [
            (_room(program, port), _variable(port), port.c) for port in program.inputs if port.type.size
        ],
        "arguments": Code(", ".join([*passed, *["&state"] * bool(program.states), "arena"])),
        "integer_ports": [port for port in ports if port.integers],
        "meanings": {port.c: meaning(port.type.quant) for port in ports},
        "printed": [
            (port.c, _room(program, port), _printed(port)) for port in program.outputs if port.type.size
        ],
        "needs_fpu": needs_fpu(program),
        "classes": (classes := _classes.by_output(program, request.content.classes)),
        "ranked": [
            (p.c, _room(program, p), _variable(p), p.c in classes) for p in program.outputs if p.type.size > 1
        ],
        "single": [(p.c, _variable(p)) for p in program.outputs if p.type.size == 1],
        "has_sample": _sample.fits_header(program) and any(port.type.size for port in program.inputs),
        **more,
    }
    return environment().get_template(f"boards/{template}").render(values).encode()


def example(request: PackageRequest, entry: str = "int main(void)") -> dict[str, bytes]:
    """A program in C around the library, for kinds whose boards have no sketches; it is not built with it."""
    return {"example/main.c": render(request, "example.c.j2", entry=Code(entry))}


def needs_fpu(program: Program) -> bool:
    """Do its kernels have instructions of a floating point unit?"""
    return not {FLOATS, HELIUM}.isdisjoint(needs(program.kernels, program.target))


def package(kind: str, request: PackageRequest, files: Mapping[str, bytes], folder: str = "") -> Package:
    """All in a folder, named as the model if nothing is said: build systems take its name from there."""
    name = folder or request.program.name
    inside = {**files, "README.md": render(request, "README.md.j2", kind=kind, folder=name)}
    if request.sbom:
        inside |= sbom.file(request.program, inside, request.optimize, request.compiler, kind)
    size = sum(map(len, inside.values()))
    note = f"{kind}/{name}: {len(inside)} files, {size:,} B; its README.md says how to use it"
    return Package(kind, {f"{name}/{path}": inside[path] for path in sorted(inside)}, (("package", note),))


@cache
def _program_words() -> frozenset[str]:
    """What programs that use the library call something by: identifiers of their templates."""
    folder = files("edgekit.codegen.printing") / "templates" / "boards"
    text = "".join((folder / name).read_text(encoding="utf-8") for name in ("example.c.j2", "Run.ino.j2"))
    return frozenset(
        re.findall(r"\b[a-z]\w*", re.sub(r"\{\{.*?\}\}|\{%.*?%\}|//.*|/\*.*?\*/|\".*?\"", " ", text))
    )


def _variable(port: Port) -> str:
    """The name of an input or output in a program that uses the library."""
    return apart(port.c, _program_words())


def _declared(program: Program, port: Port) -> Code:
    """An input or output in a program that uses the library."""
    if program.ports == "arena":
        return Code(f"{port.type.dtype.c} *const {_variable(port)} = {program.name}_{port.c}(arena);")
    return Code(f"static {port.type.dtype.c} {_variable(port)}[{_room(program, port)}];")


def _room(program: Program, port: Port) -> str:
    return f"{program.name.upper()}_{port.c.upper()}_SIZE" if port.type.size else "1"


def _printed(port: Port) -> Code:
    """An element, as Arduino prints it. Floats of 16 bits are bits to C."""
    element = f"{_variable(port)}[i]"
    if port.type.dtype in (DType.F32, DType.F64):
        return Code(f"(double){element}, 6")
    return Code(f"(unsigned){element}, HEX" if port.type.dtype.is_float else f"(long){element}")
