"""Runs compiled programs of a target here: natively, under an emulator, or on an emulated board."""

from __future__ import annotations

import contextlib
import ctypes.util
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from edgekit.codegen.compilation import elf, toolchain
from edgekit.codegen.execution import bochs, processor, wasm_host
from edgekit.codegen.printing.pools import has_threads
from edgekit.core import programs
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Target, with_runner

_BARE = Path(str(files("edgekit.runtime_c"))) / "bare"
NATIVE = "native"
_OWN_PROCESSOR = (NATIVE, "wine")  # what runs programs on the processor of this machine
# What runs WebAssembly: a Python package, a program and a browser; and the package when it counts operations.
COUNTER = "fuel"
WASM = ("wasmtime", "node", "chromium", COUNTER)
_SERVICES = ("explorer.exe", "plugplay.exe", "rpcss.exe", "services.exe", "svchost.exe", "winedevice.exe")
_INEXACT = 9  # exit code of a program whose engine lacks the products that its kernels need


@dataclass(frozen=True)
class FinishedProcess:
    """How a program ended, and what it wrote."""

    code: int
    out: bytes
    words: str  # of the program or the emulator, for people


def why_not_here(target: Target) -> str:
    """Why programs for this target cannot run on this machine; empty where they can."""
    missing = [flag for flag in target.cpu_flags if flag not in processor.flags()]
    is_own = target.runner == NATIVE
    target = here(target)
    if not target.runner:
        return f"there is no emulator for target {target.name}: it is compiled, not run"
    first = shlex.split(target.runner)[0]
    needs = f"target {target.name} needs a processor with {', '.join(missing)}, which this one lacks"
    if (first == NATIVE or first in WASM) and (first in WASM) != is_wasm(target):
        return f"{first} does not run programs of target {target.name}"
    if first == bochs.BOCHS and (lacking := bochs.why_not(target.runner)):
        return f"{needs}, or {lacking}" if missing else f"target {target.name} runs under {lacking}"
    if not _is_installed(first):
        if missing and is_own:
            return f"{needs}, or {first}"
        return f"target {target.name} runs under {first}, which is not installed"
    if target.opencl and ctypes.util.find_library("OpenCL") is None:
        return f"target {target.name} needs OpenCL, which is not installed"
    return needs if missing and first in _OWN_PROCESSOR else ""


def why_not_verified(target: Target) -> str:
    """Why results of programs cannot be compared on this machine; empty where they can. An emulator whose
    results are wrong still counts instructions."""
    reason = why_not_here(target)
    if reason or not target.runner_release or is_native(target):
        return reason
    first = shlex.split(here(target).runner)[0]
    release = _release(programs.find(first) or first)
    if release >= target.runner_release:
        return ""
    wanted = f"target {target.name} is verified under {first} {target.runner_release} or later"
    return f"{wanted}, this one is {release}" if release else wanted


