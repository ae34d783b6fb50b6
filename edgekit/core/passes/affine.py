"""Scales and offsets by constants merge, and fold into weights: batch normalization disappears.

This is float arithmetic in another order, as every compiler of networks does it: the last bits differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.arithmetic import Add, Div, Mul, Neg, Sub
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.passes import Edit, rewrite
from edgekit.core.passes.match import constant_operand, per_channel, quantized
from edgekit.core.types import Array


def affine(graph: Graph) -> Graph:
    """The pass."""
    return rewrite(
        graph,
        sub_to_add,
        div_to_mul,
        chain,
        scale_between_offsets,
        into_weights,
        before_layer,
        matmul_to_dense,
    )


def sub_to_add(edit: Edit, node: Node) -> Sequence[str] | None:
    """x - c -> x + -c, the same bits"""
    c = edit.data(node.inputs[1]) if isinstance(node.op, Sub) else None
    if c is None or quantized(edit, node):
        return None
    return edit.add(Add(), node.inputs[0], edit.one(Neg(), node.inputs[1]))


def div_to_mul(edit: Edit, node: Node) -> Sequence[str] | None:
    """x / c -> x * (1 / c) where c is a power of two, the same bits"""
    c = edit.data(node.inputs[1]) if isinstance(node.op, Div) else None
    if c is None or c.size == 0 or not edit.type(node.inputs[1]).dtype.is_float:
        return None
    mantissa, exponent = np.frexp(c.astype(np.float64))
    limits = np.finfo(np.float32 if c.dtype.itemsize >= 4 else np.float16)
    # c and 1 / c are normal numbers: those below the least are zero on some processors.
    if not ((np.abs(mantissa) == 0.5) & (np.abs(exponent - 1) <= -limits.minexp)).all():
        return None
    return edit.add(Mul(), node.inputs[0], edit.const((1 / c.astype(np.float64)).astype(c.dtype)))


def chain(edit: Edit, node: Node) -> Sequence[str] | None:
    """x * c1 * c2 -> x * (c1 c2), and x + c1 + c2 likewise where the offsets do not cancel"""
    outer = _by_constant(edit, node, Mul, Add)
    before = edit.producer(outer[0]) if outer else None
    inner = _by_constant(edit, before, type(node.op)) if before else None
    if outer is None or inner is None or not edit.used_once(outer[0]):
        return None
    x, c1, c2 = inner[0], inner[1].astype(np.float64), outer[1].astype(np.float64)
    c = c1 * c2 if isinstance(node.op, Mul) else c1 + c2
    if isinstance(node.op, Add) and (np.abs(c) < np.maximum(np.abs(c1), np.abs(c2)) / 2).any():
        return None  # x + 2^23 - 2^23 rounds x, which may be meant
    constant = _rounded(c, inner[1])
    if constant is None or constant.size > max(c1.size, c2.size):  # a row and a column would make a matrix
        return None
    return edit.add(node.op, x, edit.const(constant))


def scale_between_offsets(edit: Edit, node: Node) -> Sequence[str] | None:
    """(x + c1) * c2 + c3 -> x * c2 + (c1 c2 + c3)"""
    last = _by_constant(edit, node, Add)
    scaled = edit.producer(last[0]) if last else None
    scale = _by_constant(edit, scaled, Mul) if scaled else None
    offset = edit.producer(scale[0]) if scale else None
    first = _by_constant(edit, offset, Add) if offset else None
    if last is None or scale is None or first is None:
        return None
    if not (edit.used_once(last[0]) and edit.used_once(scale[0])):
        return None
    c1, c2, c3 = (c.astype(np.float64) for c in (first[1], scale[1], last[1]))
    constant = _rounded(c1 * c2 + c3, last[1])
    if constant is None or constant.size > max(c1.size, c2.size, c3.size):
        return None
    return edit.add(Add(), edit.one(Mul(), first[0], edit.const(scale[1])), edit.const(constant))


def into_weights(edit: Edit, node: Node) -> Sequence[str] | None:
    """Scale and shift the weights and the bias of a layer instead of its result."""
    found = _scale_and_offset(edit, node)
    layer = edit.producer(found[0]) if found else None
    if found is None or layer is None or not _is_open(layer.op) or not edit.used_once(found[0]):
        return None
    if quantized(edit, node) or quantized(edit, layer):
        return None
    _, scale, offset = found
    w, b = (edit.data(name) for name in layer.inputs[1:])
    if w is None or b is None:
        return None
    along = (-1, *(1,) * (w.ndim - 1))
    weights = w if scale is None else _rounded(w.astype(np.float64) * scale.reshape(along), w)
    bias = _rounded(b.astype(np.float64) * (1.0 if scale is None else scale) + offset, b)
    if weights is None or bias is None:
        return None
    edit.origin = layer.origin
    w_name = layer.inputs[1] if weights is w else edit.const(weights, hint=layer.inputs[1])
    return edit.add(layer.op, layer.inputs[0], w_name, edit.const(bias, hint=layer.inputs[2]))


def before_layer(edit: Edit, node: Node) -> Sequence[str] | None:
    """layer(x * c) -> layer(x) with scaled columns of weights; layer(x + c) -> layer(x) with another bias,
    where no window leaves the image"""
    if not isinstance(node.op, Linear) or quantized(edit, node):
        return None
    before = edit.producer(node.inputs[0])
    found = _by_constant(edit, before, Mul, Add) if before else None
    w, b = (edit.data(name) for name in node.inputs[1:])
    if before is None or found is None or w is None or b is None or not edit.used_once(node.inputs[0]):
        return None
    c = per_channel(found[1].astype(np.float64), edit.type(found[0]).shape)
    if c is None:
        return None
    # The inputs of each output: all, or those of its group.
    inputs = np.repeat(c.reshape(node.op.groups, -1), len(w) // node.op.groups, axis=0)
    inputs = inputs.reshape(len(w), *(1,) * (w.ndim - 2), -1)
    weighted = w.astype(np.float64) * inputs
    if isinstance(before.op, Mul):
        weights = _rounded(weighted, w)
        return (
            edit.add(node.op, found[0], edit.const(weights), node.inputs[2]) if weights is not None else None
        )
    bias = _rounded(b.astype(np.float64) + weighted.reshape(len(w), -1).sum(axis=1), b)
    if node.op.skips_taps or bias is None:
        return None
    return edit.add(node.op, found[0], node.inputs[1], edit.const(bias))


def matmul_to_dense(edit: Edit, node: Node) -> Sequence[str] | None:
    """x w -> a layer with bias 0 where w is a constant matrix"""
    if not isinstance(node.op, MatMul):
        return None
    x, w = node.inputs
    matrix = edit.data(w)
    if matrix is None or edit.data(x) is not None or not edit.type(x).dtype.is_float:
        return None
    matrix = matrix.transpose(node.op.perm_b) if node.op.perm_b else matrix
    rank = edit.type(x).rank
    if matrix.ndim > rank or any(n != 1 for n in matrix.shape[:-2]):
        return None
    if node.op.perm_a not in ((), tuple(range(rank))):
        return None
    matrix = matrix.reshape(matrix.shape[matrix.ndim - 2 :])
    bias = np.zeros(matrix.shape[-1:], matrix.dtype)
    return edit.add(Dense(), x, edit.const(matrix.T, hint=w), edit.const(bias, hint=f"{w}_bias"))


def _by_constant(edit: Edit, node: Node, *ops: type[Op]) -> tuple[str, Array] | None:
    """(x, c) of a float operator `ops` with a constant operand that does not change the shape of x."""
    if type(node.op) not in ops:
        return None
    found = constant_operand(edit, node)
    if found is None or edit.type(found[0]) != edit.type(node.outputs[0]):
        return None
    c = edit.data(found[1])
    return (found[0], c) if c is not None and edit.type(found[0]).dtype.is_float else None


def _is_open(op: Op) -> bool:
    """Is it a layer without limits on its results?"""
    return isinstance(op, Linear) and (op.lo, op.hi) == (-inf, inf)


def _scale_and_offset(edit: Edit, node: Node) -> tuple[str, Array | None, Array] | None:
    """(y, scale, offset) of a float node that computes y * scale + offset with a number per channel, the last
    dimension; a scale of None is 1."""
    shape = edit.type(node.outputs[0]).shape
    ones, zeros = np.ones(shape[-1:]), np.zeros(shape[-1:])
    if isinstance(node.op, Neg):
        return node.inputs[0], -ones, zeros
    found = constant_operand(edit, node)
    if found is None or edit.type(found[0]) != edit.type(node.outputs[0]):
        return None
    y, constant = found
    data = edit.data(constant)
    c = per_channel(data.astype(np.float64), shape) if data is not None else None
    if c is None or not edit.type(y).dtype.is_float:
        return None
    constant_first = node.inputs[0] == constant
    match node.op:
        case Add():
            return y, None, c
        case Sub() if constant_first:  # else it has become a sum: sub_to_add
            return y, -ones, c
        case Mul():
            return y, c, zeros
        case Div() if not constant_first and (c != 0).all():
            return y, 1 / c, zeros
        case _:
            return None


def _rounded(wide: Array, like: Array) -> Array | None:
    """Back to the element type of `like`; None where that is infinite or NaN."""
    with np.errstate(all="ignore"):
        narrow = wide.astype(like.dtype)
    return narrow if np.isfinite(narrow.astype(np.float64)).all() else None
