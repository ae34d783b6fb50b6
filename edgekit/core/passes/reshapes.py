"""Reshapes go behind elementwise operators, which then stand where layers take them up.

Convolutions over lines are convolutions over images of one row: between one and the next, their results lose
that row and gain it again, and what lies between would not fold into weights.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.ops._map import Map
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reshape import Reshape
from edgekit.core.passes import Edit, rewrite
from edgekit.core.passes.match import per_channel, quantized


def reshapes(graph: Graph) -> Graph:
    """The pass."""
    return rewrite(graph, put_off)


def put_off(edit: Edit, node: Node) -> Sequence[str] | None:
    """f(reshape(x), c) -> reshape(f(x, c)), also of several x with one shape, where one of them comes from a
    layer; c is constant, a number or one for each channel"""
    if not isinstance(node.op, Map) or quantized(edit, node):
        return None
    shape = edit.type(node.outputs[0]).shape
    before = [edit.producer(name) for name in node.inputs if edit.data(name) is None]
    sources = {one.inputs[0] for one in before if one and isinstance(one.op, Reshape)}
    inner = {edit.type(name).shape for name in sources}
    if len(inner) != 1 or not any(_is_layer(edit, name) for name in sources):
        return None
    operands = [_operand(edit, name, shape, *inner) for name in node.inputs]
    if None in operands:
        return None
    return edit.add(Reshape(shape), edit.one(node.op, *(name for name in operands if name)))


def _operand(edit: Edit, name: str, shape: tuple[int, ...], inner: tuple[int, ...]) -> str | None:
    """What takes the place of an operand if results of this shape get the inner one."""
    data = edit.data(name)
    if data is None:
        before = edit.producer(name)
        whole = before and isinstance(before.op, Reshape) and edit.type(name).shape == shape
        return before.inputs[0] if before and whole else None
    if data.size == 1:
        return edit.const(data.reshape(())) if data.ndim else name
    channels = per_channel(data, shape)
    if channels is None or inner[-1:] != shape[-1:]:
        return None
    return edit.const(channels) if data.ndim > 1 else name


def _is_layer(edit: Edit, name: str) -> bool:
    before = edit.producer(name)
    return before is not None and isinstance(before.op, Linear | Pool2d | Map)
