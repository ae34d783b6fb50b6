"""Algebraic clean-up: what changes nothing goes, what undoes itself cancels, operands come in one order."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops._map import Map, Unary
from edgekit.core.ops.arithmetic import Add, Clip, Div, Max, Min, Mul, Pow, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.logic import Not, Where
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce, integer_range
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.scatter import Scatter
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import Edit, rewrite
from edgekit.core.passes.match import constant_operand, number, quantized
from edgekit.core.types import Type, Value

_NEARLY_HALF = 0.49  # of a step, which rounding takes back


def algebra(graph: Graph) -> Graph:
    """The pass."""
    return rewrite(graph, *RULES)


def nothing_changes(edit: Edit, node: Node) -> Sequence[str] | None:
    """Reshapes to the same shape, empty borders, full slices, concatenations of one: gone. A transpose that
    moves nothing, or a sum over a dimension of size 1: a reshape, which costs nothing."""
    if not node.inputs or len(node.outputs) != 1:
        return None
    x, y = edit.type(node.inputs[0]), edit.type(node.outputs[0])
    if (x.dtype, x.quant, x.size) != (y.dtype, y.quant, y.size):
        return None
    if not node.op.changes_nothing(*(edit.type(name) for name in node.inputs)):
        return None
    if x.shape == y.shape:
        return (node.inputs[0],)
    return None if isinstance(node.op, Reshape) else edit.add(Reshape(y.shape), node.inputs[0])


# x op c = x, for the constant c on the right.
_NEUTRAL: dict[type[Op], float] = {Add: 0, Sub: 0, Mul: 1, Div: 1, Pow: 1}


def neutral_constant(edit: Edit, node: Node) -> Sequence[str] | None:
    """x + 0, x - 0, x * 1, x / 1, x ^ 1 -> x. There is no rule for x * 0: it may be NaN."""
    if type(node.op) not in _NEUTRAL or number(edit, node.inputs[1]) != _NEUTRAL[type(node.op)]:
        return None
    if quantized(edit, node):
        return None
    return (node.inputs[0],) if edit.type(node.inputs[0]) == edit.type(node.outputs[0]) else None


def idle_clip(edit: Edit, node: Node) -> Sequence[str] | None:
    """A clip to everything that the type can hold."""
    if not isinstance(node.op, Clip) or edit.type(node.inputs[0]) != edit.type(node.outputs[0]):
        return None
    x, *limits = (edit.values[name] for name in node.inputs)
    return (node.inputs[0],) if clips_nothing(x.type, limits) else None


def clips_nothing(x: Type, limits: Sequence[Value]) -> bool:
    """Are constant limits beyond all that the type can hold, or its integers stand for?"""
    lo, hi = (limit.data for limit in limits)
    if lo is None or hi is None:
        return False
    low, high = (-inf, inf) if x.dtype.is_float else integer_range(x.dtype)
    if x.quant is not None and all(limit.type.dtype.is_float for limit in limits):
        if len(x.quant.scale) > 1:
            return False
        (scale,), (zero,) = x.quant.scale, x.quant.zero
        low, high = (low - zero + _NEARLY_HALF) * scale, (high - zero - _NEARLY_HALF) * scale
    return bool(np.all(lo <= low) and np.all(hi >= high))


def decided(edit: Edit, node: Node) -> Sequence[str] | None:
    """Where of a condition that is the same everywhere: what it selects."""
    condition = number(edit, node.inputs[0]) if isinstance(node.op, Where) else None
    if condition is None:
        return None
    x = node.inputs[1 if condition else 2]
    y = edit.type(node.outputs[0])
    return (x,) if edit.type(x) == y else edit.add(Expand(y.shape), x)


def constant_goes_right(edit: Edit, node: Node) -> Sequence[str] | None:
    """c + x -> x + c, so that equal sums look alike and rules need one form."""
    if not isinstance(node.op, Add | Mul | Max | Min) or edit.data(node.inputs[0]) is None:
        return None
    found = constant_operand(edit, node)
    return edit.add(node.op, *found) if found else None


def square(edit: Edit, node: Node) -> Sequence[str] | None:
    """x ^ 2 -> x * x"""
    if not isinstance(node.op, Pow) or number(edit, node.inputs[1]) != 2 or quantized(edit, node):
        return None
    x, y = edit.type(node.inputs[0]), edit.type(node.outputs[0])
    return edit.add(Mul(), node.inputs[0], node.inputs[0]) if x == y else None


def reshape_of_reshape(edit: Edit, node: Node) -> Sequence[str] | None:
    """Two reshapes are one; an output that is the copy of another stays it."""
    before = edit.producer(node.inputs[0]) if isinstance(node.op, Reshape) else None
    if before is None or not isinstance(before.op, Reshape) or before.op == node.op:
        return None
    return edit.add(node.op, before.inputs[0])


def transpose_of_transpose(edit: Edit, node: Node) -> Sequence[str] | None:
    """Two transposes are one."""
    before = edit.producer(node.inputs[0]) if isinstance(node.op, Transpose) else None
    if before is None or not isinstance(before.op, Transpose) or not isinstance(node.op, Transpose):
        return None
    return edit.add(Transpose(tuple(before.op.perm[p] for p in node.op.perm)), before.inputs[0])


def flat_concat(edit: Edit, node: Node) -> Sequence[str] | None:
    """concat(a, concat(b, c)) -> concat(a, b, c), and nothing is concatenated to nothing."""
    if not isinstance(node.op, Concat):
        return None
    parts: list[str] = []
    for name in node.inputs:
        before = edit.producer(name)
        if before is not None and before.op == node.op and edit.used_once(name):
            parts += before.inputs
        elif edit.type(name).size or len(node.inputs) == 1:
            parts.append(name)
    return edit.add(node.op, *(parts or node.inputs[:1])) if tuple(parts) != node.inputs and parts else None


def slice_of_slice(edit: Edit, node: Node) -> Sequence[str] | None:
    """Two cuts are one."""
    before = edit.producer(node.inputs[0]) if isinstance(node.op, Slice) else None
    if before is None or not isinstance(before.op, Slice) or not isinstance(node.op, Slice):
        return None
    inner, outer = before.op, node.op
    starts = tuple(a + b * step for a, b, step in zip(inner.starts, outer.starts, inner.steps, strict=True))
    steps = tuple(a * b for a, b in zip(inner.steps, outer.steps, strict=True))
    return edit.add(Slice(starts, steps, outer.shape), before.inputs[0])


def expand_into_broadcast(edit: Edit, node: Node) -> Sequence[str] | None:
    """x + expand(y) -> x + y, where that broadcasts to the same shape"""
    if not isinstance(node.op, Map):
        return None
    inputs = list(node.inputs)
    for i, name in enumerate(inputs):
        before = edit.producer(name)
        if before is None or not isinstance(before.op, Expand):
            continue
        shapes = [edit.type(before.inputs[0] if k == i else n).shape for k, n in enumerate(inputs)]
        if np.broadcast_shapes(*shapes) == edit.type(node.outputs[0]).shape:
            inputs[i] = before.inputs[0]
    return edit.add(node.op, *inputs) if tuple(inputs) != node.inputs else None


def unary_before_expand(edit: Edit, node: Node) -> Sequence[str] | None:
    """f(expand(x)) -> expand(f(x)), which computes each number once"""
    before = _widening(edit, node) if isinstance(node.op, Unary) else None
    if before is None or quantized(edit, node):
        return None
    return edit.add(before.op, edit.one(node.op, before.inputs[0]))


def extremum_before_expand(edit: Edit, node: Node) -> Sequence[str] | None:
    """max(expand(x)) -> expand(max(x)): copies change neither a maximum nor a minimum"""
    before = _widening(edit, node) if isinstance(node.op, Reduce) else None
    if before is None or not isinstance(node.op, Reduce) or quantized(edit, node):
        return None
    if node.op.kind not in ("max", "min") or not node.op.keepdims:
        return None
    y = edit.type(node.outputs[0])
    return edit.add(Expand(y.shape), edit.one(node.op, before.inputs[0]))


def _widening(edit: Edit, node: Node) -> Node | None:
    """The expand that makes copies for this node alone, of a tensor with as many dimensions."""
    before = edit.producer(node.inputs[0])
    if before is None or not isinstance(before.op, Expand) or not edit.used_once(node.inputs[0]):
        return None
    x, y = edit.type(before.inputs[0]), edit.type(node.inputs[0])
    return before if x.rank == y.rank and 0 < x.size < y.size else None


def not_of_not(edit: Edit, node: Node) -> Sequence[str] | None:
    """not not x -> x"""
    before = edit.producer(node.inputs[0]) if isinstance(node.op, Not) else None
    return before.inputs if before is not None and isinstance(before.op, Not) else None


def expand_into_scatter(edit: Edit, node: Node) -> Sequence[str] | None:
    """One position for all heads of a cache, say, instead of one for each of their numbers."""
    index = edit.producer(node.inputs[1]) if isinstance(node.op, Scatter) else None
    if index is None or not isinstance(index.op, Expand):
        return None
    x, at, update = node.inputs[0], index.inputs[0], node.inputs[2]
    return edit.add(node.op, x, at, update) if edit.type(at).rank == edit.type(x).rank else None


def border_into_layer(edit: Edit, node: Node) -> Sequence[str] | None:
    """conv(pad(x, 0)) -> conv(x) with wider pads"""
    before = edit.producer(node.inputs[0]) if node.inputs else None
    if before is None or not isinstance(before.op, Pad):
        return None
    quant = edit.type(node.inputs[0]).quant
    if number(edit, before.inputs[1]) != (quant.zero[0] if quant else 0):
        return None
    if isinstance(node.op, Pool2d) and quant and quant.rounding != "E":
        return None  # TFLite's mean is that of the integers, whose border is no zero
    match before.op.before, before.op.after:
        case (0, top, left, 0), (0, bottom, right, 0):
            layer = node.op.padded((top, left, bottom, right))
            return edit.add(layer, before.inputs[0], *node.inputs[1:]) if layer else None
        case _:
            return None


def transpose_of_border(edit: Edit, node: Node) -> Sequence[str] | None:
    """The border behind the transpose: that moves less, and a layer may follow that takes the border."""
    before = edit.producer(node.inputs[0]) if isinstance(node.op, Transpose) else None
    if before is None or not isinstance(before.op, Pad) or not isinstance(node.op, Transpose):
        return None
    if not edit.used_once(node.inputs[0]):
        return None
    x = edit.one(node.op, before.inputs[0])
    sides = (tuple(side[p] for p in node.op.perm) for side in (before.op.before, before.op.after))
    return edit.add(Pad(*sides), x, before.inputs[1])


def reshape_of_border(edit: Edit, node: Node) -> Sequence[str] | None:
    """The border behind a reshape that only moves dimensions of size 1, as transposes of one channel are."""
    before = edit.producer(node.inputs[0]) if isinstance(node.op, Reshape) else None
    if before is None or not isinstance(before.op, Pad) or not isinstance(node.op, Reshape):
        return None
    from_dims = [i for i, n in enumerate(edit.type(node.inputs[0]).shape) if n != 1]
    to_dims = [i for i, n in enumerate(node.op.shape) if n != 1]
    sizes = [edit.type(node.inputs[0]).shape[i] for i in from_dims]
    if sizes != [node.op.shape[i] for i in to_dims] or not edit.used_once(node.inputs[0]):
        return None
    inner = edit.type(before.inputs[0]).shape
    shape, low, high = list(node.op.shape), [0] * len(node.op.shape), [0] * len(node.op.shape)
    for i, k in zip(from_dims, to_dims, strict=True):
        shape[k], low[k], high[k] = inner[i], before.op.before[i], before.op.after[i]
    x = edit.one(Reshape(tuple(shape)), before.inputs[0])
    return edit.add(Pad(tuple(low), tuple(high)), x, before.inputs[1])


RULES = (
    nothing_changes,
    neutral_constant,
    idle_clip,
    decided,
    constant_goes_right,
    square,
    reshape_of_reshape,
    transpose_of_transpose,
    flat_concat,
    slice_of_slice,
    expand_into_broadcast,
    unary_before_expand,
    extremum_before_expand,
    not_of_not,
    expand_into_scatter,
    border_into_layer,
    transpose_of_border,
    reshape_of_border,
)
