"""Attention to a cache, recognized: products, a mask of positions and a softmax become one operator.

Heads of keys and values that are expanded for several of queries, or transposed, are read as they lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.arithmetic import Add, Div, Mul
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.logic import LessOrEqual, Where
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.scatter import Scatter
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import Edit, rewrite
from edgekit.core.passes.match import constant_operand, number
from edgekit.core.types import Array, DType

_MASKED = -1e30  # scores from here down have no weight beside any other


def attention(graph: Graph) -> Graph:
    """The pass."""
    return rewrite(graph, cached_attention) if any(isinstance(n.op, Softmax) for n in graph.nodes) else graph


def cached_attention(edit: Edit, node: Node) -> Sequence[str] | None:
    """softmax(scale q k' where a key's position is at most the query's) v"""
    if not isinstance(node.op, MatMul) or edit.type(node.outputs[0]).dtype not in (DType.F32, DType.F64):
        return None
    weights = _through(edit, node.inputs[0], Reshape)
    softmax = edit.producer(weights)
    if node.op.perm_a or softmax is None or softmax.op != Softmax() or not edit.used_once(weights):
        return None
    scores = _scores(edit, softmax.inputs[0])
    if scores is None or scores.op.perm_a:
        return None
    batch, heads, queries, keys = edit.type(weights).shape
    q, k = scores.inputs
    operands = ((k, scores.op.perm_b), (node.inputs[1], node.op.perm_b))
    heads_of = [_cache(edit, name, keys, order) for name, order in operands]
    size, values = edit.type(q).shape[-1], edit.type(node.outputs[0]).shape[-1]
    if not all(heads_of) or edit.type(node.inputs[0]).size != batch * heads * queries * keys:
        return None
    (k, k_order), (v, v_order) = (found for found in heads_of if found)
    shared = edit.type(k).shape[1]
    fits = (
        _is_written(edit, k)
        and _is_written(edit, v)
        and edit.type(k).shape == (batch, shared, keys, size)
        and edit.type(v).shape == (batch, shared, keys, values)
        and heads % shared == 0
        and _is_repeated(k_order.swapaxes(-1, -2), edit.type(k).shape)
        and _is_repeated(v_order, edit.type(v).shape)
    )
    if not fits:
        return None
    q = edit.one(Reshape((batch, heads, queries, size)), q)
    at = edit.one(Reshape((queries,)), scores.at)
    y = edit.one(CachedAttention(scores.scale), q, k, v, at)
    return edit.add(Reshape(edit.type(node.outputs[0]).shape), y)


@dataclass(frozen=True)
class _Scores:
    op: MatMul  # the product
    inputs: Sequence[str]  # queries and keys
    scale: float
    at: str  # the position of each query


def _scores(edit: Edit, name: str) -> _Scores | None:
    """The product, the scale and the positions of scores [batch, heads, queries, keys]."""
    shape = edit.type(name).shape
    scale, at = 1.0, ""
    for _ in range(8):  # scales, a mask, reshapes
        node = edit.producer(name)
        if node is None or not edit.used_once(name):
            return None
        match node.op:
            case MatMul():
                return _Scores(node.op, node.inputs, scale, at) if at else None
            case Reshape():
                name = node.inputs[0]
            case Mul() | Div() if (found := constant_operand(edit, node)) and number(edit, found[1]):
                factor = number(edit, found[1])
                assert factor is not None, "a number was found"
                if isinstance(node.op, Div) and found[0] != node.inputs[0]:
                    return None
                scale *= 1 / factor if isinstance(node.op, Div) else factor
                name = found[0]
            case Add() | Where() if not at and len(shape) == 4 and edit.type(name).shape == shape:
                found = _masked(edit, node, shape)
                if found is None:
                    return None
                name, at = found
            case _:
                return None
    return None


def _masked(edit: Edit, node: Node, shape: Sequence[int]) -> tuple[str, str] | None:
    """The scores before they were masked, and the positions that the mask is of."""
    if isinstance(node.op, Where):
        condition, scores, low = node.inputs
        if not _ends(edit.type(condition).shape, shape):
            return None
        return _from_positions(edit, condition, low, scores, shape)
    for scores, mask in (node.inputs, node.inputs[::-1]):
        chosen = edit.producer(_through(edit, mask, Reshape))
        if chosen is not None and isinstance(chosen.op, Where) and _ends(edit.type(mask).shape, shape):
            condition, zero, low = chosen.inputs
            if number(edit, zero) == 0 and edit.type(condition).size == edit.type(mask).size:
                return _from_positions(edit, condition, low, scores, shape)
    return None


def _from_positions(
    edit: Edit, condition: str, low: str, scores: str, shape: Sequence[int]
) -> tuple[str, str] | None:
    limit = number(edit, low)
    at = _positions(edit, condition, *shape[-2:])
    return (scores, at) if at and limit is not None and limit <= _MASKED else None


def _positions(edit: Edit, condition: str, queries: int, keys: int) -> str:
    """The positions of queries that the condition compares with those of keys, 0, 1, ..."""
    node = edit.producer(_through(edit, condition, Reshape))
    if node is None or not isinstance(node.op, LessOrEqual):
        return ""
    of_keys, of_queries = node.inputs
    order, at = edit.data(of_keys), edit.type(of_queries)
    rows = (1, 1, *at.shape)[-2:]  # of the condition, keys are columns
    if order is None or at.dtype not in (DType.S32, DType.S64) or at.size != queries or rows != (queries, 1):
        return ""
    in_order = order.shape[-1:] == (keys,) and order.reshape(-1).tolist() == list(range(keys))
    return of_queries if in_order and edit.type(condition).size == queries * keys else ""


def _ends(mask: Sequence[int], shape: Sequence[int]) -> bool:
    """Is the mask one for all heads?"""
    return tuple(mask[-2:]) == tuple(shape[-2:]) and prod(mask[:-2]) == 1


def _cache(edit: Edit, name: str, keys: int, axes: Sequence[int]) -> tuple[str, Array] | None:
    """The tensor of four dimensions that an operand was made of by movements, and where each element of the
    operand, whose axes a product takes in this order, lies in it."""
    steps: list[Node] = []
    source, found = name, ("", 0)
    while True:
        shape = edit.type(source).shape
        if len(shape) == 4 and shape[2] == keys:
            found = source, len(steps)
        node = edit.producer(source)
        if node is None or not isinstance(node.op, Reshape | Expand | Transpose):
            break
        steps.append(node)
        source = node.inputs[0]
    source, count = found
    if not source:
        return None
    order = np.arange(edit.type(source).size).reshape(edit.type(source).shape)
    for node in reversed(steps[:count]):
        (order,) = node.op.eval(order)
    return source, order.transpose(axes) if axes else order


def _is_written(edit: Edit, name: str) -> bool:
    """Is it a cache? Without one the products are faster where matrices are large, and run on GPUs."""
    node = edit.producer(_through(edit, name, Reshape))
    return node is not None and isinstance(node.op, Scatter)


def _is_repeated(order: Array, shape: Sequence[int]) -> bool:
    """Is it each head of a tensor of this shape so many times, one after the other?"""
    heads = prod(shape[:2])
    times = order.size // max(1, prod(shape))
    if not order.size or order.shape[-2:] != tuple(shape[2:]) or order.size != times * prod(shape):
        return False
    expected = np.arange(prod(shape)).reshape(heads, 1, *shape[2:])
    return bool((order.reshape(heads, times, *shape[2:]) == expected).all())


def _through(edit: Edit, name: str, kind: type[Reshape]) -> str:
    """What a name is a reshape of."""
    while (node := edit.producer(name)) is not None and isinstance(node.op, kind):
        name = node.inputs[0]
    return name
