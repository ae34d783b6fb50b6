"""A target: what to build for, and how to run it here; one TOML file in targets/ each."""

from __future__ import annotations

import re
import shlex
import tomllib
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Any, Literal

from edgekit.core import files as files_of
from edgekit.core import suggest
from edgekit.core.errors import EdgeKitError
from edgekit.core.reasons import reason_of

NATIVE = (
    "native"  # the best target for the processor of this machine, as codegen/execution/processor.py finds it
)
_GPUS = ("", "opencl", "webgpu")
MAX_CORES = 64


@dataclass(frozen=True)
class Pace:
    """How long instructions take."""

    clock: int
    cycles_per_instruction: float
    basis: str = ""

    def milliseconds(self, instructions: int) -> float:
        return 1e3 * instructions * self.cycles_per_instruction / self.clock

    def in_words(self, instructions: int) -> str:
        words = f"{self.milliseconds(instructions):.3g} ms at {self.clock / 1e6:g} MHz"
        return f"{words} {self.basis}" if self.basis else words


Optimize = Literal["size", "speed"]  # what code is made for


@dataclass(frozen=True)
class Target:
    """`isa` lists kernel variants from best to plainest; `compilers` are tried in order."""

    name: str
    description: str = ""
    isa: tuple[str, ...] = ("ref",)
    align: int = 8  # of tensors in the arena, in bytes: that of the widest element that its kernels load
    channels: int = 1  # kernels are at their best where numbers of channels are multiples of this
    compilers: tuple[str, ...] = ("cc",)
    # What `-dumpmachine` begins with. A cc that compiles for another processor is passed over.
    machine: str = ""
    cflags: tuple[str, ...] = ()
    gcc_stack: int = 0  # percent of the stack by zig that gcc took at most, in trials; 0: unknown
    runner: str = "native"  # the command that runs a program here; empty where nothing can
    runner_release: int = 0  # the first one of that emulator whose results are right
    # What programs need of a processor that runs them itself, as its system names it. Where `system` is that
    # of this machine, such a processor runs them instead of `runner`.
    cpu_flags: tuple[str, ...] = ()
    system: str = ""  # linux, macos or windows, where programs are for no other
    emulator: str = ""  # the runner where that processor lacks some of it
    # Programs that run here without a C library start by this file of runtime_c/bare.
    startup: str = ""
    # Without an operating system: start and size of the memory for code, and of that for data, on the board
    # that runs programs here; in front of them that for vectors, where it is not where the code is.
    board: tuple[str, ...] = ()
    copies: int = 5  # in code for size, the most layers that a kernel is specialised for: kernel_forms.py
    # opencl: libraries have a path for GPUs, too; webgpu: npm packages have one
    gpu: str = ""
    cores: int = 1  # layers are split into so many parts at most, for libraries that run on several cores
    part_macs: int = 1 << 14  # multiplications that a part has at least: starting it takes time
    pool: str = ""  # of runtime_c/pools, for several cores: beside POSIX threads or instead
    least_ram: bool = False  # layers may run as loops over rows, with ring buffers in between
    ram_limit: int = 0  # bytes of it, with inputs and outputs; 0: the least that costs few instructions
    layer_hook: bool = False  # libraries call a function of the user's behind each layer
    # Weights may take so many times their bytes where that is faster; 0: 1.25 times on microcontrollers,
    # elsewhere what flash holds, or twice as much.
    weight_growth: float = 0.0
    memory: dict[str, int] = field(default_factory=dict, hash=False)  # bank -> bytes, in files 128K or 1M too
    clock: int = 0  # Hz, in files 168M too; 0: unknown
    cycles_per_instruction: float = 0.0  # 0: unknown
    cycles_basis: str = ""  # where that comes from, unless it was measured on the device
    core: str = ""  # the processor of a board: its base, and the base of that; of others their own name

    @property
    def pace(self) -> Pace | None:
        """How long instructions take, where that is known."""
        if not self.clock or not self.cycles_per_instruction:
            return None
        return Pace(self.clock, self.cycles_per_instruction, self.cycles_basis)

    @property
    def code_options(self) -> tuple[str, ...]:
        """What compilers of other processors understand, too: how code is made, without the processor."""
        return tuple(flag for flag in self.cflags if flag.startswith("-f"))

    @property
    def opencl(self) -> bool:
        """Do its libraries have a path for GPUs?"""
        return self.gpu == "opencl"


