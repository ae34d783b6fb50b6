"""Dense layers that read an embedding are multiplied into its table: a row is looked up in their place.

Networks of characters begin with a table of some hundred rows and the input layer of an LSTM or a GRU. As
long as the tables of products are no larger than what they replace, all multiplications of those layers are
saved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.reshape import Reshape
from edgekit.core.passes import Edit, rewrite
from edgekit.core.types import DType


def embeddings(graph: Graph) -> Graph:
    """The pass."""
    if graph.stored_dtypes or graph.groupwise:
        return graph  # narrow numbers of the file have wide products
    folded = {name: gather for gather in graph.nodes for name in _worth_folding(graph, gather)}
    if not folded:
        return graph

    def into_table(edit: Edit, node: Node) -> Sequence[str] | None:
        """dense(gather(table, i)) -> gather(dense(table), i)"""
        gather = folded.get(node.outputs[0])
        if gather is None or not isinstance(node.op, Dense):
            return None
        table, w, b = (graph.data(name) for name in (gather.inputs[0], *node.inputs[1:]))
        assert table is not None, gather.inputs[0]
        assert w is not None, node.inputs[1]
        assert b is not None, node.inputs[2]
        sums = table.astype(np.float64) @ w.T.astype(np.float64) + b
        made = edit.const(sums.clip(node.op.lo, node.op.hi).astype(np.float32), hint=node.inputs[1])
        rows = edit.one(gather.op, made, gather.inputs[1])
        return edit.add(Reshape(edit.type(node.outputs[0]).shape), rows)

    return rewrite(graph, into_table)


def _worth_folding(graph: Graph, gather: Node) -> list[str]:
    """The dense layers, by their results, that read rows of a table; none where products take more memory."""
    table, index = graph.data(gather.inputs[0]), gather.inputs[-1]
    if gather.op != Gather(0) or table is None or table.ndim != 2 or graph.type(index).shape[1] != 1:
        return []
    readers = list(_readers(graph, gather.outputs[0]))
    dense = [node for node in readers if node is not None and _is_dense(graph, node)]
    weights = [graph.type(node.inputs[1]) for node in dense]
    is_table_left = len(dense) < len(readers) or not graph.used_once(gather.inputs[0])
    before = sum(w.size for w in weights) + (0 if is_table_left else table.size)
    after = len(table) * sum(w.shape[0] for w in weights)
    return [node.outputs[0] for node in dense] if after <= before else []


def _readers(graph: Graph, name: str) -> Iterator[Node | None]:
    """What reads rows, in any shape; None for what leaves the graph."""
    if name in graph.exits:
        yield None
    for user in graph.users(name):
        last, moved = (graph.type(n).shape[-1:] for n in (name, user.outputs[0]))
        if isinstance(user.op, Reshape) and last == moved:
            yield from _readers(graph, user.outputs[0])
        else:
            yield user


def _is_dense(graph: Graph, node: Node) -> bool:
    """A dense layer with constant weights of its own, in floats."""
    if not isinstance(node.op, Dense) or any(graph.data(name) is None for name in node.inputs[1:]):
        return False
    is_float = all(graph.type(name).dtype is DType.F32 for name in (*node.inputs, *node.outputs))
    return is_float and graph.used_once(node.inputs[1])
