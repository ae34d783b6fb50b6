"""Layers with nets inside: branches, and iterations over slices or as often as constants say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.converters.file_formats.xml_tree import Element
from edgekit.converters.openvino.net import Layer, Net, Place
from edgekit.converters.semantics.control_flow import branch
from edgekit.converters.semantics.movement import part
from edgekit.converters.tensor import Tensor, concat, scalar
from edgekit.core.errors import EdgeKitError

# Runs a body on what its parameters are, by their layers.
Run = Callable[[Net, Mapping[int, Tensor]], Mapping[Place, Tensor]]
Values = Mapping[Place, Tensor]
_COUNTER, _CONDITION = "current_iteration", "execution_condition"


@dataclass(frozen=True)
class _Body:
    """A net inside of a layer. Its ends name a port of the layer, and a parameter or a result of the net."""

    net: Net
    inputs: Sequence[Element]
    outputs: Sequence[Element]
    edges: Sequence[tuple[int, int]]  # from a result to a parameter of the next iteration

    @staticmethod
    def of(layer: Layer, prefix: str = "") -> _Body:
        element, body = layer.element, f"{prefix}body"
        ends = element.one(f"{prefix}port_map")
        if body not in layer.nets:
            raise EdgeKitError("E0401", f"{layer.type} has no {body}", element.where)
        back = [edge for found in element.all("back_edges") for edge in found.all("edge")]
        return _Body(
            layer.nets[body],
            list(ends.all("input")),
            list(ends.all("output")),
            [(edge.integer("from-layer"), edge.integer("to-layer")) for edge in back],
        )

    def result(self, values: Values, layer: int) -> Tensor:
        """What a result of the net is."""
        place = self.net.sources.get((layer, 0))
        if place is None or place not in values:
            raise EdgeKitError("E0401", f"result {layer} of the body is computed by nothing")
        return values[place]

    def with_purpose(self, purpose: str) -> list[int]:
        """Layers of the net that the layer itself gives or asks for."""
        ends = (*self.inputs, *self.outputs)
        return [_inner(end) for end in ends if end.text("purpose", "") == purpose]


def _if(run: Run, layer: Layer, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    def side(prefix: str) -> Callable[[Sequence[Tensor]], Sequence[Tensor]]:
        body = _Body.of(layer, prefix)

        def made(given: Sequence[Tensor]) -> Sequence[Tensor]:
            places = dict(zip(layer.inputs, (operands[0], *given), strict=True))
            values = run(body.net, {_inner(end): _at(places, _outer(end)) for end in body.inputs})
            results = {_outer(end): body.result(values, _inner(end)) for end in body.outputs}
            return [_at(results, port.id) for port in layer.outputs]

        return made

    return branch(operands[0], side("then_"), side("else_"), operands[1:])


def _iterations(run: Run, layer: Layer, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    """A body for each slice, or as often as constants say, unrolled."""
    body, places = _Body.of(layer), dict(zip(layer.inputs, operands, strict=True))
    given = [end for end in body.inputs if not end.text("purpose", "")]
    slices = [_Slices(end, _at(places, _outer(end))) for end in given if "axis" in end.attributes]
    carried = {_inner(end): _at(places, _outer(end)) for end in given if "axis" not in end.attributes}
    counts = {s.count for s in slices} or {_trips(layer, operands)}
    if len(counts) != 1:
        raise EdgeKitError("E0401", f"the slices of its operands are {sorted(counts)[:8]} in number")
    history: list[Values] = []
    for i in range(counts.pop()):
        operands[0].builder.check_room(len(body.net.layers), [x.name for x in operands])
        counter = {to: operands[0].new(np.asarray(i, np.int64)) for to in body.with_purpose(_COUNTER)}
        values = run(body.net, {**carried, **{_inner(s.end): s.at(i) for s in slices}, **counter})
        history.append(values)
        carried |= {to: body.result(values, start) for start, to in body.edges}
        conditions = [body.result(values, start) for start in body.with_purpose(_CONDITION)]
        if not all(scalar(holds, "the end of a loop") for holds in conditions):
            break
    if not history:
        raise EdgeKitError("E0205", "a loop that never runs is not supported")
    made = {_outer(end): _gathered(body, end, history) for end in body.outputs}
    return [_at(made, port.id) for port in layer.outputs]


def _trips(layer: Layer, operands: Sequence[Tensor]) -> int:
    """How often a loop runs at most; never, where its first condition does not hold."""
    if layer.type != "Loop" or len(operands) < 2:
        raise EdgeKitError("E0205", "iterations over nothing are not supported")
    most = int(scalar(operands[0], "how often a loop runs"))
    holds = bool(scalar(operands[1], "whether a loop runs"))
    if holds and most < 0:
        raise EdgeKitError("E0205", "a loop without a count is not supported")
    return most if holds else 0


class _Slices:
    """An operand of which each iteration reads a part."""

    def __init__(self, end: Element, x: Tensor) -> None:
        self.end, self.x = end, x
        self.axis = x.axis(end.integer("axis"))
        self.size, self.step = abs(end.integer("part_size", 1)), end.integer("stride", 1)
        n = x.shape[self.axis]
        first, last = (p + n + 1 if p < 0 else p for p in (end.integer("start", 0), end.integer("end", -1)))
        if not self.step or not self.size or not 0 <= first <= n or not 0 <= last <= n:
            raise EdgeKitError("E0401", f"slices of {x.type} from {first} to {last}", end.where)
        self.first, self.count = first, abs(last - first) // abs(self.step)

    def at(self, i: int) -> Tensor:
        """The part of an iteration; steps back go from the end."""
        start = self.first + (i if self.step > 0 else i + 1) * self.step
        return part(self.x, self.axis, start, self.size)


def _gathered(body: _Body, end: Element, history: Sequence[Values]) -> Tensor:
    """What a result of the body is in the end, or those of all iterations, concatenated."""
    if "axis" not in end.attributes:
        return body.result(history[-1], _inner(end))
    found = [body.result(values, _inner(end)) for values in history]
    return concat(found if end.integer("stride", 1) > 0 else found[::-1], end.integer("axis"))


def _inner(end: Element) -> int:
    return end.integer("internal_layer_id")


def _outer(end: Element) -> int:
    return end.integer("external_port_id")


def _at(places: Mapping[int, Tensor], port: int) -> Tensor:
    if port not in places:
        raise EdgeKitError("E0401", f"port {port} of the layer leads nowhere")
    return places[port]


KINDS = {"If": _if, "TensorIterator": _iterations, "Loop": _iterations}
