"""Counts the instructions of a run under an emulator: of all of it, and of each layer."""

from __future__ import annotations

import platform
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.elf import symbols
from edgekit.codegen.execution import bochs, runner
from edgekit.codegen.layer_functions import layer_functions
from edgekit.codegen.printing.kernel_forms import specialised
from edgekit.codegen.program import Program
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Optimize, Target, with_runner

_PLUGIN = Path(str(files("edgekit.runtime_c"))) / "bare" / "instructions.c"
_CLONE = re.compile(r"(\.(constprop|isra)\.\d+)*")
MARKERS = ("ek_begin", "ek_end")  # functions that are called before and behind what is counted


@dataclass(frozen=True)
class Counts:
    """Instructions between the markers, and of each part: from one marked function to the next."""

    total: int
    parts: tuple[int, ...]
    loaded: tuple[int, ...] = ()  # bytes, of each range of addresses that was watched


def as_counted(target: Target) -> Target:
    """The target as its instructions are counted, the same on every machine: x86 with AVX-512 in Bochs, other
    x86 in QEMU, WebAssembly as wasmtime's fuel."""
    if runner.is_wasm(target):
        return with_runner(target, runner.COUNTER)
    if target.runner != runner.NATIVE:
        return with_runner(target, target.runner)
    if any(flag.startswith("avx512") for flag in target.cpu_flags):
        return bochs.emulated(with_runner(target, target.emulator))
    emulator = f"qemu-{target.machine or platform.machine()} -cpu max"  # that of x86-64 knows no AVX-512
    return replace(target, runner=emulator, cflags=(*target.cflags, "-static", "-no-pie"), cpu_flags=())


def can_count(target: Target) -> bool:
    """Does an emulator of QEMU run programs of this target here?"""
    words = shlex.split(target.runner)
    return bool(words) and words[0].startswith("qemu-") and not runner.why_not_here(target)


def entered(program: Program, optimize: Optimize) -> Sequence[str]:
    """The functions that a run enters, one for each kernel call, in order."""
    functions, own = layer_functions(program), specialised(program, optimize)
    return [
        f"{program.name}_{functions[line.c].c}" if line.kernel.name in own else line.kernel.symbol
        for line in program.executed
    ]


def count(
    target: Target,
    executable: Path,
    marked: Sequence[str] = (),
    arguments: Sequence[str] = (),
    seconds: float = 300,
    by_registers: bool = False,
    watched: Sequence[tuple[int, int]] = (),
) -> Counts:
    """What a program for an emulator executes between the markers, and in each of the marked functions, as
    often as it reaches them. By registers, vector instructions of RISC-V count once more for each. Of watched
    ranges of addresses, in ascending order, the bytes that it loads are counted."""
    at = symbols(executable.read_bytes())
    start, stop = (at[name] for name in MARKERS)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        plugin, parts = Path(scratch, "instructions.so"), Path(scratch, "parts")
        host = toolchain.find(targets.load("host"))
        flags = ["-O2", "-shared", "-fPIC", "-fvisibility=hidden"]
        host.run([*flags, str(_PLUGIN), "-o", plugin.name], plugin.parent)
        words = [str(plugin), f"start={start:#x}", f"stop={stop:#x}"]
        if by_registers and "riscv" in target.runner:
            words.append("registers=1")
        words += [f"to={parts}"] if marked or watched else []
        words += (f"mark={place:#x}" for place in _entries(marked, at))
        words += (f"range={first:#x}-{end:#x}" for first, end in watched)
        emulator = [*shlex.split(target.runner), "-plugin", ",".join(words)]
        done = runner.run(with_runner(target, shlex.join(emulator)), executable, arguments, seconds=seconds)
        found = re.search(r"instructions (\d+)", done.words)
        if done.code or not found:
            raise EdgeKitError("E0602", f"the emulator did not count ({done.code})\n{done.words}")
        numbers = [int(number) for number in parts.read_text().split()] if parts.exists() else []
    of_parts = len(numbers) - len(watched)
    return Counts(int(found[1]), tuple(numbers[:of_parts]), tuple(numbers[of_parts:]))


def _entries(marked: Sequence[str], at: Mapping[str, int]) -> Iterator[int]:
    """Where functions begin, and their clones: gcc makes some for constants that only a few callers pass."""
    for name in dict.fromkeys(marked):
        clones = [place for symbol, place in at.items() if _CLONE.fullmatch(symbol.removeprefix(name))]
        yield from clones or [at[name]]
