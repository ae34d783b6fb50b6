"""Brings a float graph into the form that has the most integers: means over an image become pooling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from edgekit.ir import Graph, Node
from edgekit.ops.pool2d import Pool2d
from edgekit.ops.reduce import Reduce
from edgekit.ops.reshape import Reshape
from edgekit.passes import Edit, rewrite


def prepare(graph: Graph) -> Graph:
    """The same graph where there is nothing to do."""
    return rewrite(graph, pool_means)


def pool_means(edit: Edit, node: Node) -> Sequence[str] | None:
    """mean(x, neighbouring dimensions) -> a pooling whose window is the image, between two reshapes."""
    match node.op:
        case Reduce("mean", axes) if axes and axes[-1] - axes[0] == len(axes) - 1:
            (x,) = node.inputs
            shape, out = edit.type(x).shape, edit.type(node.outputs[0]).shape
            first, last = axes[0], axes[-1] + 1
            before, inside, after = (prod(s) for s in (shape[:first], shape[first:last], shape[last:]))
            if not edit.type(x).dtype.is_float or inside == 0:
                return None
            image = edit.one(Reshape((before, inside, 1, after)), x)
            pooled = edit.one(Pool2d("mean", (inside, 1)), image)
            return [edit.one(Reshape(out), pooled)]
    return None
