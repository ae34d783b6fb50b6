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
from edgekit.codegen.kernels.expressions import WEIGHT_LIMIT
from edgekit.codegen.kernels.sources import instance_of, selected_once, variant_of
from edgekit.codegen.lowering.lower import NO_LIMITS, WeightLimits
from edgekit.codegen.memory.sharing import Ports
from edgekit.codegen.planned_once import Planned, planned_once
from edgekit.codegen.program import Program, compile_graph
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._integer import quant_of
from edgekit.core.ops._linear import Linear, real_weights
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.passes.channels import dead_channels
from edgekit.core.passes.match import with_fields
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize, Target
from edgekit.core.types import Array, DType, Type, Value
from edgekit.quantize.mixed_precision.formats import wide_quant
from edgekit.quantize.pruning.groups import Network

_INT4_MOST = 7  # weights of 4 bits are symmetric, as those of `quantize --weights int4`

# Steps, as plans count them: of a plan for each of its layers, beside what is counted there; of the plan
# that the build made already; and of a build beside planning, at least: of any, and for each layer.
_PLAN, _PLANNED_BEFORE = 8_000, 25_000
_BUILD, _LAYER_BUILT = 4_000_000, 350_000

Kind = Literal["half", "int4", "int16", "float", "fast kernel", "small kernel"]
Wanted = tuple[str, Kind]  # the result of a layer, and what is changed of it


@dataclass(frozen=True)
class Change:
    """Of the library, if this were done to the layer."""

    what: str
    weight_bytes: int
    arena_bytes: int
    instructions: int | None  # None where nothing is known of the target's kernels

    def is_dearer_than(self, other: Change) -> bool:
        """Does it take no less of anything?"""
        mine, others = ((c.weight_bytes, c.arena_bytes, c.instructions or 0) for c in (self, other))
        return all(a >= b for a, b in zip(mine, others, strict=True))


@dataclass(frozen=True, eq=False)
class Changes(Mapping[Wanted, Change]):
    """The changes that were looked at."""

    found: Mapping[Wanted, Change]
    left_out: int  # that were not, as their share of a build had been spent

    def __getitem__(self, wanted: Wanted) -> Change:
        return self.found[wanted]

    def __iter__(self) -> Iterator[Wanted]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


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
    limits: WeightLimits = NO_LIMITS,
    share: float = math.inf,
) -> Changes:
    """What each change does to a library with such limits of weights. What cannot be done is no part of it.
    The first ones are looked at that take no more than this share of a build."""
    if not wanted:
        return Changes({}, 0)
    with selected_once(), planned_once() as planned:
        return _planned(graph, target, wanted, optimize, ports, limits, share, planned)


def _planned(
    graph: Graph,
    target: Target,
    wanted: Sequence[Wanted],
    optimize: Optimize,
    ports: Ports,
    limits: WeightLimits,
    share: float,
    planned: Planned,
) -> Changes:
    def costs(graph: Graph, limits: WeightLimits) -> Costs:
        planned.steps += _PLAN * len(graph.nodes)
        return Costs.of(compile_graph(graph, target, ports, limits, is_trial=True), optimize)

    program, network = compile_graph(graph, target, ports, limits, is_trial=True), Network.of(graph)
    most = share * (_BUILD + _LAYER_BUILT * len(graph.nodes) + planned.steps)
    planned.steps = _PLANNED_BEFORE * len(graph.nodes)
    before = without_dead = Costs.of(program, optimize)
    # Channels that are dead already go with half of a layer's: what that saves is not of the change.
    are_halves = any(kind == "half" for _, kind in wanted)
    if are_halves and (smaller := dead_channels(graph, in_states=True)) is not graph:
        smaller = simplify(smaller)
        without_dead = costs(smaller, _in_proportion(limits, graph, smaller))
    known: dict[Wanted, Change | None] = {}
    found: dict[Wanted, Change] = {}
    begin, left_out = planned.steps, 0
    for result, kind in dict.fromkeys(wanted):
        # Layers of a group lose channels together.
        same = _group(network, result) if kind == "half" else result
        if (same, kind) not in known:
            if planned.steps + (planned.steps - begin) / max(len(known), 1) > most:
                left_out += 1
                continue
            known[same, kind] = None
            old = without_dead if kind == "half" else before
            for what, other, kept in _planned_graphs(program, network, (result, kind), target, limits):
                known[same, kind] = old.change_to(costs(other, kept), what)
        if change := known[same, kind]:
            found[result, kind] = change
    return Changes(found, left_out)


