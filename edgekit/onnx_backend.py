"""An onnx.backend.base.Backend: every model goes through conversion, generated C, a compiler, and is run as C."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto
from onnx.backend.base import Backend, BackendRep

from edgekit import target as targets
from edgekit.codegen import toolchain
from edgekit.codegen.build import BASE_FLAGS, write
from edgekit.codegen.literal import restored, stored
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.render import render, sources
from edgekit.converters.from_onnx import convert
from edgekit.errors import EdgeKitError
from edgekit.ir import Array, Graph
from edgekit.passes import simplify

_GUARD = 64
_POISON = 0xA5


def convert_case(model: ModelProto, inputs: Mapping[str, Array]) -> Graph:
    """Convert; inputs that decide shapes are bound to the data of the case, all others stay inputs."""
    constants: dict[str, Array] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    while True:
        try:
            return simplify(convert(model, shapes=shapes, constants=constants, name=_name(model)))
        except EdgeKitError as error:
            new = [n for n in error.inputs if n in inputs and n not in constants]
            if error.code == "E0302" and (unshaped := [n for n in new if n not in shapes]):
                shapes |= {n: inputs[n].shape for n in unshaped}
            elif error.code == "E0301" and new:
                constants |= {n: inputs[n] for n in new}
                shapes = {n: s for n, s in shapes.items() if n not in constants}
            else:
                raise


def _name(model: ModelProto) -> str:
    return model.graph.name or "model"


def compile_library(programs: Sequence[Program], folder: Path) -> ctypes.CDLL:
    """One shared library with all these programs, whose names must differ; compiled in one go."""
    compiler = toolchain.find(targets.load("host"))
    arguments: list[str] = []
    for program in programs:
        files = render(program, "speed")
        write(files, folder / program.name)
        arguments += [f"{program.name}/{path}" for path in sources(files, "speed")]
    # -O1: thousands of small models are compiled here, and each is run once.
    flags = [*BASE_FLAGS, "-O1", "-w", "-fPIC", "-shared"]
    compiler.run([*flags, *arguments, "-o", "library.so"], folder)
    return ctypes.CDLL(str(folder / "library.so"))


def call(library: ctypes.CDLL, program: Program, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Run one program of a library; its arena and outputs are poisoned before and guarded behind."""
    held = [stored(np.ascontiguousarray(inputs[p.name])).tobytes() for p in program.inputs]
    buffers = [_poisoned(p.type.bytes) for p in program.outputs]
    arena = _poisoned(program.arena.size)
    function = library[f"{program.name}_run"]
    function.restype = None
    function(*(ctypes.c_char_p(b) for b in held), *(b.ctypes.data_as(ctypes.c_void_p) for b in (*buffers, arena)))
    for buffer in (*buffers, arena):
        if (buffer[-_GUARD:] != _POISON).any():
            raise AssertionError(f"{program.name} wrote outside its memory")
    result = {}
    for port, buffer in zip(program.outputs, buffers, strict=True):
        raw = buffer[: port.type.bytes].view(stored(np.empty(0, port.type.dtype.numpy)).dtype)
        result[port.name] = restored(raw, port.type.dtype).reshape(port.type.shape)
    return result


def _poisoned(size: int) -> Array:
    """`size` bytes at an aligned address, with a guard behind."""
    raw = np.full(size + _GUARD + 64, _POISON, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size + _GUARD]


class EdgeKitRep(BackendRep):
    """A prepared model. Where inputs decide shapes, it is compiled when they are known."""

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        self.names = [i.name for i in model.graph.input if i.name not in {t.name for t in model.graph.initializer}]

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Array, ...]:
        given = dict(zip(self.names, (np.asarray(x) for x in inputs), strict=False))
        program = compile_graph(convert_case(self.model, given), targets.load("host"))
        with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
            results = call(compile_library([program], Path(folder)), program, given)
        return tuple(results[o.name] for o in self.model.graph.output)


class EdgeKitBackend(Backend):
    """Conversion, code generation and the host's compiler behind ONNX's backend interface."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> EdgeKitRep:
        return EdgeKitRep(model)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == "CPU"


prepare = EdgeKitBackend.prepare
run_model = EdgeKitBackend.run_model
supports_device = EdgeKitBackend.supports_device
is_compatible = EdgeKitBackend.is_compatible
