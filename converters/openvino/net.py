"""The layers of a net in OpenVINO's XML, what they read of each other, and what it says of results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from edgekit.converters.file_formats.xml_tree import Element
from edgekit.converters.openvino.attributes import dtype_named
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

_OPSET = "opset"
_BODIES = ("body", "then_body", "else_body")
Place = tuple[int, int]  # a layer and one of its ports


@dataclass(frozen=True)
class Port:
    """A result of a layer, as the file describes it; None is what it leaves open."""

    id: int
    dtype: DType | None
    dims: Sequence[int | None] | None
    names: Sequence[str]


@dataclass(frozen=True)
class Layer:
    """A layer of a net."""

    id: int
    name: str
    type: str
    version: str
    element: Element

    @property
    def opset(self) -> int:
        """The operator set that says what the type means."""
        text = self.version.removeprefix(_OPSET)
        return int(text) if self.version.startswith(_OPSET) and text.isdecimal() else 0

    @property
    def operator(self) -> str:
        """The type; that of an extension with its name."""
        return self.type if self.opset else f"{self.type} of {self.version or 'a version before 10'}"

    @cached_property
    def settings(self) -> Mapping[str, str]:
        found = next(self.element.all("data"), None)
        return (
            {} if found is None else {key.replace("-", "_"): text for key, text in found.attributes.items()}
        )

    @cached_property
    def nets(self) -> Mapping[str, Net]:
        """The nets inside of it, by the names of their elements."""
        return {inner.tag: net_of(inner) for inner in self.element.children if inner.tag in _BODIES}

    @cached_property
    def inputs(self) -> Sequence[int]:
        """Ports that it reads."""
        return [port.integer("id") for port in self._ports("input")]

    @cached_property
    def outputs(self) -> Sequence[Port]:
        return [_port(port) for port in self._ports("output")]

    def _ports(self, side: str) -> Iterator[Element]:
        return (port for found in self.element.all(side) for port in found.all("port"))


@dataclass(frozen=True)
class Net:
    """Layers, each after those that it reads, and the place that each input comes from."""

    layers: Sequence[Layer]
    sources: Mapping[Place, Place]

    def of_type(self, type: str) -> list[Layer]:
        return [layer for layer in self.layers if layer.type == type]

    def operands(self, layer: Layer) -> list[Place]:
        """Where the inputs of a layer come from, in order."""
        return [self._source(layer, port) for port in layer.inputs]

    def _source(self, layer: Layer, port: int) -> Place:
        if (layer.id, port) not in self.sources:
            raise EdgeKitError("E0401", f"nothing leads to input {port}", f"layer {layer.name}")
        return self.sources[layer.id, port]


def net_of(element: Element) -> Net:
    """The net in an element that has layers and edges."""
    layers: dict[int, Layer] = {}
    for found in element.one("layers").all("layer"):
        id = found.integer("id")
        if id in layers:
            raise EdgeKitError("E0401", f"two layers have the number {id}", found.where)
        name = found.text("name", "") or f"layer_{id}"
        layers[id] = Layer(id, name, found.text("type"), found.text("version", ""), found)
    sources: dict[Place, Place] = {}
    for edge in element.one("edges").all("edge"):
        start = edge.integer("from-layer"), edge.integer("from-port", 0)
        end = edge.integer("to-layer"), edge.integer("to-port", 0)
        if start[0] not in layers or end[0] not in layers or end in sources:
            raise EdgeKitError("E0401", f"an edge from layer {start[0]} to layer {end[0]}", edge.where)
        sources[end] = start
    return Net(_ordered(layers, sources, element.where), sources)


def _ordered(layers: Mapping[int, Layer], sources: Mapping[Place, Place], where: str) -> Sequence[Layer]:
    """Each layer after those that it reads: as in the file, where that is such an order."""
    reads: dict[int, list[int]] = {id: [] for id in layers}
    for (reader, _), (layer, _) in sources.items():
        reads[reader].append(layer)
    place = {id: at for at, id in enumerate(layers)}
    if all(place[layer] < place[reader] for reader, read in reads.items() for layer in read):
        return list(layers.values())
    try:
        return [layers[id] for id in TopologicalSorter(reads).static_order()]
    except CycleError:
        raise EdgeKitError("E0401", "the layers read each other in a circle", where) from None


def _port(element: Element) -> Port:
    dims = [None if (n := dim.number()) < 0 else n for dim in element.all("dim")]
    names = element.text("names", "").replace("\\,", "\0").split(",")
    precision = element.text("precision", "").lower()
    dtype = dtype_named(_PRECISIONS.get(precision, precision)) if precision else None
    return Port(element.integer("id"), dtype, dims, [n.replace("\0", ",") for n in names if n])


_PRECISIONS = {"fp16": "f16", "fp32": "f32", "fp64": "f64", "bool": "boolean"}
