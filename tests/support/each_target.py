"""Targets that each have another instruction set first, with compilers that link quickly."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from support import x86
from support.generated import units, written
from support.tools import require, require_module

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.program import Program
from edgekit.core import target as targets
from edgekit.core.target import Target

TARGETS = {
    "host": "gcc",
    "cortex-m0plus": "arm-none-eabi-gcc",
    "cortex-m3": "arm-none-eabi-gcc",
    "cortex-m4": "arm-none-eabi-gcc",
    "cortex-m55": "ziglang",  # the other one ends with an internal error
    "aarch64": "aarch64-linux-gnu-gcc",
    "aarch64-dotprod": "aarch64-linux-gnu-gcc",
    "aarch64-i8mm": "aarch64-linux-gnu-gcc",
    "armv7-neon": "arm-linux-gnueabihf-gcc",
    "x86-64-avx2": "clang",  # gcc takes four times as long for tiles of vectors, unoptimized too
    "x86-64-avxvnni": "clang",
    "x86-64-avx512": "clang",
    "wasm32-simd": "ziglang",
    "wasm32-relaxed": "ziglang",
    "riscv32": "ziglang",
    "riscv64": "ziglang",
    "riscv64-rvv": "ziglang",
}
EMULATORS = {
    "cortex": "qemu-system-arm",
    "aarch64": "qemu-aarch64",
    "armv7": "qemu-arm",
    "riscv32": "qemu-riscv32",
    "riscv64": "qemu-riscv64",
}
# The instruction sets whose kernels multiply rows that are quantized in each run.
DYNAMIC_ROWS = {
    "x86-64-avx2": "avx2",
    "x86-64-avxvnni": "avxvnni",
    "x86-64-avx512": "avx512",
    "aarch64": "neon",
    "aarch64-dotprod": "dotprod",
    "aarch64-i8mm": "i8mm",
    "armv7-neon": "neon32",
    "riscv64-rvv": "rvv",
    "wasm32-simd": "wasm",
    "wasm32-relaxed": "relaxed",
}
# Those that have kernels for floats of their own, and portable C.
REALS = (
    "host",
    "cortex-m4",
    "aarch64",
    "armv7-neon",
    "x86-64-avx2",
    "x86-64-avx512",
    "wasm32-simd",
    "riscv64",
    "riscv64-rvv",
)


def load(name: str) -> Target:
    if name.startswith("x86"):
        return x86.load(name, TARGETS[name])
    target, compiler = targets.load(name), TARGETS[name]
    require_module(compiler) if compiler == "ziglang" else require(compiler)
    for family, emulator in EMULATORS.items():
        if name.startswith(family):
            require(emulator)
    if target.runner == "wasmtime":
        require_module("wasmtime")
    chosen = tuple(c for c in target.compilers if c.startswith("zig" if compiler == "ziglang" else compiler))
    return replace(target, compilers=chosen or target.compilers)


# Optimizing takes two to five times as long, for what runs once; other tests run optimized code. Two of these
# compilers would keep a frame pointer where assembly wants its register, and check for undefined behaviour.
UNOPTIMIZED = ("-O0", "-fomit-frame-pointer", "-fno-sanitize=undefined")


def drive(program: Program, folder: Path, level: Sequence[str] = ()) -> Driver:
    return drive_all([program], folder, level)


def drive_all(programs: Sequence[Program], folder: Path, level: Sequence[str] = ()) -> Driver:
    """One executable of programs that share kernels, and a processor."""
    target = programs[0].target
    # Unoptimized, the stack of all edges in one program would reach the data of this board.
    level = level or (("-O1",) if target.name == "cortex-m55" else UNOPTIMIZED)
    if target.name.startswith("x86"):
        return x86.drive_all(programs, folder, "size", level)
    names = units(written(programs, folder, "size"), folder)
    return Driver(programs, names, folder, toolchain.find(target), [*level, *target.cflags])
