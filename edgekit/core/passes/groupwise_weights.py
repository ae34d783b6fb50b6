"""Groupwise-quantized weights: given back to layers and tables that read their numbers, or widened to floats.

A reader that computes numbers from integers with a scale for each group of a row notes both
(`Graph.groupwise`), by a digest of the numbers. Where a matrix of a layer or a table still holds these, the
integers take its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from edgekit.core.ir import Graph, GroupwiseWeights, Node
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.groupwise import DenseGroupwise, GatherGroupwise, real_weights
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import Array, DType, Type, Value, type_of


def digest(data: Array) -> bytes:
    """What tells one constant from another."""
    return hashlib.sha256(f"{data.dtype} {data.shape} ".encode() + data.tobytes()).digest()


def stored_groups(graph: Graph) -> Graph:
    """Layers and tables with the integers that the file stores, where passes left their numbers alone."""
    values = dict(graph.values)
    nodes: list[Node] = []
    names: dict[str, GroupwiseWeights | None] = {}

    def found(name: str) -> GroupwiseWeights | None:
        if name not in names:
            data = graph.data(name)
            is_matrix = data is not None and data.ndim == 2
            names[name] = graph.groupwise.get(digest(data)) if data is not None and is_matrix else None
        return names[name]

    for node in graph.nodes:
        if isinstance(node.op, Dense) and (weights := found(node.inputs[1])):
            x, w, b = node.inputs
            if graph.type(b).dtype is graph.type(x).dtype:
                own = _constants(values, w, weights)
                op = DenseGroupwise(weights.group, node.op.lo, node.op.hi)
                node = replace(node, op=op, inputs=(x, own[0], own[1], b, *own[2:]))
        elif is_lookup(graph, node) and (weights := found(node.inputs[0])):
            table, index = node.inputs
            own = _constants(values, table, weights)
            flat = _fresh(values, f"{index}_flat")
            values[flat] = Value(replace(graph.type(index), shape=graph.type(index).shape[:1]))
            nodes.append(Node(Reshape(values[flat].type.shape), (index,), (flat,), node.origin))
            rows = GatherGroupwise(weights.group, graph.type(table).dtype)
            node = replace(node, op=rows, inputs=(own[0], flat, *own[1:]))
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes), values=values, groupwise={})


def widened_groups(graph: Graph, *, only_halves: bool) -> Graph:
    """The graph with plain numbers in the place of integers with scales; or only where layers are of 16-bit
    floats, which GPUs have no kernels for."""
    values = dict(graph.values)
    nodes: list[Node] = []
    for node in graph.nodes:
        if only_halves and (
            not isinstance(node.op, DenseGroupwise) or graph.type(node.inputs[0]).dtype is DType.F32
        ):
            nodes.append(node)
            continue
        if isinstance(node.op, DenseGroupwise):
            x, w, scale, b, *zero = node.inputs
            real = _widened(graph, values, node.op.group, graph.type(x).dtype, w, scale, *zero)
            node = replace(node, op=Dense(node.op.lo, node.op.hi), inputs=(x, real, b))
        elif isinstance(node.op, GatherGroupwise):
            w, index, scale, *zero = node.inputs
            table = _widened(graph, values, node.op.group, node.op.dtype, w, scale, *zero)
            at, rows = (_fresh(values, f"{name}_{n}") for name, n in ((index, "column"), (w, "rows")))
            count, (result,) = graph.type(index).size, node.outputs
            values[at] = Value(replace(graph.type(index), shape=(count, 1)))
            nodes.append(Node(Reshape((count, 1)), (index,), (at,), node.origin))
            values[rows] = Value(Type(node.op.dtype, (count, graph.type(w).shape[1])))
            nodes.append(Node(Gather(0), (table, at), (rows,), node.origin))
            node = Node(Reshape(graph.type(result).shape), (rows,), (result,), node.origin)
        nodes.append(node)
    return graph if tuple(nodes) == graph.nodes else replace(graph, nodes=tuple(nodes), values=values)


def groupwise_bytes(graph: Graph) -> Mapping[str, int]:
    """The bytes of such weights by format, each matrix once."""
    names = {node.inputs[i] for node in graph.nodes for i in _matrix_of(node)}
    found: dict[str, int] = {}
    for name in sorted(names):
        type = graph.type(name)
        found[type.dtype.value] = found.get(type.dtype.value, 0) + -(-type.size * type.dtype.bits // 8)
    return found


def _matrix_of(node: Node) -> tuple[int, ...]:
    return (
        (1,) if isinstance(node.op, DenseGroupwise) else (0,) if isinstance(node.op, GatherGroupwise) else ()
    )


def is_lookup(graph: Graph, node: Node) -> bool:
    """Are whole rows of a matrix looked up?"""
    if node.op != Gather(0):
        return False
    x, index = (graph.type(name) for name in node.inputs)
    return x.rank == 2 and index.shape[1] == 1


def _constants(values: dict[str, Value], name: str, weights: GroupwiseWeights) -> list[str]:
    """The names of integers, scales, and zero points where there are any, each made once."""
    parts = {"groups": weights.integers, "scales": weights.scale, "zeros": weights.zero}
    made = []
    for what, data in parts.items():
        if data is not None:
            made.append(f"{name}#{what}")
            if made[-1] not in values:
                data.flags.writeable = False
                values[made[-1]] = Value(type_of(data), data)
    return made


def _widened(
    graph: Graph, values: dict[str, Value], group: int, dtype: DType, w: str, *of_groups: str
) -> str:
    name = f"{w}_{dtype.value}"
    if name not in values:
        parts = [graph.data(part) for part in (w, *of_groups)]
        data = real_weights(group, *(part for part in parts if part is not None)).astype(dtype.numpy)
        data.flags.writeable = False
        values[name] = Value(type_of(data), data)
    return name


def _fresh(values: dict[str, Value], name: str) -> str:
    while name in values:
        name += "_"
    return name
