"""What a library would take with a change to one layer: planned anew, neither compiled nor trained.

Which layers have small weights (compact_weights.py) stays as it is: to choose takes as long as all else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from edgekit.codegen.cost import instructions
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.memory.sharing import Ports
from edgekit.codegen.printing.render import Optimize
from edgekit.codegen.program import Program, compile_graph
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._integer import quant_of
from edgekit.core.ops._linear import Linear, real_weights
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.passes.match import with_fields
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Target
from edgekit.core.types import Array, DType, Type, Value
from edgekit.quantize.pruning.groups import Network

_INT4_MOST = 7  # weights of 4 bits are symmetric, as those of `quantize --weights int4`

Kind = Literal["half", "int4", "float"]
Wanted = tuple[str, Kind]  # the result of a layer, and what is changed of it


@dataclass(frozen=True)
class Change:
    """Of the library, if this were done to the layer."""

    what: str
    weight_bytes: int
    arena_bytes: int
    instructions: int | None  # None where nothing is known of the target's kernels


@dataclass(frozen=True)
class Costs:
    """What a plan takes."""

    weight_bytes: int
    arena_bytes: int
    instructions: int | None

    @staticmethod
    def of(program: Program, optimize: Optimize) -> Costs:
        run = instructions.estimated(program, optimize)
        return Costs(program.library_weight_bytes, program.arena_bytes, run.total if run else None)

    def change_to(self, other: Costs, what: str) -> Change:
        known = other.instructions is not None and self.instructions is not None
        return Change(
            what,
            other.weight_bytes - self.weight_bytes,
            other.arena_bytes - self.arena_bytes,
            (other.instructions or 0) - (self.instructions or 0) if known else None,
        )


def changes(
    graph: Graph,
    target: Target,
    wanted: Sequence[Wanted],
    *,
    optimize: Optimize = "speed",
    ports: Ports = "caller",
) -> Mapping[Wanted, Change]:
    """What each change does. Those that cannot be done are left out."""
    if not wanted:
        return {}
    program, network = fit(graph, target, ports, optimize=optimize), Network.of(graph)
    before, found = Costs.of(program, optimize), {}
    for result, kind in dict.fromkeys(wanted):
        for what, other in VARIANTS[kind](network, result, target):
            changed = compile_graph(other, target, ports, program.compact)
            found[result, kind] = before.change_to(Costs.of(changed, optimize), what)
    return found


def _half(network: Network, result: str, target: Target) -> Iterator[tuple[str, Graph]]:
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
            yield what + with_them, simplify(network.pruned({group.name: gone}))
            return


def _int4(network: Network, result: str, _: Target) -> Iterator[tuple[str, Graph]]:
    """The same products, with weights of the format that `quantize --weights int4` gives a layer."""
    graph = network.graph
    has_int4 = DType.S4.numpy.names is None  # not in the playground, whose stand-in cannot compute
    if not has_int4 or (node := _integer_layer(graph, result)) is None:
        return
    w, b = map(graph.type, node.inputs[1:])
    if w.dtype is not DType.S8 or any(quant_of(w).zero):
        return
    weights, bias = (_wide(graph, name) for name in node.inputs[1:])
    finer = _INT4_MOST / max(float(np.abs(weights).max()), 1.0)
    scale = tuple(float(np.float32(s / finer)) for s in quant_of(w).scale)
    narrow = Type(DType.S4, w.shape, replace(quant_of(w), scale=scale))
    rounded = np.clip(np.rint(weights * finer), -_INT4_MOST, _INT4_MOST)
    constants = {1: _value(narrow, rounded), 2: _value(b, np.rint(bias * finer))}
    yield "weights of 4 bits", _replaced(graph, node, constants)


def _float(network: Network, result: str, _: Target) -> Iterator[tuple[str, Graph]]:
    """Between a dequantization and a quantization, as `quantize --formats f32` leaves a layer."""
    graph = network.graph
    if (node := _integer_layer(graph, result)) is None:
        return
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
    yield "float32", replace(graph, nodes=changed, values={**graph.values, **values})


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


# What a change makes of a network, in words and as a graph; nothing where it cannot be done.
Variant = Callable[[Network, str, Target], Iterator[tuple[str, Graph]]]
VARIANTS: Mapping[Kind, Variant] = {"half": _half, "int4": _int4, "float": _float}