def load(name: str) -> Target:
    """The target of this name, or of a TOML file."""
    path = Path(name)
    if path.suffix == ".toml":
        if not path.exists():
            raise EdgeKitError("E0106", f"no target file {name}")
        return parse(path.stem, _text(path))
    if name not in names():
        raise EdgeKitError("E0106", f"unknown target {name}", hint=suggest.hint(name, (*names(), NATIVE)))
    return _of_edgekit(name)


@cache
def _of_edgekit(name: str) -> Target:
    return _parsed(name, (files("edgekit.targets") / f"{name}.toml").read_text(encoding="utf-8"))


def _text(path: Path) -> str:
    try:
        return files_of.read(path, files_of.MAX_SETTINGS).decode("utf-8")
    except UnicodeDecodeError as error:
        raise EdgeKitError("E0106", f"cannot read {path}: {reason_of(error)}") from None


# Options of compilers that choose instructions or an effort. Macros are none of them: -Dmemcpy=system runs
# what a model computes.
_HARMLESS = re.compile(r"-(m[a-z0-9.-]+|m(arch|cpu|tune|fpu|float-abi|abi|cmodel)=[\w+.-]+|O[0-3sz])")


def foreign_programs(path: str) -> list[str]:
    """Programs, and options of compilers, that a target file names and no target of EdgeKit does."""
    target = load(path)
    known = [load(name) for name in names()]
    words = {word for t in known for word in (*t.compilers, t.runner, t.emulator, *t.cflags)}
    flags = [flag for flag in target.cflags if not _HARMLESS.fullmatch(flag)]
    return [w for w in (*target.compilers, target.runner, target.emulator, *flags) if w and w not in words]


def with_runner(target: Target, runner: str) -> Target:
    """The same target, run by this command and no other."""
    if fault := _no_command(runner):
        raise EdgeKitError("E0103", f"the runner {fault}", hint="such as --runner 'qemu-arm -cpu max'")
    return replace(target, runner=runner, system="")


