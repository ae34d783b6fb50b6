"""XCFrameworks: a static library for each of Apple's systems, by zig, with headers and a module for Swift."""

from __future__ import annotations

import plistlib
import struct
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edgekit.codegen.compilation import build, library_objects, toolchain
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.packages import PackageRequest
from edgekit.codegen.packages._sample import test_of
from edgekit.codegen.printing.render import sources
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.verification.verify import LEVEL
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Target

_HEADERS = "headers/"  # of the templates: each library gets them
_CPUS = {"arm64": (0x0100000C, 0), "x86_64": (0x01000007, 3)}  # type and subtype, as loaders know them
_ALIGN = 3  # of a library in a file for several processors: 8 bytes


@dataclass(frozen=True)
class Architecture:
    """A processor of a platform."""

    name: str  # as Apple calls it
    target: str  # whose kernels it has
    compiler: str = ""  # where that is not the target's


@dataclass(frozen=True)
class Platform:
    """What an XCFramework has one library for."""

    system: str
    variant: str
    architectures: tuple[Architecture, ...]

    @property
    def folder(self) -> str:
        names = "_".join(each.name for each in self.architectures)
        return f"{self.system}-{names}{'-' * bool(self.variant)}{self.variant}"


PLATFORMS = (
    Platform("ios", "", (Architecture("arm64", "aarch64-ios"),)),
    Platform(
        "ios",
        "simulator",
        (
            Architecture("arm64", "aarch64-ios-simulator"),
            Architecture("x86_64", "macos-x86-64", "zig cc -target x86_64-ios-simulator"),
        ),
    ),
    Platform("macos", "", (Architecture("arm64", "macos-aarch64"), Architecture("x86_64", "macos-x86-64"))),
)


def check(target: Target) -> None:
    """EdgeKitError where there is none for this target, or no compiler for it."""
    if target.gpu or not _architectures(target):
        hint = "--target host for macOS, iOS and its simulator, or a target of Apple: aarch64-ios"
        raise EdgeKitError("E0103", f"there is no package xcframework for target {target.name}", hint=hint)
    toolchain.find(_archiver(target))


def programs_of(program: Program) -> dict[Architecture, Program]:
    """The program for each processor of each platform."""
    return {each: _program_for(program, each) for each in _architectures(program.target)}


def values(programs: Mapping[Any, Program]) -> dict[str, Any]:
    """What templates know beside a model's ports: memory that suffices on all platforms."""
    return {
        "arena_bytes": max(program.arena.size for program in programs.values()),
        "align": max(program.target.align for program in programs.values()),
        "sizes": None,  # those of the target are of none of them
        "platforms": [platform.folder for platform in _platforms(programs)],
    }


def packed(
    request: PackageRequest, programs: Mapping[Any, Program], rendered: Mapping[str, bytes]
) -> dict[str, bytes]:
    """The framework and the files beside it, of rendered templates."""
    files = {path: data for path, data in rendered.items() if not path.startswith(_HEADERS)}
    headers = {path: data for path, data in rendered.items() if path.startswith(_HEADERS)}
    (name,) = {path.split("/")[1] for path in headers}  # of the module
    library = f"lib{request.program.name}.a"
    rows = []
    for platform in _platforms(programs):
        request.progress(f"compiling for {platform.folder}")
        below = f"{name}.xcframework/{platform.folder}"
        files[f"{below}/{library}"] = universal(
            {each.name: _static_library(request, programs[each]) for each in platform.architectures}
        )
        files |= {f"{below}/Headers/{path.removeprefix(_HEADERS)}": data for path, data in headers.items()}
        rows.append(dict(_row(platform, library)))
    about = {
        "AvailableLibraries": rows,
        "CFBundlePackageType": "XFWK",
        "XCFrameworkFormatVersion": "1.0",
    }
    return {**files, f"{name}.xcframework/Info.plist": plistlib.dumps(about)}


def universal(libraries: Mapping[str, bytes]) -> bytes:
    """A file of libraries for several processors, in the format of lipo."""
    if len(libraries) == 1:
        return next(iter(libraries.values()))
    head = struct.pack(">II", 0xCAFEBABE, len(libraries))
    at = len(head) + 20 * len(libraries)
    body = b""
    for name, data in libraries.items():
        body += bytes(-(at + len(body)) % (1 << _ALIGN))
        head += struct.pack(">5I", *_CPUS[name], at + len(body), len(data), _ALIGN)
        body += data
    return head + body


def _row(platform: Platform, library: str) -> Iterator[tuple[str, object]]:
    yield "HeadersPath", "Headers"
    yield "LibraryIdentifier", platform.folder
    yield "LibraryPath", library
    yield "SupportedArchitectures", [each.name for each in platform.architectures]
    yield "SupportedPlatform", platform.system
    if platform.variant:
        yield "SupportedPlatformVariant", platform.variant


def _architectures(target: Target) -> list[Architecture]:
    """Those that a package for a target is for: all where it is for any machine."""
    everything = [each for platform in PLATFORMS for each in platform.architectures]
    if target.name == "host":
        return everything
    # One with a compiler of its own only borrows the kernels of its target.
    return [each for each in everything if each.target == target.name and not each.compiler]


def _platforms(programs: Mapping[Any, Program]) -> list[Platform]:
    """The platforms, with those of their processors that there are programs for."""
    found = [replace(p, architectures=tuple(a for a in p.architectures if a in programs)) for p in PLATFORMS]
    return [platform for platform in found if platform.architectures]


def _program_for(program: Program, each: Architecture) -> Program:
    if program.target.name == "host":
        target = replace(targets.load(each.target), cores=program.target.cores)
        if each.compiler:
            target = replace(target, compilers=(each.compiler,))
        return compile_graph(program.graph, target, program.ports)
    return program


def _static_library(request: PackageRequest, program: Program) -> bytes:
    """The library's objects as an archive of Apple's linkers."""
    made = build.generate(program, request.optimize, "c", test_of(request))
    compiler, archiver = toolchain.find(program.target), toolchain.find(_archiver(program.target))
    flags = [*library_objects.BASE_FLAGS, LEVEL[request.optimize], *program.target.cflags, "-g0", "-I.", "-c"]
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        folder = Path(scratch)
        write(dict(made), folder)
        objects = []
        for path in sources(made):
            if path.endswith(".c"):
                objects.append(f"{path.removesuffix('.c').replace('/', '_')}.o")
                compiler.run([*flags, path, "-o", objects[-1]], folder)
        archiver.run(["rcsD", "library.a", *objects], folder)  # D: without times and owners
        return (folder / "library.a").read_bytes()


def _archiver(target: Target) -> Target:
    return replace(target, compilers=("zig ar --format=darwin",), cflags=())  # flags are the compiler's
