"""What depends on constants alone becomes a constant, and constant operands shrink to what they say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops._map import Map
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.while_loop import While
from edgekit.core.passes import Edit, rewrite
from edgekit.core.passes.match import quantized
from edgekit.core.types import Array

# A result may take so many times the bytes of its operands, or so many bytes: flash is no price for a copy.
_GROWTH, _SMALL = 8, 4096


def constants(graph: Graph) -> Graph:
    """The pass."""
    return rewrite(graph, fold, narrow)


def fold(edit: Edit, node: Node) -> Sequence[str] | None:
    """A node whose operands are all constant, unless it makes much out of little."""
    if not node.inputs or any(edit.data(name) is None for name in node.inputs):
        return None
    ins, outs = ([edit.type(name) for name in names] for names in (node.inputs, node.outputs))
    if isinstance(node.op, While) or not edit.can_fold(node.op, ins, outs):
        return None
    if isinstance(node.op, Reshape) and edit.type(node.inputs[0]) == edit.type(node.outputs[0]):
        return node.inputs  # an output that is a constant stays its copy
    if quantized(edit, node) and not node.op.is_data_movement:
        return None
    before = sum(t.bytes for t in ins)
    if sum(t.bytes for t in outs) > max(_GROWTH * before, _SMALL):
        return None
    return edit.add(node.op, *node.inputs)


def narrow(edit: Edit, node: Node) -> Sequence[str] | None:
    """A constant that repeats itself along a dimension is broadcast: op(x, [[3, 3], [3, 3]]) -> op(x, 3)."""
    if not isinstance(node.op, Map) or quantized(edit, node):
        return None
    shape = edit.type(node.outputs[0]).shape
    inputs = list(node.inputs)
    for i, name in enumerate(inputs):
        data = edit.data(name)
        if data is None or data.size == 0 or data.ndim == 0:
            continue
        others = np.broadcast_shapes(*(edit.type(n).shape for k, n in enumerate(inputs) if k != i))
        small = _narrowed(data, others, shape)
        if small.shape != data.shape:
            inputs[i] = edit.const(small, hint=name)
    return edit.add(node.op, *inputs) if tuple(inputs) != node.inputs else None


def _narrowed(data: Array, others: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    """The least that broadcasts, together with operands of shape `others`, to the same values of `shape`."""
    missing = len(shape) - len(others)
    for axis in range(data.ndim):
        at = axis + len(shape) - data.ndim - missing  # the dimension of `others` behind this one
        if data.shape[axis] > 1 and at >= 0 and others[at] == data.shape[axis]:
            first = data.take([0], axis)
            # Bytes, not values: NaN repeats itself too, and 0 is not -0.
            if np.array_equal(_bits(data), np.broadcast_to(_bits(first), data.shape)):
                data = first
    while not missing and data.ndim and data.shape[0] == 1:
        data = data[0]
    return data


def _bits(data: Array) -> Array:
    return np.ascontiguousarray(data).reshape(data.shape).view(f"u{data.itemsize}")