@cache
def names() -> tuple[str, ...]:
    """The targets that come with EdgeKit."""
    found = (f.name for f in files("edgekit.targets").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


def parse(name: str, text: str) -> Target:
    """A target from TOML that a user wrote, or a stranger. `base` names a target whose settings hold where
    this one says nothing: a board is a processor with memory."""
    target = _parsed(name, text)
    _check(target)
    return target


@cache
def _of_targets(key: str) -> frozenset[str]:
    """The words that the targets of EdgeKit have under a key."""
    tables = (
        tomllib.loads((files("edgekit.targets") / f"{name}.toml").read_text("utf-8")) for name in names()
    )
    found = (table.get(key, ()) for table in tables)
    return frozenset(word for value in found for word in ([value] if isinstance(value, str) else value))


def _check(target: Target) -> None:
    """Refuse what cannot be: some of it becomes text of a linker script, or the name of a file that is
    compiled and run."""

    def refuse(words: str, hint: str = "") -> None:
        raise EdgeKitError("E0106", f"target {target.name}: {words}", hint=hint)

    if unknown := sorted({*target.isa} - _of_targets("isa")):
        refuse(f"unknown instruction set {unknown[0]}", suggest.hint(unknown[0], sorted(_of_targets("isa"))))
    if target.isa[-1:] != ("ref",):
        refuse("isa ends with another set than ref", "ref, portable C, has a kernel for whatever is left")
    for key in ("startup", "pool", "system"):
        if (word := getattr(target, key)) and word not in _of_targets(key):
            refuse(f"unknown {key} {word}", suggest.hint(word, sorted(_of_targets(key))))
    if target.board and not (len(target.board) in (2, 3) and all(map(_REGION.fullmatch, target.board))):
        refuse("board is no list of two or three regions", 'a start and a size each, such as "0x20000000 4M"')
    if target.align not in _ALIGNMENTS:
        refuse(f"align is {target.align}", f"one of {', '.join(map(str, _ALIGNMENTS))}")
    for key, (least, most) in _RANGES.items():
        if not least <= (number := getattr(target, key)) <= most:
            refuse(f"{key} is {number}", f"from {least} to {most}")
    if not target.compilers or not all(word.strip() for word in target.compilers):
        refuse("compilers has no name, or one without a letter", 'such as ["arm-none-eabi-gcc", "clang"]')
    for key in ("runner", "emulator"):
        if fault := _no_command(getattr(target, key)):
            refuse(f"{key} {fault}")
    if target.clock < 0 or target.clock > _MAX_CLOCK:
        refuse(f"clock is {target.clock}", "a number of Hz, or such as 168M")
    if not 0 <= target.weight_growth < inf:
        refuse(f"weight_growth is {target.weight_growth}", "a factor, or 0 for what flash holds")
    cycles = target.cycles_per_instruction
    if cycles and not 1e-3 <= cycles <= 1e6:
        refuse(f"cycles_per_instruction is {cycles}", "from 0.001 to 1000000, or 0 for unknown")


def _no_command(text: str) -> str:
    """Why this is no command; empty where it is one, or nothing."""
    try:
        return "" if not text or shlex.split(text) else "has no word"
    except ValueError:
        return f"{text:.60} has a quotation that does not end"


_RANGES = {
    "channels": (1, 1 << 10),
    "cores": (1, MAX_CORES),
    "part_macs": (1, 1 << 40),
    "copies": (0, 1000),
    "ram_limit": (0, 1 << 50),
    "gcc_stack": (0, 100_000),
    "runner_release": (0, 1 << 20),
}
_MAX_CLOCK = 10**12
_REGION = re.compile(r"0x[0-9a-fA-F]{1,8} \d{1,6}[KM]?")
_ALIGNMENTS = (8, 16, 32, 64, 128)


def _parsed(name: str, text: str) -> Target:
    """A target from TOML; an unknown or ill-typed key is an error, not a silent default."""
    try:
        table = files_of.toml(text.encode())
    except ValueError as error:
        raise EdgeKitError("E0106", f"target {name}: {reason_of(error)}") from None
    base = table.pop("base", "")
    if not isinstance(base, str):
        raise EdgeKitError("E0106", f"target {name}: base should be a str")
    if base and (base not in names() or base == name):
        raise EdgeKitError("E0106", f"target {name}: no base {base}", hint=suggest.hint(base, names()))
    known = {f.name for f in fields(Target)} - {"name", "core"}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise EdgeKitError(
                "E0106", f"target {name}: unknown key {key}", hint=f"known: {', '.join(sorted(known))}"
            )
        expected = type(getattr(Target(name), key))
        value = tuple(value) if isinstance(value, list) else value
        if key == "clock":
            value = _hertz(name, value)
        elif expected is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
            raise EdgeKitError("E0106", f"target {name}: {key} should be a {expected.__name__}")
        if isinstance(value, tuple) and not all(isinstance(word, str) for word in value):
            raise EdgeKitError("E0106", f"target {name}: {key} should be a list of strings")
        values[key] = value
    if "memory" in values:
        values["memory"] = {bank: _bytes(name, bank, size) for bank, size in values["memory"].items()}
    if values.get("gpu", "") not in _GPUS:
        raise EdgeKitError("E0106", f"target {name}: unknown gpu {values['gpu']}", hint="opencl or webgpu")
    if "cycles_per_instruction" in values:
        values.setdefault("cycles_basis", "")  # that of the base is for its own number
    return replace(load(base), name=name, **values) if base else Target(name, **values, core=name)


_MAX_DIGITS = 15


def _hertz(name: str, value: object) -> int:
    """A frequency: a number of Hz, or 168M."""
    match = re.fullmatch(r"(\d+)(M?)", str(value)) if isinstance(value, int | str) else None
    if match is None or len(match[1]) > _MAX_DIGITS:
        hint = "a number of Hz, or such as 168M"
        raise EdgeKitError("E0106", f"target {name}: {value} is not a clock", hint=hint)
    return int(match[1]) * (1_000_000 if match[2] else 1)


def _bytes(name: str, bank: str, size: object) -> int:
    """A size in bytes: a number, or 128K, or 1M."""
    match = re.fullmatch(r"(\d+)([KM]?)", str(size)) if isinstance(size, int | str) else None
    if match is None or len(match[1]) > _MAX_DIGITS:
        hint = "a number of bytes, or such as 128K"
        raise EdgeKitError("E0106", f"target {name}: {size} is not a size of {bank}", hint=hint)
    return int(match[1]) << {"": 0, "K": 10, "M": 20}[match[2]]
