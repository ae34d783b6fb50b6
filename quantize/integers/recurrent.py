"""Recurrent layers among integers: which scales go together, what needs 16 bits, and what is within range.

Sums of gates come in 16 bits, and so do cells, which add up over time. Both keep all that was seen of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._gates import MAX_BITS
from edgekit.core.ops.recurrent import Gru, Recurrent, Rnn
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.types import Array, DType, Quant, Type
from edgekit.quantize.rounding.integer_weights import least_scale, weight_quant

_MAX_SUM = 2.0**16  # of what a gate adds up: ten thousand times what sigmoid and tanh tell from their limits


def states(node: Node) -> Iterator[tuple[DType, tuple[str, ...]]]:
    """Which operand and results of a recurrent layer have one scale, and in which integers."""
    assert isinstance(node.op, Recurrent)
    for i, dtype in enumerate(node.op.states):
        own = (node.inputs[2 + i], node.outputs[1 + i])
        yield dtype, (*own, node.outputs[0]) if dtype is DType.S8 else own


def is_within(graph: Graph, node: Node, quants: Mapping[str, Quant]) -> bool:
    """Are sums and cells of numbers that fixed point can hold?"""
    op, (x, r, *_), (y, *_) = node.op, node.inputs, node.outputs
    weights = graph.data(r)
    assert weights is not None, r
    unit = 1.0
    if isinstance(op, Rnn) and op.activation == "relu":
        unit = reach(quants[y]) / 8  # sums are finer than y by a constant, not by what a table takes
    sums = float(np.abs(weights).sum(axis=1).max()) * reach(quants[y])
    if isinstance(op, Gru):
        bias = graph.data(node.inputs[3])
        assert bias is not None, node.inputs[3]
        sums += float(np.abs(bias).max())
    cells = [reach(quants[name]) for dtype, names in states(node) if dtype is DType.S16 for name in names[1:]]
    is_within = all(part < _MAX_SUM * unit for part in (reach(quants[x]), sums))  # which NaN is not
    return is_within and all(cell < 2.0 ** (MAX_BITS - 1) for cell in cells)


def gate_weights(graph: Graph, node: Node, y: Quant) -> tuple[Array, Quant]:
    """Weights of a state in the scale of y, with which a bias of the last gate fits into 32 bits."""
    weights = graph.data(node.inputs[1])
    assert weights is not None, node.inputs[1]
    bias = np.zeros(len(weights))
    if isinstance(node.op, Gru):
        last = graph.data(node.inputs[3])
        assert last is not None, node.inputs[3]
        bias[-len(last) :] = last
    return weight_quant(weights, least_scale(bias, Type(DType.S8, (), y)))


def reach(quant: Quant) -> float:
    """The largest magnitude of int8."""
    return max(127 - quant.zero[0], 128 + quant.zero[0]) * quant.scale[0]


def cells(graph: Graph, group: Mapping[str, str]) -> set[str]:
    """The tensors that share a scale with what adds up over time."""
    roots = {
        group[name]
        for node in graph.nodes
        if isinstance(node.op, Recurrent)
        for dtype, names in states(node)
        if dtype is DType.S16
        for name in names[1:]
    }
    return {name for name, root in group.items() if root in roots}


def read_last_steps(graph: Graph) -> Graph:
    """Who reads the last state of a GRU reads the last step instead, which has 8 bits. What only leaves the
    graph, to come back in the next run, keeps its 16."""
    renamed: dict[str, str] = {}
    builder = Builder(graph.values)
    for node in graph.nodes:
        builder.nodes.append(replace(node, inputs=tuple(renamed.get(name, name) for name in node.inputs)))
        if not isinstance(node.op, Gru) or not graph.users(node.outputs[1]):
            continue
        y, last = node.outputs
        steps, batch, size = graph.type(y).shape
        if not steps or _only_leaves(graph, last):
            continue
        builder.origin = node.origin
        cut = Slice((0 if node.op.reverse else steps - 1, 0, 0), (1, 1, 1), (1, batch, size))
        renamed[last] = builder.one(Reshape((batch, size)), builder.one(cut, y), name=f"{last}_step")
    if not renamed:
        return graph
    return replace(graph, nodes=tuple(builder.nodes), values=builder.values)


def _only_leaves(graph: Graph, name: str) -> bool:
    """Do all who read this only move it, out of the graph?"""
    users = graph.users(name)
    return all(
        user.op.is_data_movement and all(_only_leaves(graph, n) for n in user.outputs) for user in users
    )
