"""Attention to a cache, recognized: products, a mask of positions and a softmax become one operator.

Heads of keys and values that are expanded for several of queries, or transposed, are read as they lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.activations import Tanh
from edgekit.core.ops.arithmetic import Add, Div, Mul
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.logic import Equal, Not, Where
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.scatter import Scatter
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import Edit, rewrite
from edgekit.core.passes.attention_masks import MASKED, Condition, is_low, of_numbers, seen, through_reshapes
from edgekit.core.passes.match import constant_operand, number
from edgekit.core.types import Array, DType


def attention(graph: Graph) -> Graph:
    """The pass."""
    return rewrite(graph, cached_attention) if any(isinstance(n.op, Softmax) for n in graph.nodes) else graph


def cached_attention(edit: Edit, node: Node) -> Sequence[str] | None:
    """softmax(scale q k' where a key's position is at most the query's) v"""
    if not isinstance(node.op, MatMul) or edit.type(node.outputs[0]).dtype not in (DType.F32, DType.F64):
        return None
    weights, guarded = _weights(edit, node.inputs[0])
    softmax = edit.producer(weights)
    if node.op.perm_a or softmax is None or softmax.op != Softmax() or not edit.used_once(weights):
        return None
    scores = _scores(edit, softmax.inputs[0], guarded)
    if scores is None or scores.op.perm_a:
        return None
    batch, heads, queries, keys = edit.type(weights).shape
    q, factor = _unscaled(edit, scores.inputs[0])
    k, v = (
        _cache(edit, name, keys, order)
        for name, order in ((scores.inputs[1], scores.op.perm_b), (node.inputs[1], node.op.perm_b))
    )
    size, values = edit.type(q).shape[-1], edit.type(node.outputs[0]).shape[-1]
    if not (k and v) or edit.type(node.inputs[0]).size != batch * heads * queries * keys:
        return None
    shared = edit.type(k.name).shape[1]
    fits = (
        _is_written(edit, k.name)
        and _is_written(edit, v.name)
        and edit.type(k.name).shape == (batch, shared, keys, size)
        and edit.type(v.name).shape == (batch, shared, keys, values)
        and heads % shared == 0
        and _is_repeated(k.order.swapaxes(-1, -2), edit.type(k.name).shape)
        and _is_repeated(v.order, edit.type(v.name).shape)
        and v.factor == 1
    )
    if not fits:
        return None
    visible = seen(edit, scores.conditions, queries, keys)
    if visible is None or (batch > 1 and scores.slopes.any()):
        return None
    op = CachedAttention(scores.scale * factor * k.factor, visible.window, scores.cap)
    q = edit.one(Reshape((batch, heads, queries, size)), q)
    slopes = scores.slopes.astype(edit.type(q).dtype.numpy)
    biases = [edit.const(np.stack([0 * slopes, -slopes], 1))] if slopes.any() else []
    y = edit.one(op, q, k.name, v.name, visible.at, *biases)
    return edit.add(Reshape(edit.type(node.outputs[0]).shape), y)


def _weights(edit: Edit, name: str) -> tuple[str, str]:
    """The result of the softmax, and the mask of which a guard asks whether it leaves anything: where it does
    not, weights are 0. Of positions there is always one to see."""
    name = through_reshapes(edit, name)
    node = edit.producer(name)
    if (
        node is None
        or not isinstance(node.op, Where)
        or number(edit, node.inputs[1]) != 0
        or not edit.used_once(name)
    ):
        return name, ""
    largest = _asked_for_all(edit, edit.producer(through_reshapes(edit, node.inputs[0])))
    if largest is None or not isinstance(largest.op, Reduce) or largest.op.kind != "max":
        return name, ""
    (mask,) = largest.inputs
    is_of_keys = largest.op.axes == (edit.type(mask).rank - 1,)
    return (node.inputs[2], through_reshapes(edit, mask)) if is_of_keys else (name, "")


def _asked_for_all(edit: Edit, node: Node | None) -> Node | None:
    """What makes the largest of a mask, where it is asked whether even that is hidden: false, or -inf."""
    match node and node.op:
        case Not():
            is_asked = True
        case Equal():
            is_asked = node is not None and number(edit, node.inputs[1]) == -np.inf
        case _:
            is_asked = False
    return edit.producer(through_reshapes(edit, node.inputs[0])) if node is not None and is_asked else None


@dataclass(frozen=True)
class _Scores:
    op: MatMul  # the product
    inputs: Sequence[str]  # queries and keys
    scale: float
    cap: float
    slopes: Array  # of each head: what is added to a score for each position of its key (ALiBi)
    conditions: Sequence[Condition]  # of what is seen


def _scores(edit: Edit, name: str, guarded: str) -> _Scores | None:
    """What scores [batch, heads, queries, keys] are made of. A mask that is `guarded` is one of theirs."""
    shape = edit.type(name).shape
    scale, cap, slopes, conditions = 1.0, 0.0, np.zeros(shape[1:2]), list[Condition]()
    for _ in range(12):  # scales, caps, biases, masks, reshapes
        node = edit.producer(name)
        if node is None or not edit.used_once(name):
            return None
        match node.op:
            case MatMul():
                is_masked = bool(conditions) and not guarded
                return _Scores(node.op, node.inputs, scale, cap, slopes, conditions) if is_masked else None
            case Reshape():
                name = node.inputs[0]
            case Mul() | Div() if found := _scaled(edit, node):
                scale *= found[1]
                name = found[0]
            case Tanh() if not cap:  # what scales it is the cap
                cap, name = abs(scale), node.inputs[0]
            case Add() if not cap and (biased := _biased(edit, node, shape)):
                name, slopes = biased[0], slopes + scale * biased[1]
            case Add() | Where() if not cap and len(shape) == 4 and edit.type(name).shape == shape:
                masked = _masked(edit, node, shape)
                if masked is None:
                    return None
                name, mask, asked = masked
                guarded = "" if through_reshapes(edit, mask) == guarded else guarded
                conditions += asked
            case _:
                return None
    return None


def _biased(edit: Edit, node: Node, shape: Sequence[int]) -> tuple[str, Array] | None:
    """The scores before a constant was added that is a line over the keys of each head, and the slopes. What
    all keys of a query have in common changes no weight."""
    found = constant_operand(edit, node)
    data = edit.data(found[1]) if found else None
    if found is None or data is None or len(shape) != 4 or edit.type(found[0]).size != prod(shape):
        return None
    bias = np.broadcast_to(data, edit.type(node.outputs[0]).shape).reshape(shape).astype(np.float64)
    keys = shape[-1]
    with np.errstate(invalid="ignore"):
        slopes = (bias[..., -1:] - bias[..., :1]) / max(1, keys - 1)
    line = bias[..., :1] + slopes * np.arange(keys)
    largest = np.abs(bias).max(initial=0)
    is_line = largest < -MASKED and np.abs(bias - line).max(initial=0) <= 1e-6 * largest
    return (found[0], slopes[0, :, 0, 0]) if is_line and (slopes == slopes[:1, :, :1]).all() else None


def _masked(edit: Edit, node: Node, shape: Sequence[int]) -> tuple[str, str, Sequence[Condition]] | None:
    """The scores before they were masked, the mask, and what it asks."""
    if isinstance(node.op, Where):
        condition, *values = node.inputs
        for (scores, low), is_negated in ((values, False), (values[::-1], True)):
            if is_low(number(edit, low)) and _is_of_all_heads(edit, condition, shape):
                return scores, condition, [Condition(condition, is_negated)]
        return None
    for scores, mask in (node.inputs, node.inputs[::-1]):
        if _is_of_all_heads(edit, mask, shape) and (asked := of_numbers(edit, mask)):
            return scores, mask, asked
    return None


def _scaled(edit: Edit, node: Node) -> tuple[str, float] | None:
    """What a node scales by a number, and the factor."""
    found = constant_operand(edit, node)
    factor = number(edit, found[1]) if found else None
    if not isinstance(node.op, Mul | Div) or not found or not factor:
        return None
    if isinstance(node.op, Mul):
        return found[0], factor
    return (found[0], 1 / factor) if found[0] == node.inputs[0] else None


def _unscaled(edit: Edit, name: str) -> tuple[str, float]:
    """Queries before they were scaled by a number, and the factor."""
    node = edit.producer(through_reshapes(edit, name))
    found = _scaled(edit, node) if node else None
    return (found[0], found[1]) if found and edit.type(found[0]).size == edit.type(name).size else (name, 1.0)


def _is_of_all_heads(edit: Edit, mask: str, shape: Sequence[int]) -> bool:
    sizes = edit.type(mask).shape
    return (
        sizes[-1:] == tuple(shape[-1:]) and sizes[-2:-1] in ((), (1,), (shape[-2],)) and prod(sizes[:-2]) == 1
    )


@dataclass(frozen=True)
class _Cache:
    """The tensor of four dimensions that an operand was made of by movements and a factor, and where each
    element of the operand, whose axes a product takes in its order, is in it."""

    name: str
    order: Array
    factor: float


def _cache(edit: Edit, name: str, keys: int, axes: Sequence[int]) -> _Cache | None:
    steps: list[Node] = []
    source, found = name, ("", 0)
    while True:
        shape = edit.type(source).shape
        if len(shape) == 4 and shape[2] == keys:
            found = source, len(steps)
        node = edit.producer(source)
        scaled = _scaled(edit, node) if node else None
        if node is None or not (isinstance(node.op, Reshape | Expand | Transpose) or scaled):
            break
        steps.append(node)
        source = scaled[0] if scaled else node.inputs[0]
    source, count = found
    if not source:
        return None
    order, factor = np.arange(edit.type(source).size).reshape(edit.type(source).shape), 1.0
    for node in reversed(steps[:count]):
        if scaled := _scaled(edit, node):
            factor *= scaled[1]
        else:
            (order,) = node.op.eval(order)
    return _Cache(source, order.transpose(axes) if axes else order, factor)


def _is_written(edit: Edit, name: str) -> bool:
    """Is it a cache? Without one the products are faster where matrices are large, and run on GPUs."""
    node = edit.producer(through_reshapes(edit, name))
    return node is not None and isinstance(node.op, Scatter)


def _is_repeated(order: Array, shape: Sequence[int]) -> bool:
    """Is it each head of a tensor of this shape so many times, one after the other?"""
    heads = prod(shape[:2])
    times = order.size // max(1, prod(shape))
    if not order.size or order.shape[-2:] != tuple(shape[2:]) or order.size != times * prod(shape):
        return False
    expected = np.arange(prod(shape)).reshape(heads, 1, *shape[2:])
    return bool((order.reshape(heads, times, *shape[2:]) == expected).all())
