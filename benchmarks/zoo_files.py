"""The model files of zoo_models: found where they lie, and checked by their sha256."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from edgekit.core.types import Array

_LISTS = Path(__file__).with_name("zoo_models")
_CHECKOUT = Path(__file__).parent.parent
_FOLDERS = {"checkout": _CHECKOUT, "shared": _CHECKOUT.parent / "shared"}


class AbsentError(Exception):
    """A file of the list is not on this machine, or is another version of it."""


@dataclass(frozen=True)
class Bindings:
    """What is fixed when a file is read."""

    dims: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelFile:
    """An entry of a list."""

    group: str
    title: str
    origin: str  # shared (beside the checkout), checkout (this repository), or an installed package
    file: str
    bytes: int
    sha256: str
    drawn_weights: bool = False  # the file has the architecture only, and constants in the place of weights
    profile: str = ""  # whose integers: tflm for models of TFLite Micro
    note: str = ""  # why it differs from its runtime
    package: str = ""  # of the Python package index, with its version: what brings `origin`
    dims: Mapping[str, int] = field(default_factory=dict)  # that the file leaves open
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)  # of inputs
    until: str = ""  # the tensor of a TFLite file where it is cut, as what follows saturates on drawn inputs
    samples: int = 3  # that outputs are compared on
    curves: bool = False  # inputs of floats change slowly from element to element, as sounds do
    float_weights: bool = False  # of the copy that LiteRT runs: it rounds what it multiplies by int8 weights

    @property
    def bindings(self) -> Bindings:
        return Bindings(self.dims, {name: tuple(s) for name, s in self.shapes.items()}, self.constants)

    @property
    def format(self) -> str:
        return "TFLite" if self.file.endswith(".tflite") else "ONNX"

    def ready(self, folder: Path) -> Path:
        """The file, with weights; where they are drawn, in `folder`."""
        path = self._found()
        if not path.is_file():
            raise AbsentError(f"{self.file} is not here: {self.origin}")
        if hashlib.sha256(path.read_bytes()).hexdigest() != self.sha256:
            raise AbsentError(f"{self.file} of {self.origin} is another version")
        made = folder / path.name
        if self.drawn_weights:
            onnx.save(with_drawn_weights(onnx.load(path)), made)
        elif self.until:
            made.write_bytes(cut(path.read_bytes(), self.until))
        else:
            return path
        return made

    def reference(self, path: Path, folder: Path) -> Path:
        """What the other runtime runs in the place of `path`."""
        if not self.float_weights:
            return path
        from support.tflite_to_onnx import float_tflite

        made = folder / f"float_{path.name}"
        made.write_bytes(float_tflite(path))
        return made

    def _found(self) -> Path:
        if self.origin in _FOLDERS:
            return _FOLDERS[self.origin] / self.file
        package = find_spec(self.origin)
        if package is None or not package.submodule_search_locations:
            raise AbsentError(f"the package {self.package or self.origin} is not installed")
        return Path(package.submodule_search_locations[0]) / self.file


def listed() -> list[ModelFile]:
    """All of the lists, in their order."""
    lists = [tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted(_LISTS.glob("*.toml"))]
    return [ModelFile(**entry) for found in lists for entry in found["model"]]


def with_drawn_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with random constants in the place of ConstantOfShape: onnx ships architectures so. Weights
    keep the variance of what they multiply; scales, means and variances are positive, around 1."""
    shapes = {x.name: numpy_helper.to_array(x) for x in model.graph.initializer}
    kept: list[onnx.NodeProto] = []
    for node in model.graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in shapes:
            shape = tuple(int(n) for n in shapes[node.input[0]])
            data = _drawn(shape, len(kept) + len(model.graph.initializer))
            model.graph.initializer.append(numpy_helper.from_array(data, node.output[0]))
        else:
            kept.append(node)
    del model.graph.node[:]
    model.graph.node.extend(kept)
    used = {name for node in kept for name in node.input}
    for entries in (model.graph.initializer, model.graph.input):
        items = [item for item in entries if item.name in used]
        del entries[:]
        entries.extend(items)  # each gets back its own kind
    return model


def cut(data: bytes, name: str) -> bytes:
    """A TFLite file that ends at a tensor."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(data, 0)
    graph = model.subgraphs[0]
    (last,) = (i for i, tensor in enumerate(graph.tensors) if tensor.name.decode() == name)
    behind, kept = {last}, list[Any]()
    for operator in graph.operators:
        if behind.isdisjoint(operator.inputs):
            kept.append(operator)
        else:
            behind |= set(operator.outputs)
    graph.operators, graph.outputs, model.signatureDefs = kept, [last], []
    builder = flatbuffers.Builder(len(data))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _drawn(shape: tuple[int, ...], seed: int) -> Array:
    generator = np.random.default_rng(seed)
    if len(shape) < 2:
        return generator.uniform(0.9, 1.1, shape).astype(np.float32)
    return (generator.standard_normal(shape) * np.prod(shape[1:]) ** -0.5).astype(np.float32)


def given(paths: list[Path]) -> Iterator[ModelFile]:
    """Files that are not of the list."""
    for path in paths:
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        yield ModelFile("Files", path.stem, "checkout", str(path.absolute()), len(data), digest)
