"""OpenVINO's .xml with the .bin beside it -> Graph, by the handlers of ops, named as its operators."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np

from edgekit.converters import files
from edgekit.converters.blame import blame
from edgekit.converters.file_formats import xml_tree
from edgekit.converters.file_formats.xml_tree import Element
from edgekit.converters.frontend import call, check_supported, handlers, reading, tensors
from edgekit.converters.inputs import Bindings
from edgekit.converters.naming import ModelState, named_graph
from edgekit.converters.openvino import FORMAT as FORMAT
from edgekit.converters.openvino import SUFFIXES as SUFFIXES
from edgekit.converters.openvino import bodies, ops
from edgekit.converters.openvino.attributes import arguments, dims, dtype_named
from edgekit.converters.openvino.net import Layer, Net, Place, Port, net_of
from edgekit.converters.semantics.groupwise import unpacked
from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Source
from edgekit.core.types import Array, DType, Value

_NET = re.compile(rb"^(\xef\xbb\xbf)?\s*(<\?xml[^>]*\?>\s*)?<net\s+[^<>]*\bversion=")
_OLDEST = 10  # of those whose operators are in numbered sets
_HINT = "docs/frontends.md says what is read; convert the model that this was made of by another way"
_MAX_TEXT = 1 << 29
_NIBBLES = {DType.S4, DType.U4}  # two in a byte
_PLACES = {DType.S32, DType.S64}
_PARAMETER, _RESULT, _CONSTANT = "Parameter", "Result", "Const"
_READ, _ASSIGN = "ReadValue", "Assign"
_OWN = {_PARAMETER, _RESULT, _CONSTANT, _READ, _ASSIGN, *bodies.KINDS}


def sniff(path: Path, head: bytes) -> bool:
    return _NET.match(head) is not None


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    name: str = "",
) -> Graph:
    """Convert a pair of files; `shapes` binds sizes that the file leaves open."""
    with reading(model.name):
        text = files.read(model, _MAX_TEXT)
        root = xml_tree.parse(text, model.name)
        if root.tag != "net" or root.integer("version", 0) < _OLDEST:
            message = f"a net of version {root.text('version', '?')[:20]} is not supported"
            raise EdgeKitError(
                "E0205", message, root.where, "OpenVINO 2021 and later write version 10 and 11"
            )
        net = net_of(root)
        weights = files.read_companion(model, ".bin", "weights") if _has_weights(net) else b""
        source = files.source(model, "openvino", text, weights, producer=_producer(root))
        importer = OpenvinoImporter(weights, Bindings(shapes or {}, dims or {}))
        return importer.graph(net, name or model.stem, source)


def _producer(root: Element) -> str:
    """What wrote the file, in one of the ways that versions of it say so."""
    for element in (found for info in root.all("rt_info") for found in info.children):
        if element.text("name", element.tag) in ("Runtime_version", "OpenVINO Runtime"):
            return f"OpenVINO {element.text('value', '')[:60]}".strip()
    return "OpenVINO"


class OpenvinoImporter:
    """One conversion: the graph so far, and its states."""

    def __init__(self, weights: bytes, bindings: Bindings) -> None:
        self.weights = weights
        self.bindings = bindings
        self.builder = Builder(given=len(weights))
        self.states: dict[str, tuple[str, Tensor]] = {}  # by variable: the edge that is read, the first value
        self.written: dict[str, Tensor] = {}
        self.names: dict[str, Tensor] = {}

    def graph(self, net: Net, name: str, source: Source) -> Graph:
        known = {**handlers(ops), **dict.fromkeys(_OWN)}
        check_supported(_operators(net), known, _HINT)
        parameters = [(layer, _public(layer)) for layer in net.of_type(_PARAMETER)]
        inputs = {layer.id: self._input(layer, name) for layer, name in parameters}
        if len({name for _, name in parameters}) < len(parameters):
            raise EdgeKitError("E0401", "two inputs have the same name")
        self.bindings.check([name for _, name in parameters])
        values = self.run(net, inputs, is_model=True)
        outputs: dict[str, Tensor] = {}
        for layer in net.of_type(_RESULT):
            (place,) = net.operands(layer)
            outputs[_unique(_name_of(net, layer, place), outputs)] = self._value(values, place)
        if not outputs and not self.written:
            raise EdgeKitError("E0401", "the net computes nothing")
        given = [name for _, name in parameters]
        source = self.bindings.noted(source)
        return named_graph(
            self.builder, name, given, list(outputs.items()), self.names, source, list(self._states())
        )

    def run(self, net: Net, inputs: Mapping[int, Tensor], is_model: bool = False) -> dict[Place, Tensor]:
        """The results of all layers of a net or a body, from its parameters."""
        values: dict[Place, Tensor] = {}
        for layer in net.layers:
            if layer.type == _RESULT:
                continue
            self.builder.origin = layer.name
            with blame(f"layer {layer.name}"):
                operands = [self._value(values, place) for place in net.operands(layer)]
                made = (inputs[layer.id],) if layer.type == _PARAMETER else self._made(layer, operands)
                for port, result in zip(layer.outputs, made, strict=False):
                    result = _as_stated(result, port, layer)
                    values[layer.id, port.id] = result
                    if is_model and result.data is None:
                        self.names.setdefault(port.names[0] if port.names else layer.name, result)
        return values

    def _value(self, values: Mapping[Place, Tensor], place: Place) -> Tensor:
        if place not in values:
            raise EdgeKitError("E0205", f"result {place[1]} of layer {place[0]} is not supported")
        return values[place]

    def _input(self, layer: Layer, name: str) -> Tensor:
        with blame(f"input {name}"):
            dtype = dtype_named(layer.settings.get("element_type", ""))
            type = self.bindings.type(name, dtype, dims(layer.settings.get("shape", "...")))
            return Tensor(self.builder, self.builder.input(name, type))

    def _made(self, layer: Layer, operands: Sequence[Tensor]) -> Sequence[Tensor]:
        if layer.type == _CONSTANT:
            return (Tensor(self.builder, self.builder.const(self._constant(layer), hint=layer.name)),)
        if layer.type in bodies.KINDS:
            return bodies.KINDS[layer.type](self.run, layer, operands)
        if layer.type in (_READ, _ASSIGN):
            return (self._state(layer, operands),)
        handler = handlers(ops)[layer.type]
        known = {"opset": layer.opset, "outputs": len(layer.outputs)}
        settings = arguments(handler, layer.settings, **known)
        return tensors(call(handler, layer.type, layer.name, operands, settings))

    def _constant(self, layer: Layer) -> Array:
        given = layer.settings
        dtype, shape = dtype_named(given.get("element_type", "")), dims(given.get("shape", ""))
        offset, size = (int(given.get(key, "")) for key in ("offset", "size"))
        if shape is None or None in shape:
            raise EdgeKitError("E0401", f"a constant of the shape {given.get('shape', '')[:40]}")
        sizes = [n for n in shape if n is not None]
        where = f"constant {layer.name}"
        if offset < 0 or size < 0 or offset + size > len(self.weights):
            message = f"takes bytes {offset} to {offset + size} of {len(self.weights)}"
            raise EdgeKitError("E0401", message, where)
        raw = self.weights[offset : offset + size]
        if dtype not in _NIBBLES:
            return files.array(raw, dtype, sizes, where)
        count = prod(sizes)
        packed = files.array(raw, DType.U8, [(count + 1) // 2], where)
        nibbles = unpacked(packed, 4, count).reshape(sizes).astype(np.int8)
        return ((nibbles ^ 8) - 8 if dtype.is_signed else nibbles).astype(dtype.numpy)

    def _state(self, layer: Layer, operands: Sequence[Tensor]) -> Tensor:
        """What a variable holds: from the run before where it is read, for the next where it is assigned."""
        variable = layer.settings.get("variable_id", "")
        if layer.type == _ASSIGN:
            (self.written[variable],) = operands
            return operands[0]
        if variable not in self.states:
            first = self._first(layer, operands)
            read = self.builder.input(self.builder.fresh(variable), first.type)
            self.states[variable] = read, first
        return Tensor(self.builder, self.states[variable][0])

    def _first(self, layer: Layer, operands: Sequence[Tensor]) -> Tensor:
        if operands:
            operands[0].constant(f"the first value of the state {layer.name}")
            return operands[0]
        shape = dims(layer.settings.get("variable_shape", "..."))
        dtype = dtype_named(layer.settings.get("variable_type", ""))
        if shape is None or None in shape:
            raise EdgeKitError("E0301", f"the size of the state {layer.name} is open")
        self.builder.afford([n for n in shape if n is not None])
        return Tensor(self.builder, self.builder.const(np.zeros(shape, dtype.numpy)))

    def _states(self) -> Iterator[ModelState]:
        for variable, (read, first) in self.states.items():
            following = self.written.get(variable, Tensor(self.builder, read))
            yield ModelState(read, following, Value(first.type, first.constant("the first value")))


def _operators(net: Net) -> Iterator[tuple[str, str]]:
    """The layers of a net and of its bodies."""
    for layer in net.layers:
        yield layer.operator, layer.name
        for body in layer.nets.values():
            yield from _operators(body)


def _has_weights(net: Net) -> bool:
    return any(layer.type == _CONSTANT or any(map(_has_weights, layer.nets.values())) for layer in net.layers)


def _public(layer: Layer) -> str:
    """The name of an input: that of its tensor, which is what users of OpenVINO see."""
    names = [name for port in layer.outputs for name in port.names]
    return names[0] if names else layer.name


def _name_of(net: Net, result: Layer, place: Place) -> str:
    source = next(layer for layer in net.layers if layer.id == place[0])
    names = [name for port in source.outputs if port.id == place[1] for name in port.names]
    return names[0] if names else source.name if len(source.outputs) < 2 else result.name


def _unique(name: str, taken: Mapping[str, object]) -> str:
    found, i = name, 0
    while found in taken:
        i += 1
        found = f"{name}_{i}"
    return found


def _as_stated(result: Tensor, port: Port, layer: Layer) -> Tensor:
    """A result, compared with what the file says of it; places are integers of 64 bits or of 32."""
    wanted = port.dtype
    if wanted is not None and {wanted, result.dtype} == _PLACES:
        result = cast(result, wanted)
    stated = port.dims or ()
    fits = len(stated) == result.rank and all(
        d in (None, n) for d, n in zip(stated, result.shape, strict=True)
    )
    is_type = wanted is None or result.dtype is wanted
    if port.dims is not None and not (fits and is_type):
        text = ",".join("?" if d is None else str(d) for d in stated)
        kind = "" if wanted is None else wanted.value
        raise EdgeKitError("E0401", f"{layer.type} gives {result.type}, the file says {kind}[{text}]")
    return result
