"""Runs generated programs inside the process of a test: each kernel is compiled once, for all programs."""

import ctypes
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from support.generated import compiled

from edgekit.codegen.execution.driver import FLAGS
from edgekit.codegen.kernels.sources import Field, Kernel
from edgekit.codegen.kernels.support_headers import support_files
from edgekit.codegen.lowering.branches import Guard
from edgekit.codegen.printing.literal import restored, stored
from edgekit.codegen.program import BranchTest, Program
from edgekit.core.types import Array

_GUARD = 64  # bytes around all memory that kernels write to, which is aligned to as many
_BORDER = b"\xa5" * _GUARD


@dataclass(frozen=True)
class Room:
    """Memory of a program, with a border that nothing may change."""

    memory: Array

    @classmethod
    def of(cls, size: int, content: bytes | None = None) -> "Room":
        """Memory with this content, or as if nothing had written to it."""
        inside = b"\xff" * size if content is None else content
        return cls(np.frombuffer(bytearray(_BORDER + inside + _BORDER), np.uint8))

    @property
    def address(self) -> int:
        return _address(self.memory) + _GUARD

    @property
    def content(self) -> bytes:
        return self.memory[_GUARD:-_GUARD].tobytes()

    @property
    def is_intact(self) -> bool:
        return self.memory[:_GUARD].tobytes() == self.memory[-_GUARD:].tobytes() == _BORDER


class Machine:
    """A compiler with its flags, and the kernels that it compiled so far, for every process that uses this
    folder."""

    def __init__(self, folder: Path, compiler: str, *flags: str) -> None:
        self.folder = folder
        self.command = [compiler, *FLAGS, *flags, "-shared", "-fPIC"]
        self.loaded: dict[str, tuple[Callable[..., None], type[ctypes.Structure]]] = {}

    def run(self, program: Program, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the program, which must leave alone what is not its own."""
        given = {p.name: stored(np.ascontiguousarray(inputs[p.name])).tobytes() for p in program.inputs}
        rooms = {("input", name): Room.of(len(data), data) for name, data in given.items()}
        rooms |= {("output", p.name): Room.of(p.type.bytes) for p in program.outputs}
        rooms["arena", ""] = Room.of(program.arena.size)
        addresses = {key: room.address for key, room in rooms.items()}
        constants = {c.c: np.ascontiguousarray(stored(c.data)) for c in program.constants}
        addresses |= {("constant", name): _address(data) for name, data in constants.items()}
        for line in program.lines:
            if not all(_holds(test, addresses) for test in line.tests):
                continue
            function, parameters = self._kernel(line.kernel)
            places = [operand.place for operand in line.operands]
            pointers = [addresses[p.kind, "" if p.kind == "arena" else p.name] + p.offset for p in places]
            values = [_value(field, text) for field, text in line.params]
            function(*pointers, ctypes.byref(parameters(*values)))
        for (kind, name), room in rooms.items():
            assert room.is_intact, f"{program.name} writes beside {kind} {name}"
            assert kind != "input" or room.content == given[name], f"{program.name} changes input {name}"
        results = {}
        for port in program.outputs:
            plain = stored(np.empty(0, port.type.dtype.numpy)).dtype
            data = np.frombuffer(rooms["output", port.name].content, plain)
            results[port.name] = restored(data, port.type.dtype).reshape(port.type.shape)
        return results

    def _kernel(self, kernel: Kernel) -> tuple[Callable[..., None], type[ctypes.Structure]]:
        if kernel.name not in self.loaded:
            library = ctypes.CDLL(str(self._compiled(kernel)))
            function = getattr(library, kernel.function)
            function.argtypes = [ctypes.c_void_p] * (len(kernel.pointers) + 1)
            function.restype = None
            self.loaded[kernel.name] = function, _structure(kernel.fields)
        return self.loaded[kernel.name]

    def _compiled(self, kernel: Kernel) -> Path:
        library = self.folder / f"{kernel.name}.so"
        if not library.exists():
            headers = dict(support_files(sorted({"types.h", *kernel.supports})))
            files = {f"{kernel.name}.h": kernel.header, f"{kernel.name}.c": kernel.source, **headers}
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                for name, text in files.items():
                    Path(folder, name).write_text(text)
                compiled(Path(folder), *self.command, f"{kernel.name}.c", "-o", library.name)
                os.replace(Path(folder, library.name), library)
        return library


def _address(memory: Array) -> int:
    """Where it lies; `memory.ctypes` takes longer than a small layer."""
    address: int = memory.__array_interface__["data"][0]
    return address


def _holds(test: BranchTest, addresses: Mapping[tuple[str, str], int]) -> bool:
    """Is the condition on this side?"""
    assert isinstance(test.guard, Guard), "loops do not run here"
    place = test.place
    address = addresses[place.kind, "" if place.kind == "arena" else place.name] + place.offset
    return bool(ctypes.c_uint8.from_address(address).value) is test.guard.side


_CTYPES: Mapping[str, Any] = {
    "int8_t": ctypes.c_int8,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}
_SPECIAL = re.compile(r"EK_(INF|NAN)_f\d\d")


def _structure(fields: Sequence[Field]) -> type[ctypes.Structure]:
    """The parameter struct of a kernel."""
    members = [(f.name, _CTYPES[f.ctype] * f.count if f.count else _CTYPES[f.ctype]) for f in fields]
    return type("Parameters", (ctypes.Structure,), {"_fields_": members})


def _value(field: Field, text: str) -> Any:
    """The number or array that a parameter is in C."""
    if field.count:
        return tuple(_number(field.ctype, part) for part in text.strip("{}").split(", "))
    return _number(field.ctype, text)


def _number(ctype: str, text: str) -> float:
    if ctype in ("float", "double"):
        return float(_SPECIAL.sub(r"\1", text).rstrip("f" if ctype == "float" else ""))
    return -(2**31) if text == "(-2147483647 - 1)" else int(text.rstrip("uL"))
