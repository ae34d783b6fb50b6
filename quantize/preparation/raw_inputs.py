"""Rules for raw inputs in int8: bytes are converted first, and images get a border of what stands for zero.

A mean that is subtracted in front of a layer with a border of zeros would cost an operator and its rounding.
The same mean around the raw image makes the layer's own border needless, and the rest goes into the bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgekit.core.ir import Node
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import Edit
from edgekit.core.passes.match import constant_operand, per_channel, squeezed
from edgekit.core.types import Array, DType

_MOVES = (Transpose, Reshape)
_BYTES = (DType.U8, DType.S8)


def cast_first(edit: Edit, node: Node) -> Sequence[str] | None:
    """float(move(x)) -> move(float(x)) of bytes"""
    if not isinstance(node.op, Cast) or edit.type(node.inputs[0]).dtype not in _BYTES:
        return None
    move = edit.producer(node.inputs[0])
    if move is None or not isinstance(move.op, _MOVES) or not edit.used_once(node.inputs[0]):
        return None
    return edit.add(move.op, edit.one(node.op, move.inputs[0]))


def moved_first(edit: Edit, node: Node) -> Sequence[str] | None:
    """move(x + c) -> move(x) + move(c) for an input x"""
    add = edit.producer(node.inputs[0]) if isinstance(node.op, _MOVES) else None
    found = constant_operand(edit, add) if add and isinstance(add.op, Add) else None
    if found is None or not edit.used_once(node.inputs[0]) or not _comes_in(edit, found[0]):
        return None
    x, c = found
    data, shape = edit.data(c), edit.type(x).shape
    if data is None or shape != edit.type(node.inputs[0]).shape:
        return None
    (moved,) = node.op.eval(np.broadcast_to(data, shape))
    return edit.add(Add(), edit.one(node.op, x), edit.const(squeezed(moved)))


def mean_around(edit: Edit, node: Node) -> Sequence[str] | None:
    """layer(x + c) with a border of zeros -> layer(x in a border of -c) with another bias, for an input x"""
    if not isinstance(node.op, Conv2d) or not node.op.skips_taps:
        return None
    add = edit.producer(node.inputs[0])
    found = constant_operand(edit, add) if add and isinstance(add.op, Add) else None
    weights, bias = (edit.data(name) for name in node.inputs[1:])
    if found is None or weights is None or bias is None or not edit.used_once(node.inputs[0]):
        return None
    x, name = found
    data = edit.data(name)
    shape = edit.type(x).shape
    if data is None or shape != edit.type(node.inputs[0]).shape or not _comes_in(edit, x):
        return None
    c = per_channel(data.astype(np.float64), shape)
    if c is None:
        return None
    # The inputs of each output: all, or those of its group.
    inputs = np.repeat(c.reshape(node.op.groups, -1), len(weights) // node.op.groups, axis=0)
    sums = weights.astype(np.float64).sum(axis=(1, 2))
    shifted = bias.astype(np.float64) + (sums * inputs).sum(axis=1)
    image = _bordered(edit, x, (-c).astype(data.dtype), node.op.pads)
    op = replace(node.op, pads=(0, 0, 0, 0))
    made = edit.const(shifted.astype(bias.dtype), hint=node.inputs[2])
    return edit.add(op, image, node.inputs[1], made)


def _comes_in(edit: Edit, name: str) -> bool:
    """Is this an input, perhaps converted and moved?"""
    node = edit.producer(name)
    while node is not None and isinstance(node.op, (*_MOVES, Cast)):
        name = node.inputs[0]
        node = edit.producer(name)
    return node is None and edit.data(name) is None


def _bordered(edit: Edit, x: str, border: Array, pads: tuple[int, int, int, int]) -> str:
    """The image with so many cells at top, left, bottom and right."""
    if (border == border[0]).all():
        (top, left, bottom, right) = pads
        return edit.one(Pad((0, top, left, 0), (0, bottom, right, 0)), x, edit.const(border[0]))
    for axis in (1, 2):
        before, after = pads[axis - 1], pads[axis + 1]
        shape = edit.type(x).shape
        slabs = [
            edit.const(np.broadcast_to(border, (*shape[:axis], count, *shape[axis + 1 :])), hint="border")
            for count in (before, after)
            if count
        ]
        parts = [*(slabs[:1] if before else []), x, *(slabs[-1:] if after else [])]
        x = edit.one(Concat(axis), *parts) if slabs else x
    return x
