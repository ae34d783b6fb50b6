"""A compiled shared library, for packages of languages that load one; by zig for other systems."""

from __future__ import annotations

import platform
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from edgekit.codegen.compilation import library_objects, toolchain
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.packages import PackageRequest
from edgekit.codegen.printing.render import sources
from edgekit.codegen.verification.verify import LEVEL
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Target

_TRIPLE = re.compile(r"zig cc -target (\w+)-(\w+)\S*(.*)")
_GLIBC = "2.17"  # of manylinux2014, whose libraries run on every Linux since
_BARE = Path(str(files("edgekit.runtime_c"))) / "bare"
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}  # as other systems call them


@dataclass(frozen=True)
class Platform:
    """A machine and its system."""

    machine: str  # x86_64 or aarch64
    system: str  # linux, macos, windows, or one whose apps are compiled with the library: android, ios
    options: str = ""  # of zig, for its processor

    @property
    def has_libraries(self) -> bool:
        """May a package bring a compiled library?"""
        return self.system in ("linux", "macos", "windows")

    @property
    def suffix(self) -> str:
        """Of shared libraries."""
        return {"windows": ".dll", "macos": ".dylib"}.get(self.system, ".so")

    @property
    def zig(self) -> str:
        """The compiler of the target as zig, for programs with a C library."""
        ends = {"linux": f"linux-gnu.{_GLIBC}", "macos": "macos", "windows": "windows-gnu"}
        return f"zig cc -target {self.machine}-{ends[self.system]}{self.options}"


def platform_of(target: Target) -> Platform | None:
    """Where programs for a target run; None for boards and browsers."""
    triples = (match for name in target.compilers if (match := _TRIPLE.match(name)))
    if match := next(triples, None):
        machine, system, options = match.groups()
        system = target.startup if system == "freestanding" else system  # tests run it without a C library
        system = "android" if any("-android" in name for name in target.compilers) else system
    elif target.name == "host":
        machine, system, options = platform.machine().lower(), platform.system().lower(), ""
    else:
        return None
    found = Platform(_MACHINES.get(machine, machine), {"darwin": "macos"}.get(system, system), options)
    is_known = found.machine in _MACHINES.values() and (
        found.has_libraries or found.system in ("android", "ios")
    )
    return found if is_known else None


def compiled(request: PackageRequest, made: Mapping[str, bytes]) -> tuple[bytes, str]:
    """The shared library of C files, and its suffix."""
    target = request.program.target
    compiler, place = _compiler(target), _place(target)
    options = [
        *library_objects.BASE_FLAGS,
        LEVEL[request.optimize],
        *target.cflags,
        *_shared(place, compiler),
        "-I.",
    ]
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        folder = Path(scratch)
        write(dict(made), folder)
        names = [path for path in sources(made) if path.endswith(".c")]
        request.progress(f"compiling a shared library with {compiler.name}")
        compiler.run([*options, *names, "-o", f"library{place.suffix}"], folder)
        return (folder / f"library{place.suffix}").read_bytes(), place.suffix


def wheel_tag(target: Target) -> str:
    """The tag of a wheel with this library. What this machine's own compiler makes is for this machine."""
    place = _place(target)
    match place.system:
        case "windows":
            return {"x86_64": "win_amd64", "aarch64": "win_arm64"}[place.machine]
        case "macos":
            return f"macosx_11_0_{'arm64' if place.machine == 'aarch64' else place.machine}"
    start = f"manylinux_{_GLIBC.replace('.', '_')}" if "zig" in _compiler(target).name else "linux"
    return f"{start}_{place.machine}"


def _shared(place: Platform, compiler: toolchain.Compiler) -> list[str]:
    """Options for a shared library. It needs nothing of a C library but memcpy and memset: on Windows those
    of zig's compiler-rt, since its C library takes a minute to compile the first time, and 60 KB."""
    if place.system != "windows":
        return ["-shared", "-s", "-fPIC"]
    alone = ["-nostdlib", "-lcompiler_rt", "-isystem", str(_BARE), str(_BARE / "windows_dll.c")]
    return ["-shared", "-s", "-Wl,--gc-sections", *(alone if "zig" in compiler.name else [])]


def _place(target: Target) -> Platform:
    place = platform_of(target)
    assert place is not None  # Language.check asked
    return place


def _compiler(target: Target) -> toolchain.Compiler:
    """zig, whose libraries run on any system of the kind, or for this machine its own compiler."""
    try:
        return toolchain.find(replace(target, compilers=(_place(target).zig,)))
    except EdgeKitError:
        if target.name != "host":
            raise
        return toolchain.find(target)
