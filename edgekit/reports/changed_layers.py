"""A network with a change to one layer: half of its channels, or another format."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops._integer import quant_of
from edgekit.core.ops._linear import Linear, real_weights
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.passes.match import with_fields
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Target
from edgekit.core.types import Array, DType, Type, Value
from edgekit.quantize.mixed_precision.formats import wide_quant
from edgekit.quantize.pruning.groups import Network

_INT4_MOST = 7  # weights of 4 bits are symmetric, as those of `quantize --weights int4`

Kind = Literal["half", "int4", "int16", "float", "fast kernel", "small kernel"]
Wanted = tuple[str, Kind]  # the result of a layer, and what is changed of it

# A change in words, and what makes its graph.
Changed = tuple[str, Callable[[], Graph]]
# What can be done to a network: nothing where a change cannot.
Variant = Callable[[Network, str, Target], Iterator[Changed]]


def _half(network: Network, result: str, target: Target) -> Iterator[Changed]:
    """Rounded up to a number of channels at which the kernels of the target are at their best."""
    for group in network.groups:
        if result in group.cells:
            left = math.ceil(group.size / 2 / target.channels) * target.channels
            if left >= group.size:
                return
            gone = np.arange(group.size) < group.size - left
            others = sum(name in network.layers for name in group.cells) - 1
            what = f"{left} of {group.size} channels"
            with_them = f", with {others} other {'layers' if others > 1 else 'layer'}" if others > 0 else ""
            yield what + with_them, partial(_pruned, network, {group.name: gone})
            return


def _pruned(network: Network, gone: Mapping[str, Array]) -> Graph:
    return simplify(network.pruned(gone))


def _int4(network: Network, result: str, _: Target) -> Iterator[Changed]:
    """The same products, with weights of the format that `quantize --weights int4` gives a layer."""
    graph = network.graph
    has_int4 = DType.S4.numpy.names is None  # not in the playground, whose stand-in cannot compute
    if not has_int4 or (node := _integer_layer(graph, result)) is None:
        return
    w = graph.type(node.inputs[1])
    if w.dtype is DType.S8 and not any(quant_of(w).zero):
        yield "weights of 4 bits", partial(_in_4_bits, graph, node)


def _in_4_bits(graph: Graph, node: Node) -> Graph:
    w, b = map(graph.type, node.inputs[1:])
    weights, bias = (_wide(graph, name) for name in node.inputs[1:])
    finer = _INT4_MOST / max(float(np.abs(weights).max()), 1.0)
    scale = tuple(float(np.float32(s / finer)) for s in quant_of(w).scale)
    narrow = Type(DType.S4, w.shape, replace(quant_of(w), scale=scale))
    rounded = np.clip(np.rint(weights * finer), -_INT4_MOST, _INT4_MOST)
    constants = {1: _value(narrow, rounded), 2: _value(b, np.rint(bias * finer))}
    return _replaced(graph, node, constants)


def _int16(network: Network, result: str, _: Target) -> Iterator[Changed]:
    """What the layer reads and gives, where the layers on the other side take 16 bits, too, as `quantize`
    stores what is around a layer in int16."""
    graph = network.graph
    if (node := _integer_layer(graph, result)) is None:
        return
    wide = graph
    for name in (node.inputs[0], result):
        wide = _widened(wide, name)
    if wide is not graph:
        yield "int16", lambda: wide


def _widened(graph: Graph, name: str) -> Graph:
    """A tensor in 16 bits with the range that it has in 8; the same graph where what is beside it takes no 16
    bits, or a bias has no room for its finer scale."""
    type, maker, readers = graph.type(name), graph.producer(name), graph.users(name)
    if maker is None or type.dtype is not DType.S8 or name in graph.exits:
        return graph
    is_made_wide = isinstance(maker.op, Quantize) or _integer_layer(graph, name)
    if not is_made_wide or not all(_reads(graph, node, name) for node in readers):
        return graph
    old = quant_of(type)
    new = replace(wide_quant(old), rounding=old.rounding)
    values = {**graph.values, name: Value(replace(type, dtype=DType.S16, quant=new))}
    changed = {name: replace(maker, op=with_fields(maker.op, dtype=DType.S16))}
    for node in readers:
        bias = np.rint(_wide(graph, node.inputs[2]) * (old.scale[0] / new.scale[0]))
        if np.abs(bias).max(initial=0) >= 2.0**31:
            return graph
        result = node.outputs[0]
        values[f"{result}/2"] = _value(graph.type(node.inputs[2]), bias)
        op = with_fields(node.op, dtype=graph.type(result).dtype)
        changed[result] = replace(node, op=op, inputs=(*node.inputs[:2], f"{result}/2"))
    nodes = tuple(changed.get(node.outputs[0], node) for node in graph.nodes)
    return replace(graph, nodes=nodes, values=values)


def _reads(graph: Graph, node: Node, name: str) -> bool:
    """Is the tensor what this layer of integers multiplies with its weights?"""
    layer = _integer_layer(graph, node.outputs[0])
    return layer is not None and layer.inputs[0] == name


def _float(network: Network, result: str, _: Target) -> Iterator[Changed]:
    """Between a dequantization and a quantization, as `quantize --formats f32` leaves a layer."""
    if node := _integer_layer(network.graph, result):
        yield "float32", partial(_in_floats, network.graph, node)


def _in_floats(graph: Graph, node: Node) -> Graph:
    result = node.outputs[0]
    types = [graph.type(name) for name in (*node.inputs, result)]
    names = x, w, b, y = tuple(f"{result}/{part}" for part in "xwby")
    values = {
        name: Value(replace(type.real, dtype=DType.F32)) for name, type in zip(names, types, strict=True)
    }
    weights, bias = (_wide(graph, name) for name in node.inputs[1:])
    scale = np.array(quant_of(types[1]).scale) * quant_of(types[0]).scale[0]
    values[w] = _value(values[w].type, real_weights(weights, types[1]))
    values[b] = _value(values[b].type, bias * scale)
    nodes = (
        Node(Dequantize(), node.inputs[:1], (x,), node.origin),
        replace(node, op=with_fields(node.op, dtype=None), inputs=(x, w, b), outputs=(y,)),
        Node(Quantize(types[3].dtype), (y,), (result,), node.origin),
    )
    at = graph.nodes.index(node)
    changed = (*graph.nodes[:at], *nodes, *graph.nodes[at + 1 :])
    return replace(graph, nodes=changed, values={**graph.values, **values})


def _integer_layer(graph: Graph, result: str) -> Node | None:
    """The layer with weights, whose operands and results are integers with scales."""
    node = graph.producer(result)
    if node is None or not isinstance(node.op, Linear) or len(node.inputs) != 3:
        return None
    has_constants = all(graph.data(name) is not None for name in node.inputs[1:])
    has_scales = all(graph.type(name).quant for name in (*node.inputs[:2], result))
    return node if has_constants and has_scales else None


def _wide(graph: Graph, name: str) -> Array:
    """A constant, to compute with."""
    data = graph.data(name)
    assert data is not None
    return data.astype(np.float64)


def _replaced(graph: Graph, node: Node, constants: Mapping[int, Value]) -> Graph:
    names, values = list(node.inputs), dict(graph.values)
    for i, value in constants.items():
        names[i] = f"{node.outputs[0]}/{i}"
        values[names[i]] = value
    nodes = tuple(replace(each, inputs=tuple(names)) if each is node else each for each in graph.nodes)
    return replace(graph, nodes=nodes, values=values)


def _value(type: Type, data: Array) -> Value:
    made = np.ascontiguousarray(data).astype(type.dtype.numpy)
    made.flags.writeable = False
    return Value(type, made)


VARIANTS: Mapping[Kind, Variant] = {"half": _half, "int4": _int4, "int16": _int16, "float": _float}
