"""A transpose behind a dense layer becomes another order of its outputs: the rows of its weights.

Decoders reshape the result of a dense layer to an image, in the order that their framework has.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops._map import Map
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import Edit, rewrite
from edgekit.core.passes.match import quantized


def rows(graph: Graph) -> Graph:
    """The pass."""
    return rewrite(graph, transpose_into_rows)


def transpose_into_rows(edit: Edit, node: Node) -> Sequence[str] | None:
    """transpose(reshape(f(dense(x)))) -> reshape(f(dense(x))) with the rows of w and b in another order; f is
    any elementwise operators on single numbers"""
    if not isinstance(node.op, Transpose):
        return None
    image = edit.producer(node.inputs[0])
    if image is None or not isinstance(image.op, Reshape) or not edit.used_once(node.inputs[0]):
        return None
    chain = _chain(edit, image.inputs[0])
    if not chain:
        return None
    *steps, layer = chain
    w, b = (edit.data(name) for name in layer.inputs[1:])
    y, shape, perm = edit.type(layer.outputs[0]), edit.type(node.inputs[0]).shape, node.op.perm
    outer = next((k for k in range(len(shape) + 1) if prod(shape[:k]) == prod(y.shape[:-1])), None)
    if w is None or b is None or outer is None or perm[:outer] != tuple(range(outer)):
        return None
    cells = np.arange(prod(shape[outer:])).reshape(shape[outer:])
    order = cells.transpose([p - outer for p in perm[outer:]]).reshape(-1)
    edit.origin = layer.origin
    before = layer.outputs[0]
    result = edit.one(layer.op, layer.inputs[0], edit.const(w[order]), edit.const(b[order]))
    for step in reversed(steps):
        edit.origin = step.origin
        operands = (result if name == before else name for name in step.inputs)
        before, result = step.outputs[0], edit.one(step.op, *operands)
    edit.origin = node.origin
    return edit.add(Reshape(edit.type(node.outputs[0]).shape), result)


def _chain(edit: Edit, name: str) -> list[Node]:
    """The nodes that compute `name`, last first, back to a dense layer; [] where there is none to be had."""
    node = edit.producer(name)
    if node is None or quantized(edit, node) or not edit.used_once(name):
        return []
    if isinstance(node.op, Dense):
        return [node]
    varying = [x for x in node.inputs if edit.type(x).size != 1]
    if (
        not isinstance(node.op, Map)
        or len(varying) != 1
        or edit.type(varying[0]).shape != edit.type(name).shape
    ):
        return []
    before = _chain(edit, varying[0])
    return [node, *before] if before else []
