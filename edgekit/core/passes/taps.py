"""Convolutions lose the rows and columns of weights that only ever meet padding.

Kernels of three cells over a line of one are common where a network has strided its input down to a single
step: two of the three meet padding. Results are the same, and the scales of int8 become those of the weights
that count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.passes import Edit, rewrite
from edgekit.core.passes.integer_labels import labelled_constant


def taps(graph: Graph) -> Graph:
    """The pass."""
    return rewrite(graph, without_padded_taps)


def without_padded_taps(edit: Edit, node: Node) -> Sequence[str] | None:
    """conv(x, w) -> conv(x, some of w), with less padding"""
    if not isinstance(node.op, Conv2d) or not any(node.op.pads):
        return None
    x, w, b = node.inputs
    data, before = edit.data(w), node.op.window(edit.type(w))
    height, width = edit.type(x).shape[1:3]
    after = before.fitted(height, width)
    if data is None or after.size == before.size or not np.isfinite(data.astype(np.float32)).all():
        return None
    (top, left), dilations = before.pads[:2], before.dilations
    first = [(p - q) // d for p, q, d in zip((top, left), after.pads[:2], dilations, strict=True)]
    rows, columns = (slice(f, f + n) for f, n in zip(first, after.size, strict=True))
    weights = labelled_constant(edit, w, data[:, rows, columns], edit.type(w).quant)
    op = replace(node.op, pads=after.pads, strides=after.strides)
    return edit.add(op, x, weights, b, quant=edit.type(node.outputs[0]).quant)
