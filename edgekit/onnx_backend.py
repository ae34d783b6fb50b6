"""An onnx.backend.base.Backend: models go through conversion, generated C and a compiler, and run as C."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, ValueInfoProto
from onnx.backend.base import Backend, BackendRep

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.execution.driver import FLAGS, Driver
from edgekit.codegen.printing.render import render, sources
from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.onnx.reader import convert
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError, raise_all
from edgekit.core.ir import Graph
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import Array

# Thousands of small models are compiled here, and each is run once: little optimisation. Warnings are the
# business of other tests.
_FAST = ("-O1", "-w")
_TOGETHER = "together.c"
_KERNEL = re.compile(r'#include "edgekit/\w+\.c"')
_STATIC = re.compile(r"^static const struct \w+ (\w+) = {", re.MULTILINE)


def convert_case(model: ModelProto, inputs: Mapping[str, Array], name: str = "") -> Graph:
    """Convert; inputs that decide shapes are bound to the data of the case, all others stay inputs."""
    constants: dict[str, Array] = {}
    shapes = {i.name: inputs[i.name].shape for i in model.graph.input if i.name in inputs and _is_dynamic(i)}
    name = name or model.graph.name or "model"
    while True:
        try:
            graph = convert(model, shapes=shapes, constants=constants, name=name, reference=True)
            return simplify(graph)
        except EdgeKitError as error:
            new = [n for n in error.inputs if n in inputs and n not in constants]
            if error.code != "E0301" or not new:
                raise
            constants |= {n: inputs[n] for n in new}
            shapes = {n: s for n, s in shapes.items() if n not in constants}


def _is_dynamic(value: ValueInfoProto) -> bool:
    shape = value.type.tensor_type.shape
    return not value.type.tensor_type.HasField("shape") or any(not d.HasField("dim_value") for d in shape.dim)


def compile_programs(
    programs: Sequence[Program], folder: Path, optimize: Optimize = "speed", flags: Sequence[str] = _FAST
) -> tuple[Driver, dict[str, EdgeKitError]]:
    """Programs, whose names must differ, in one executable; and the errors of those that do not compile."""
    compiler = toolchain.find(targets.load("host"))
    own: dict[str, list[str]] = {}  # the source files of each program; they may share kernels
    for program in programs:
        files = render(program, optimize)
        write({path: data for path, data in files.items() if not (folder / path).exists()}, folder)
        own[program.name] = sources(files)
    every = [*dict.fromkeys(source for paths in own.values() for source in paths)]
    (folder / _TOGETHER).write_text(_together(every, folder), encoding="utf-8")
    if not _error_of(compiler, [*FLAGS, *flags, "-c", _TOGETHER], folder):
        return Driver(programs, [f"{Path(_TOGETHER).stem}.o"], folder, compiler, flags, seconds=60), {}
    compiled = {source: _error_of(compiler, [*FLAGS, *flags, "-c", source], folder) for source in every}
    errors = {name: e for name, paths in own.items() for path in paths if (e := compiled[path])}
    sound = [program for program in programs if program.name not in errors]
    objects = [f"{Path(source).stem}.o" for source, error in compiled.items() if error is None]
    return Driver(sound, objects, folder, compiler, flags, seconds=60), errors


def _together(paths: Sequence[str], folder: Path) -> str:
    """Sources as one, for a compiler that starts once and reads each kernel once: that takes a tenth of the
    time. What is static gets a name of its own."""
    seen: set[str] = set()
    texts = []
    for i, path in enumerate(paths):
        lines = [f'#include "{path}"']
        if not path.startswith("edgekit/"):
            lines = (folder / path).read_text(encoding="utf-8").splitlines()
            lines = [line for line in lines if not (_KERNEL.fullmatch(line) and line in seen)]
            seen.update(lines)
        text = "\n".join(lines)
        if names := _STATIC.findall(text):
            text = re.sub(rf"\b({'|'.join(names)})\b", rf"\1__{i}", text)
        texts.append(text)
    return "\n".join(texts) + "\n"


def _error_of(compiler: toolchain.Compiler, arguments: Sequence[str], folder: Path) -> EdgeKitError | None:
    try:
        compiler.run(arguments, folder)
    except EdgeKitError as error:
        return error
    return None


class EdgeKitRep(BackendRep):
    """A prepared model. Where inputs decide shapes, it is compiled when they are known."""

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        self.names = input_names(model)

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Array, ...]:
        given = dict(zip(self.names, (np.asarray(x) for x in inputs), strict=False))
        program = compile_graph(convert_case(self.model, given), targets.load("host"))
        with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
            driver, errors = compile_programs([program], Path(folder))
            raise_all(list(errors.values()))
            results = driver.run(program, given)
        return tuple(counted(program.graph, results, o.name) for o in self.model.graph.output)


def counted(graph: Graph, results: Mapping[str, Array], output: str) -> Array:
    """An output as ONNX has it: with as many rows as there are, not as there is room for."""
    for rows in graph.source.counted_rows:
        if rows.output == output:
            cut = [slice(None)] * rows.axis + [slice(int(results[rows.count][0]))]
            rows_there: Array = results[output][tuple(cut)]
            return rows_there
    return results[output]


def input_names(model: ModelProto) -> list[str]:
    """The inputs that a caller gives: those without a default value."""
    defaults = {t.name for t in model.graph.initializer}
    return [i.name for i in model.graph.input if i.name not in defaults]


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
