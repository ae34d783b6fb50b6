"""Counts the instructions of a run under an emulator: of all of it, and of each layer."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.elf import symbols
from edgekit.codegen.execution import runner
from edgekit.codegen.layer_functions import layer_functions
from edgekit.codegen.printing.render import Optimize
from edgekit.codegen.program import Program
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Target

_PLUGIN = Path(str(files("edgekit.runtime_c"))) / "bare" / "instructions.c"
MARKERS = ("ek_begin", "ek_end")  # functions that are called before and behind what is counted


@dataclass(frozen=True)
class Counts:
    """Instructions between the markers, and of each part: from one marked function to the next."""

    total: int
    parts: tuple[int, ...]


def can_count(target: Target) -> bool:
    """Does an emulator of QEMU run programs of this target here?"""
    words = shlex.split(target.runner)
    return bool(words) and words[0].startswith("qemu-") and not runner.why_not_here(target)


def entered(program: Program, optimize: Optimize) -> Sequence[str]:
    """The functions that a run enters, one for each kernel call, in order."""
    if optimize == "size":
        return [line.kernel.symbol for line in program.lines]
    functions = layer_functions(program)
    return [f"{program.name}_{functions[line.c].c}" for line in program.lines]


def count(
    target: Target,
    executable: Path,
    marked: Sequence[str] = (),
    arguments: Sequence[str] = (),
    seconds: float = 300,
) -> Counts:
    """What a program for an emulator executes between the markers, and in each of the marked functions, as
    often as it reaches them."""
    at = symbols(executable.read_bytes())
    start, stop = (at[name] for name in MARKERS)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        plugin, parts = Path(scratch, "instructions.so"), Path(scratch, "parts")
        host = toolchain.find(targets.load("host"))
        flags = ["-O2", "-shared", "-fPIC", "-fvisibility=hidden"]
        host.run([*flags, str(_PLUGIN), "-o", plugin.name], plugin.parent)
        words = [str(plugin), f"start={start:#x}", f"stop={stop:#x}"]
        if marked:
            words += [f"to={parts}", *(f"mark={at[name]:#x}" for name in dict.fromkeys(marked))]
        emulator = [*shlex.split(target.runner), "-plugin", ",".join(words)]
        done = runner.run(
            targets.with_runner(target, shlex.join(emulator)), executable, arguments, seconds=seconds
        )
        found = re.search(r"instructions (\d+)", done.words)
        if done.code or not found:
            raise EdgeKitError("E0602", f"the emulator did not count ({done.code})\n{done.words}")
        numbers = parts.read_text().split() if marked else []
    return Counts(int(found[1]), tuple(int(number) for number in numbers))
