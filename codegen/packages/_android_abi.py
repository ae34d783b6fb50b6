"""Shared libraries for Android's ABIs: by zig without the NDK, against a stand-in of its C library."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from edgekit.codegen.compilation import library_objects, toolchain
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.packages import PackageRequest
from edgekit.codegen.packages._shared_library import platform_of
from edgekit.codegen.printing.render import sources
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.verification.verify import LEVEL
from edgekit.core import target as targets
from edgekit.core.target import Target

ZIG = "zig cc -target aarch64-linux-android"  # a compiler that serves all ABIs
MIN_SDK = 21  # the first Android with 64-bit processors
_BIONIC = Path(str(files("edgekit.runtime_c"))) / "bionic"
_PAGE = 1 << 14  # bytes: devices may have pages of 16 KiB since Android 15


@dataclass(frozen=True)
class Abi:
    """What Android calls a kind of processor, and what every processor of this kind has."""

    name: str
    triple: str  # of zig
    cpu: str = ""  # zig's option for it
    flags: tuple[str, ...] = ()
    machine: str = ""  # as targets call it, where there are some for this kind
    kernels: str = ""  # the target whose kernels a package for all ABIs takes; the others have portable C


ABIS = (
    Abi("arm64-v8a", "aarch64-linux-android", machine="aarch64", kernels="aarch64-android"),
    # Not all have the fused multiply-add of the target armv7-neon. Calls pass floats in integer registers.
    Abi(
        "armeabi-v7a",
        "arm-linux-androideabi",
        "-mcpu=generic+v7a+neon+vfp3",
        ("-mfloat-abi=softfp", "-mthumb"),
    ),
    Abi("x86_64", "x86_64-linux-android", "-mcpu=x86_64+sse4_2+popcnt", machine="x86_64"),
    # Callers before Android 7 align the stack to 4 bytes.
    Abi("x86", "x86-linux-android", "-mcpu=i686+sse2+sse3+ssse3", ("-mstackrealign",)),
)


def abis(target: Target) -> tuple[Abi, ...]:
    """The ABIs that a package for a target has libraries for: all where it is for any machine."""
    if target.name == "host":
        return ABIS
    place = platform_of(target)
    if not place or place.system not in ("linux", "android"):
        return ()
    return tuple(abi for abi in ABIS if abi.machine == place.machine)


def program_for(program: Program, abi: Abi) -> Program:
    """The program with the kernels of an ABI, for a compiler that makes libraries for Android."""
    is_for_all = program.target.name == "host"
    if is_for_all and abi.kernels:
        target = replace(targets.load(abi.kernels), cores=program.target.cores)
        program = compile_graph(program.graph, target, program.ports)
    place = None if is_for_all else platform_of(program.target)
    cpu = place.options.strip() if place and place.options else abi.cpu
    zig = f"zig cc -target {abi.triple} {cpu}"
    target = replace(program.target, compilers=(zig,), cflags=(*program.target.cflags, *abi.flags))
    return replace(program, target=target)


def shared_library(
    request: PackageRequest, program: Program, made: Mapping[str, bytes], jni: bytes, includes: Sequence[Path]
) -> bytes:
    """The library of a program with its functions for Java. `includes` are folders with jni.h."""
    compiler = toolchain.find(program.target)
    name = f"lib{program.name}_model.so"
    names = [path for path in sources(made) if path.endswith(".c")]
    shared = ["-shared", "-fPIC", "-nostdlib"]
    options = [
        *library_objects.BASE_FLAGS,
        LEVEL[request.optimize],
        *program.target.cflags,
        *shared,
        "-s",
        "-I.",
    ]
    # Headers of the compiler come first: where they would go on to those of a C library, there are none.
    options += ["-isystem", str(_BIONIC), *(f"-I{folder}" for folder in includes)]
    links = [f"-Wl,-soname,{name}", "-Wl,-z,defs", "-Wl,--hash-style=both"]
    links += [f"-Wl,-z,max-page-size={_PAGE}", f"-Wl,-z,common-page-size={_PAGE}"]
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        folder = Path(scratch)
        write({**made, "jni.c": jni}, folder)
        # Its functions have no arguments: the linker wants the names alone.
        stub = ["-fno-builtin", "-Wl,-soname,libc.so", str(_BIONIC / "libc.c"), "-o", "libbionic.so"]
        compiler.run([*program.target.cflags, *shared, *stub], folder)
        # Divisions of 64 bits are functions of the compiler on 32-bit machines.
        compiler.run([*options, *links, "jni.c", *names, "libbionic.so", "-lcompiler_rt", "-o", name], folder)
        return (folder / name).read_bytes()
