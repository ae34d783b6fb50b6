"""A graph of one sample as a graph of many: training takes batches."""

from __future__ import annotations

from dataclasses import replace

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.types import Value


def batched(graph: Graph, count: int) -> Graph:
    """The same graph for `count` samples in the first dimension of all that is computed, where one is now."""
    values, wide = dict(graph.values), set(graph.inputs)
    for name in graph.inputs:
        values[name] = _many(graph, name, count)
    nodes = []
    for node in graph.nodes:
        if not wide.isdisjoint(node.inputs):
            node = replace(node, op=_op(node.op, count))
            try:
                found = node.op.infer(*(values[name].type for name in node.inputs))
            except TypeError:
                raise _mixed(node.inputs[0], node) from None
            for name, type in zip(node.outputs, found, strict=True):
                values[name] = _many(graph, name, count, node)
                if values[name].type.shape != type.shape:
                    raise _mixed(name, node)
            wide.update(node.outputs)
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes), values=values)


def _op(op: Op, count: int) -> Op:
    """An operator that states the number of samples states the new one."""
    if isinstance(op, Reshape | Expand | Slice) and op.shape[:1] == (1,):
        return replace(op, shape=(count, *op.shape[1:]))
    return op


def _many(graph: Graph, name: str, count: int, node: Node | None = None) -> Value:
    type = graph.type(name)
    if type.shape[:1] != (1,):
        raise _mixed(name, node)
    return Value(replace(type, shape=(count, *type.shape[1:])))


def _mixed(name: str, node: Node | None) -> EdgeKitError:
    return EdgeKitError(
        "E0205",
        f"the first dimension of {name} does not count samples",
        node.origin if node else "",
        "training needs a model that computes each sample by itself, the first dimension of all tensors",
    )
