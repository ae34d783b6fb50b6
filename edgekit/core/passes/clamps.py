"""Clips move into the operator before them: y = clip(conv(x)) is a convolution with limits lo and hi.

Every operator whose attributes are called `lo` and `hi` takes part; both are limits of its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Clip, Max, Min
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.passes import Edit, rewrite
from edgekit.core.passes.match import constant_operand, number, quantized, with_fields


def clamps(graph: Graph) -> Graph:
    """The pass."""
    return rewrite(graph, extremes_to_clip, clip_of_clip, clip_into_producer, clip_before_move)


def extremes_to_clip(edit: Edit, node: Node) -> Sequence[str] | None:
    """max(x, 3) -> clip(x, 3, inf), and min likewise: one form for the rules below."""
    if not isinstance(node.op, Max | Min) or not edit.type(node.outputs[0]).dtype.is_float:
        return None
    found = constant_operand(edit, node)
    bound = number(edit, found[1]) if found else None
    if found is None or bound is None or edit.type(found[0]) != edit.type(node.outputs[0]):
        return None
    x = found[0]
    limits = (bound, inf) if isinstance(node.op, Max) else (-inf, bound)
    return edit.add(Clip(), x, *(edit.const(limit, edit.type(x).dtype.numpy) for limit in limits))


def clip_of_clip(edit: Edit, node: Node) -> Sequence[str] | None:
    """clip(clip(x, 0, 6), 1, 9) -> clip(x, 1, 6)"""
    outer = limits_of_clip(edit, node)
    before = edit.producer(node.inputs[0]) if outer else None
    inner = limits_of_clip(edit, before) if before else None
    if outer is None or before is None or inner is None:
        return None
    dtype = edit.type(node.outputs[0]).dtype.numpy
    limits = (edit.const(limit, dtype) for limit in _composed(inner, outer))
    return edit.add(Clip(), before.inputs[0], *limits)


def clip_into_producer(edit: Edit, node: Node) -> Sequence[str] | None:
    """clip(conv(x), lo, hi) -> conv(x) with limits"""
    outer = limits_of_clip(edit, node)
    before = edit.producer(node.inputs[0]) if outer else None
    if outer is None or before is None or not hasattr(before.op, "lo") or not hasattr(before.op, "hi"):
        return None
    if quantized(edit, node) or len(before.outputs) != 1 or not edit.used_once(before.outputs[0]):
        return None
    lo, hi = _composed((before.op.lo, before.op.hi), outer)
    edit.origin = before.origin
    return edit.add(with_fields(before.op, lo=lo, hi=hi), *before.inputs)


def clip_before_move(edit: Edit, node: Node) -> Sequence[str] | None:
    """clip(maxpool(conv(x))) -> maxpool(clip(conv(x))), so that the layer takes the limits"""
    limits = limits_of_clip(edit, node)
    move = edit.producer(node.inputs[0]) if limits else None
    if limits is None or move is None or not _commutes(move.op) or not edit.used_once(node.inputs[0]):
        return None
    layer = edit.producer(move.inputs[0])
    if layer is None or not hasattr(layer.op, "lo") or not edit.used_once(move.inputs[0]):
        return None
    if quantized(edit, layer) or len(move.inputs) != 1:
        return None
    dtype = edit.type(move.inputs[0]).dtype.numpy
    return edit.add(move.op, edit.one(node.op, move.inputs[0], *(edit.const(n, dtype) for n in limits)))


def _commutes(op: Op) -> bool:
    """Do its results only come from elements of its operand, the same ones after a rising function?"""
    extreme = isinstance(op, Pool2d | Reduce) and op.kind in ("max", "min")
    return op.is_data_movement or extreme


def limits_of_clip(edit: Edit, node: Node) -> tuple[float, float] | None:
    """The limits of a clip by constants, where they are in order."""
    if not isinstance(node.op, Clip) or edit.type(node.inputs[0]) != edit.type(node.outputs[0]):
        return None
    lo, hi = (number(edit, name) for name in node.inputs[1:])
    return (lo, hi) if lo is not None and hi is not None and lo <= hi else None


def _composed(inner: tuple[float, float], outer: tuple[float, float]) -> tuple[float, float]:
    """Limits of a value with limits `inner` once it is clipped to `outer`; disjoint ones leave one value."""
    lo, hi = (min(max(limit, outer[0]), outer[1]) for limit in inner)
    return lo, hi
