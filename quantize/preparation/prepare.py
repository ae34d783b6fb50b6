"""Brings a float graph into the form that has the most integers: means over an image become pooling."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.reshape import Reshape
from edgekit.core.passes import Edit, rewrite, settle
from edgekit.core.passes.affine import into_weights
from edgekit.core.passes.algebra import algebra
from edgekit.core.passes.common import common
from edgekit.core.passes.means import pooled_mean
from edgekit.quantize.integers.recurrent import read_last_steps
from edgekit.quantize.preparation.attention_masks import mask_asked, mask_chosen
from edgekit.quantize.preparation.channel_scales import offset_before_shape, scaled_channels
from edgekit.quantize.preparation.norms import rows_normalized
from edgekit.quantize.preparation.raw_inputs import cast_first, mean_around, moved_first


def prepare(graph: Graph) -> Graph:
    """The same graph where there is nothing to do."""
    graph = rewrite(graph, rows_normalized)  # before their means are pooled
    graph = rewrite(graph, scaled_channels, offset_before_shape, into_weights)
    asked = rewrite(graph, mask_asked)
    if asked is not graph:
        graph = settle(asked, algebra, common)  # a mask is the same for all heads, and often for all layers
    graph = rewrite(graph, mask_chosen)
    graph = read_last_steps(graph)
    return rewrite(graph, pool_means, cast_first, moved_first, mean_around)


def pool_means(edit: Edit, node: Node) -> Sequence[str] | None:
    """mean(x, neighbouring dimensions) -> a pooling whose window is the image, between two reshapes."""
    pooled = pooled_mean(node.op, edit.type(node.inputs[0])) if len(node.inputs) == 1 else None
    if pooled is None:
        return None
    image = edit.one(Reshape(pooled.image), node.inputs[0])
    return [edit.one(Reshape(edit.type(node.outputs[0]).shape), edit.one(pooled.op, image))]
