"""Slices move before what computes elements apart from each other: what is cut off is not computed at all.

Classifiers of transformers read the first of their tokens: behind its keys and values, their last layer is
computed for that one. A value is cut where all that reads it wants the same part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops._map import Map
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import drop_dead

Shape = tuple[int, ...]


@dataclass(frozen=True)
class _Cut:
    """What is left of a dimension."""

    start: int
    step: int
    size: int


Cuts = Mapping[int, _Cut]  # by dimension


def slices(graph: Graph) -> Graph:
    """The pass."""
    parts, operands = _wanted(graph)
    if not parts:
        return graph
    builder = Builder(graph.values)
    for name, cuts in parts.items():
        value = graph.values[name]
        builder.values[name] = replace(value, type=replace(value.type, shape=_shape(value.type.shape, cuts)))
    sliced: dict[tuple[str, Slice], str] = {}
    for node in graph.nodes:
        builder.origin = node.origin
        name = node.outputs[0]
        if name in parts:
            inputs = []
            for x, cuts in zip(node.inputs, operands[name], strict=True):
                key = x, _slice(builder.type(x).shape, cuts)
                if cuts and x not in parts and key not in sliced:
                    sliced[key] = builder.one(key[1], x)
                inputs.append(sliced.get(key, x))
            op = replace(node.op, shape=builder.type(name).shape) if isinstance(node.op, Reshape) else node.op
            builder.nodes.append(replace(node, op=op, inputs=tuple(inputs)))
        elif isinstance(node.op, Slice) and node.inputs[0] in parts:
            builder.nodes.append(replace(node, op=_slice(node.op.shape, {})))  # of all that is left
        else:
            builder.nodes.append(node)
    made = replace(graph, nodes=tuple(builder.nodes), values=builder.values)
    return builder.with_source_names(drop_dead(made))


def _wanted(graph: Graph) -> tuple[dict[str, Cuts], dict[str, list[Cuts]]]:
    """The values of which a part is enough, and which parts of operands their nodes need."""
    wanted: dict[str, list[Cuts]] = {name: [{}] for name in graph.exits}
    parts: dict[str, Cuts] = {}
    operands: dict[str, list[Cuts]] = {}
    for node in reversed(graph.nodes):
        needs: list[Cuts] = [{} for _ in node.inputs]
        if isinstance(node.op, Slice):
            needs = [_cuts(node.op, graph.type(node.inputs[0]).shape)]
        elif (found := _of_operands(graph, node, wanted.get(node.outputs[0], []))) is not None:
            parts[node.outputs[0]] = wanted[node.outputs[0]][0]
            needs = operands[node.outputs[0]] = found
        for name, need in zip(node.inputs, needs, strict=True):
            wanted.setdefault(name, []).append(need)
    return parts, operands


def _of_operands(graph: Graph, node: Node, wanted: Sequence[Cuts]) -> list[Cuts] | None:
    """The parts of operands that a node needs for the part of its result that is wanted; None where it is
    computed as a whole."""
    types = [graph.type(name) for name in (*node.inputs, *node.outputs)]
    if len(node.outputs) != 1 or not wanted or not wanted[0] or any(cuts != wanted[0] for cuts in wanted):
        return None
    if any(type.quant for type in types) or 2 * prod(_shape(types[-1].shape, wanted[0])) > types[-1].size:
        return None
    *ins, shape = (type.shape for type in types)
    places = _places(node.op, ins, shape, wanted[0])
    return None if places is None else [{at: wanted[0][k] for k, at in own.items()} for own in places]


def _places(op: Op, ins: Sequence[Shape], shape: Shape, axes: Iterable[int]) -> list[dict[int, int]] | None:
    """For each operand, the dimension that is cut with one of the result; None where elements of the result
    do not depend on that part alone."""
    last = len(shape) - 1
    match op:
        case Map():
            return [_broadcast(x, shape, axes) for x in ins]
        case LayerNorm() | RmsNorm() | Softmax() | Dense() if last not in axes:
            return [{axis: axis for axis in axes}, *({} for _ in ins[1:])]
        case Transpose(perm):
            return [{axis: perm[axis] for axis in axes}]
        case MatMul(perm_a, perm_b):
            places = []
            for x, perm, summed in zip(ins, (perm_a, perm_b), (last, last - 1), strict=True):
                order = perm or tuple(range(len(x)))
                own = _broadcast(tuple(x[p] for p in order), shape, (a for a in axes if a != summed))
                places.append({axis: order[at] for axis, at in own.items()})
            return places
        case Reshape():
            kept = {axis: at for axis in axes if (at := _same(shape, axis, ins[0])) is not None}
            return [kept] if len(kept) == len(list(axes)) else None
    return None


def _broadcast(x: Shape, shape: Shape, axes: Iterable[int]) -> dict[int, int]:
    """Dimensions of an operand that is broadcast: it is not cut where it is repeated."""
    places = {axis: axis - len(shape) + len(x) for axis in axes}
    return {axis: at for axis, at in places.items() if at >= 0 and x[at] == shape[axis]}


def _same(shape: Shape, axis: int, x: Shape) -> int | None:
    """The dimension of x that is this one of x reshaped."""
    before = prod(shape[:axis])
    return next((at for at, n in enumerate(x) if n == shape[axis] and prod(x[:at]) == before), None)


def _cuts(op: Slice, shape: Shape) -> Cuts:
    found = (_Cut(*cut) for cut in zip(op.starts, op.steps, op.shape, strict=True))
    return {axis: cut for axis, cut in enumerate(found) if cut != _Cut(0, 1, shape[axis])}


def _slice(shape: Shape, cuts: Cuts) -> Slice:
    kept = [cuts.get(axis, _Cut(0, 1, n)) for axis, n in enumerate(shape)]
    return Slice(tuple(c.start for c in kept), tuple(c.step for c in kept), tuple(c.size for c in kept))


def _shape(shape: Shape, cuts: Cuts) -> Shape:
    return tuple(cuts[axis].size if axis in cuts else n for axis, n in enumerate(shape))