@cache
def _release(program: str) -> int:
    """Of an emulator; 0 where it does not say."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r"\bversion (\d+)", said.stdout)
    return int(found[1]) if found else 0


def here(target: Target) -> Target:
    """The target as programs run on this machine: on its own processor, or on one that is emulated."""
    if target.system and processor.runs(target):
        target = with_runner(target, NATIVE)
    elif target.emulator and target.runner == NATIVE and not processor.runs(target):
        target = with_runner(target, target.emulator)
    return bochs.emulated(target) if target.runner.split()[:1] == [bochs.BOCHS] else target


def has_clock(target: Target) -> bool:
    """Can programs that run here read the time, and does it say something?"""
    first = shlex.split(target.runner)[0]
    return first == NATIVE or not (target.startup or first.startswith("qemu-"))


def runs_threads(target: Target) -> bool:
    """Can programs that run here start threads? Those without a C library cannot."""
    return has_threads(target) and not here(target).startup


def is_native(target: Target) -> bool:
    """Do programs for this target run on this processor itself, so that their time says something?"""
    return not why_not_here(target) and here(target).runner == NATIVE


def is_wasm(target: Target) -> bool:
    """Are programs of this target WebAssembly?"""
    return target.startup == "wasm"


def _is_installed(name: str) -> bool:
    if name in ("wasmtime", COUNTER):
        return importlib.util.find_spec("wasmtime") is not None
    return name == NATIVE or bool(wasm_host.browser() if name == "chromium" else programs.find(name))


def link_flags(target: Target, compiler: toolchain.Compiler, folder: Path) -> list[str]:
    """What the link of a program for this target needs; a linker script for a board goes into the folder."""
    if not target.startup:
        return []
    parts = (f"{target.startup}.c", f"{target.startup}.S", "common.c")
    sources = [str(_BARE / name) for name in parts if (_BARE / name).is_file()]
    # The compiler's own functions are needed, for divisions and the like; zig knows without being told.
    own = ["-nostdlib", "-static", "-lgcc"] if compiler.family == "gcc" else []
    own += ["-nostdlib", "-static"] if target.startup == bochs.STARTUP else []
    flags = ["-ffreestanding", f"-I{_BARE}", *sources, *own]
    if is_wasm(target):
        return [*flags, "-nostdlib", "-Wl,--no-entry"]
    if not target.board:
        return flags
    names = ("VECTORS (rx)", "FLASH (rx)", "RAM (rwx)")[-len(target.board) :]
    lines = [
        f"    {n} : ORIGIN = {{}}, LENGTH = {{}}".format(*b.split())
        for n, b in zip(names, target.board, strict=True)
    ]
    memory = "\n".join(["MEMORY", "{", *lines, "}", ""])
    if len(target.board) == 2:
        memory += 'REGION_ALIAS("VECTORS", FLASH)\n'
    (folder / "board.ld").write_text(memory + (_BARE / "board.ld").read_text(encoding="utf-8"))
    return [*flags, "-Tboard.ld"]


def executable(name: str) -> str:
    """Its file: Windows wants this ending, and others do not mind."""
    return f"{name}.exe"


def link(target: Target, compiler: toolchain.Compiler, arguments: Sequence[str], folder: Path) -> None:
    """Link a program for this target from what the arguments name, which may be sources, too."""
    command = [*arguments, *link_flags(target, compiler, folder)]
    _link(target, compiler, command, folder)
    if target.board:
        _check_sections(folder / command[command.index("-o") + 1])


def _link(target: Target, compiler: toolchain.Compiler, command: Sequence[str], folder: Path) -> None:
    """Floats and divisions that a processor lacks are functions of compiler-rt. zig compiles all of it once
    for each processor, in 4 seconds, and most programs need none: they are linked without it first."""
    if target.startup and "zig" in compiler.name and "-nostdlib" not in command:
        with contextlib.suppress(EdgeKitError):
            compiler.run([*command, "-nostdlib"], folder)
            return
    compiler.run(command, folder)


def _check_sections(program: Path) -> None:
    """What starts a program on a board copies .data and clears .bss: other data would be zeros."""
    for section in elf.sections(program.read_bytes()):
        if section.flags & elf.WRITABLE and section.size and section.name not in (".data", ".bss"):
            words = f"{program.name} has data in section {section.name}, which would be zeros on the board"
            raise EdgeKitError("E0602", words, hint="another compiler, and please report it")


def compile_flags(target: Target, *, is_counted: bool = False) -> list[str]:
    """What every file of a program for this target is compiled with, as libraries are if it `is_counted`."""
    # Bochs 2.7 refuses gathers whose indices are in registers above 15, and compilers make such of loops.
    is_refused = target.startup == bochs.STARTUP and not is_counted
    more = ["-fno-tree-vectorize", "-fno-tree-slp-vectorize"] if is_refused else []
    return ["-ffreestanding", f"-I{_BARE}", *more] if target.startup else []


def run(
    target: Target,
    executable: Path,
    arguments: Sequence[str],
    data: bytes = b"",
    seconds: float = 300,
    name: str = "",
) -> FinishedProcess:
    """Run a program in its folder. Its input is `data`; `name` is what users know it by."""
    folder, words = executable.parent, shlex.split(target.runner)
    before = _before(words)
    command = [*before, str(executable), *arguments]
    if words[:1] == [bochs.BOCHS]:
        try:
            return FinishedProcess(*bochs.run(target.runner, executable, arguments, data, seconds))
        except subprocess.TimeoutExpired:
            raise _endless(name or executable.name, seconds) from None
    if target.board:
        (folder / "driver.in").write_bytes(data)
        (folder / "driver.out").write_bytes(b"")
        given = ",".join(["enable=on", "target=native", *(f"arg={a}" for a in (executable.name, *arguments))])
        command = [*before, "-nographic", "-monitor", "none", "-serial", "none", "-semihosting-config", given]
        command += ["-kernel", str(executable)]
        data = b""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=_environment(words),
            input=data,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _endless(name or executable.name, seconds) from None
    if is_wasm(target) and done.returncode == _INEXACT:
        raise EdgeKitError(
            "E0503",
            f"{target.runner} multiplies relaxed vectors in another way on this machine",
            hint="another --runner, or the target wasm32-simd",
        )
    out = (folder / "driver.out").read_bytes() if target.board else done.stdout
    return FinishedProcess(done.returncode, out, done.stderr.decode(errors="replace")[:2000])


def _environment(words: Sequence[str]) -> Mapping[str, str] | None:
    """Wine says much, and starts services that no program here needs; for its first start it needs them."""
    if words[:1] != ["wine"]:
        return None
    prefix = Path(os.environ.get("WINEPREFIX") or Path.home() / ".wine")
    without = f"{','.join(_SERVICES)}=" if (prefix / "system.reg").is_file() else "mscoree,mshtml="
    return {**os.environ, "WINEDEBUG": "-all", "WINEDLLOVERRIDES": without}


def _endless(name: str, seconds: float) -> EdgeKitError:
    hint = "edgekit doctor says whether programs run here; if so, please report it"
    return EdgeKitError("E0602", f"{name} did not end in {seconds:.3g} s", hint=hint)


def _before(words: Sequence[str]) -> Sequence[str]:
    """What stands before the name of a program."""
    first, *rest = words
    if first == NATIVE:
        return rest
    if first == "node":
        return [programs.find(first) or first, *rest, str(wasm_host.SCRIPT)]
    if first in WASM:
        return [sys.executable, "-P", "-m", wasm_host.__name__, *words]
    return [programs.find(first) or first, *rest]
