"""A dense layer whose outputs are read in slices becomes one layer for each slice: nothing is copied.

Attention often computes queries, keys and values by one product, and cuts it up. Of several rows, each part
is a copy; a layer with its rows of the weights makes none, and takes up what follows on that part alone, such
as the scale of queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import Edit, sweep
from edgekit.core.passes.channels import cut
from edgekit.core.types import Array

_BLOCK = 16  # outputs that kernels compute together, at most: parts of other sizes would waste products
Shape = tuple[int, ...]


@dataclass(frozen=True)
class _Part:
    """The outputs of a layer that a slice reads, and how they become its result."""

    kept: Array  # a mask of outputs
    shape: Shape
    perm: Shape


def split_layers(graph: Graph) -> Graph:
    """The pass."""
    layers = [node for node in graph.nodes if isinstance(node.op, Dense)]
    parts = {name: part for node in layers for name, part in _parts(graph, node).items()}

    def split(edit: Edit, node: Node) -> Sequence[str] | None:
        """slice(transpose(reshape(dense(x, w, b)))) -> transpose(reshape(dense(x, some of w, some of b)))"""
        part = parts.get(node.outputs[0])
        if part is None:
            return None
        layer = _layer(edit, node)
        x, *constants = layer.inputs
        operands = [edit.fresh(name) for name in constants]
        for name, whole in zip(operands, constants, strict=True):
            edit.values[name] = cut(edit.values[whole], part.kept, 0)
        quant = edit.type(node.outputs[0]).quant
        edit.origin = layer.origin
        (y,) = edit.add(layer.op, x, *operands, quant=quant)
        edit.origin = node.origin
        (y,) = edit.add(Reshape(part.shape), y, quant=quant)
        return edit.add(Transpose(part.perm), y, quant=quant)

    return sweep(graph, split) if parts else graph


def _layer(edit: Edit, node: Node) -> Node:
    """The layer whose result is moved and sliced."""
    while not isinstance(node.op, Dense):
        before = edit.producer(node.inputs[0])
        assert before is not None
        node = before
    return node


def _parts(graph: Graph, layer: Node) -> dict[str, _Part]:
    """By the names of slices, what they read of a layer; nothing where it is better as a whole."""
    name, shape, perm = _moved(graph, layer.outputs[0])
    rows = prod(graph.type(layer.outputs[0]).shape[:-1])
    first = next((k for k in range(len(shape) + 1) if prod(shape[:k]) == rows), None)
    slices = [node for node in graph.users(name) if isinstance(node.op, Slice)]
    if rows < 2 or first is None or name in graph.exits or len(slices) < len(graph.users(name)):
        return {}  # slices of one row are not copied
    if any(graph.data(constant) is None for constant in layer.inputs[1:]):
        return {}
    parts: dict[str, _Part] = {}
    for node in slices:
        assert isinstance(node.op, Slice)
        boxes = dict(zip(perm, zip(node.op.starts, node.op.steps, node.op.shape, strict=True), strict=True))
        sizes = tuple(boxes[axis][2] for axis in range(len(shape)))
        if sizes[:first] != shape[:first] or min(node.op.steps) < 1:
            return {}
        inner = [boxes[axis] for axis in range(first, len(shape))]
        kept = np.zeros(shape[first:], np.bool_)
        kept[tuple(slice(start, start + step * n, step) for start, step, n in inner)] = True
        parts[node.outputs[0]] = _Part(kept.reshape(-1), sizes, perm)
    counts = np.sum([part.kept for part in parts.values()], axis=0)
    in_blocks = all(np.count_nonzero(part.kept) % _BLOCK == 0 for part in parts.values())
    return parts if parts and in_blocks and counts.max() == 1 else {}


def _moved(graph: Graph, name: str) -> tuple[str, Shape, Shape]:
    """What a value is called behind a reshape and a transpose, the shape in between, and the order behind."""
    shape = graph.type(name).shape
    perm = tuple(range(len(shape)))
    for kind in (Reshape, Transpose):
        if graph.used_once(name) and isinstance((node := graph.users(name)[0]).op, kind):
            (name,) = node.outputs
            if isinstance(node.op, Transpose):
                perm = node.op.perm
            else:
                shape = graph.type(name).shape
                perm = tuple(range(len(shape)))
    return name, shape, perm
