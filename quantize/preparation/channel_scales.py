"""Rules for factors per channel: a layer has a scale for each of its weights, and rounds only once.

What batch normalization, layer scale and norms leave behind where there is no layer to fold them into.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from edgekit.core.ir import Node
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.arithmetic import Add, Div, Mul
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.reshape import Reshape
from edgekit.core.passes import Edit
from edgekit.core.passes.match import constant_operand, per_channel
from edgekit.core.types import DType


def scaled_channels(edit: Edit, node: Node) -> Sequence[str] | None:
    """x * c or x / c with a number for each channel -> a depthwise convolution of single cells"""
    found = constant_operand(edit, node) if isinstance(node.op, Mul | Div) else None
    if found is None or (isinstance(node.op, Div) and node.inputs[0] != found[0]):
        return None
    x, data = found[0], edit.data(found[1])
    shape = edit.type(x).shape
    if data is None or edit.type(x).dtype is not DType.F32 or shape != edit.type(node.outputs[0]).shape:
        return None
    c = per_channel(data, shape)
    if c is None or not shape or (c == c[:1]).all() or not np.isfinite(c).all():
        return None
    if isinstance(node.op, Div):
        if not c.all():
            return None
        c = (1 / c.astype(np.float64)).astype(np.float32)
    channels = shape[-1]
    weights = edit.const(np.ascontiguousarray(c).reshape(channels, 1, 1, 1), hint=found[1])
    bias = edit.const(np.zeros(channels, np.float32), hint="zeros")
    image = x if len(shape) == 4 else edit.one(Reshape((1, 1, prod(shape[:-1]), channels)), x)
    y = edit.one(Conv2d(groups=channels), image, weights, bias)
    return [y if len(shape) == 4 else edit.one(Reshape(shape), y)]


def offset_before_shape(edit: Edit, node: Node) -> Sequence[str] | None:
    """reshape(layer(x)) + c -> reshape(layer(x) + c) with a number for each channel, so that it goes into the
    bias"""
    found = constant_operand(edit, node) if isinstance(node.op, Add) else None
    move = edit.producer(found[0]) if found else None
    if found is None or move is None or not isinstance(move.op, Reshape) or not edit.used_once(found[0]):
        return None
    layer, data, shape = edit.producer(move.inputs[0]), edit.data(found[1]), edit.type(node.outputs[0]).shape
    before = edit.type(move.inputs[0]).shape
    if (
        layer is None
        or not isinstance(layer.op, Linear)
        or data is None
        or shape != edit.type(found[0]).shape
    ):
        return None
    c = per_channel(data, shape)
    if c is None or before[-1:] != shape[-1:]:
        return None
    return [edit.one(Reshape(shape), edit.one(Add(), move.inputs[0], edit.const(np.ascontiguousarray(c))))]