def _planned_graphs(
    program: Program, network: Network, wanted: Wanted, target: Target, limits: WeightLimits
) -> Iterator[tuple[str, Graph, WeightLimits]]:
    """What a change makes of a library: in words, its graph, and its limits of weights."""
    (result, kind), graph = wanted, program.graph
    if kind in ("fast kernel", "small kernel"):
        others = _other_kernel(program, result, is_fast=kind == "fast kernel")
        return ((what, graph, other) for what, other in others)
    made = VARIANTS[kind](network, result, target)
    return ((what, _sharing(other, graph), _in_proportion(limits, graph, other)) for what, other in made)


def _sharing(graph: Graph, other: Graph) -> Graph:
    """The graph with the objects of another one where they are the same: these are planned already."""
    values = dict(graph.values)
    for name in values.keys() & other.values.keys():
        if values[name] is not other.values[name] and values[name] == other.values[name]:
            values[name] = other.values[name]
    known = {node.outputs: node for node in other.nodes}
    nodes = (same if (same := known.get(node.outputs)) == node else node for node in graph.nodes)
    return replace(graph, nodes=tuple(nodes), values=values)


def _group(network: Network, result: str) -> str:
    """The channels that go with those of a layer."""
    return next((group.name for group in network.groups if result in group.cells), result)


def _in_proportion(limits: WeightLimits, graph: Graph, other: Graph) -> WeightLimits:
    """The limits for a graph in which layers have fewer weights: no kernel fits there that was too large for
    the library."""
    sizes = {result: (_weights(graph, result), _weights(other, result)) for result in limits}
    shares = {result: now / before for result, (before, now) in sizes.items() if 0 < now < before}
    return {result: math.ceil(limit * shares.get(result, 1)) for result, limit in limits.items()}


def _weights(graph: Graph, result: str) -> int:
    """How many weights make a result: those of its layer, or of the layers that it adds up."""
    node = graph.producer(result)
    if node is None or isinstance(node.op, Linear):
        return graph.type(node.inputs[1]).size if node else 0
    summed = (graph.producer(name) for name in node.inputs)
    return sum(graph.type(each.inputs[1]).size for each in summed if each and isinstance(each.op, Linear))


def _other_kernel(program: Program, result: str, *, is_fast: bool) -> Iterator[tuple[str, WeightLimits]]:
    """The kernel that takes the least time, or whose weights take the least memory, where the library has the
    other one: fit() chooses among them."""
    limits = dict(program.weight_limits)
    is_limited = limits.pop(result, None) is not None
    if is_limited is not is_fast:
        return
    for line in program.lines:
        if line.call.args[-1].name == result:
            facts = {name: fact for name, fact in line.call.facts.items() if name != WEIGHT_LIMIT}
            facts |= {} if is_limited else {WEIGHT_LIMIT: 0}
            other = variant_of(replace(line.call, facts=facts, file=""), program.target)
            if other is not variant_of(line.call, program.target):
                name = instance_of(other, line.call, program.target).name
                what = f"kernel {name}, with {'larger' if is_limited else 'smaller'} weights"
                yield what, limits if is_limited else {**limits, result: 0}


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


def _int16(network: Network, result: str, _: Target) -> Iterator[tuple[str, Graph]]:
    """What the layer reads and gives, where the layers on the other side take 16 bits, too, as `quantize`
    stores what is around a layer in int16."""
    graph = network.graph
    if (node := _integer_layer(graph, result)) is None:
        return
    wide = graph
    for name in (node.inputs[0], result):
        wide = _widened(wide, name)
    if wide is not graph:
        yield "int16", wide


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
VARIANTS: Mapping[Kind, Variant] = {"half": _half, "int4": _int4, "int16": _int16, "float": _float}
