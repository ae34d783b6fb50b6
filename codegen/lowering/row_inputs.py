"""An input that arrives row by row (--ports rows): how high its rows are, and the layers that read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from edgekit.codegen.lowering.regions import reads
from edgekit.codegen.lowering.row_calls import RowAxis
from edgekit.codegen.lowering.row_loops import RowSource
from edgekit.codegen.lowering.row_schedule import RowLayer, RowSchedule
from edgekit.codegen.memory.sharing import LoweredLayer
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.target import Target


@dataclass(frozen=True)
class RowInput:
    """An input as the first layer of a chain, which computes nothing."""

    layer: RowLayer
    row: int  # bytes
    readers: int  # so many layers at the start are in the loop that reads it

    def source(self, plan: RowSchedule) -> RowSource | None:
        """Its ring; None where that would hold the whole input, or layers begin before its first row."""
        name = self.layer.result
        ring, blocks = plan.rings.get(name), plan[name]
        if ring is None or blocks.first > 0:
            return None
        return RowSource(name, blocks, self.row, (ring.rows - blocks.rows) * self.row)


def arriving(
    graph: Graph, layers: Sequence[LoweredLayer], axes: Sequence[RowAxis | None], target: Target
) -> RowInput:
    """The input of a graph by rows; EdgeKitError where it must be there as a whole."""
    if target.gpu:
        raise refusal(graph, f"target {target.name} is for GPUs")
    if target.cores > 1:
        raise refusal(graph, "several cores share its layers")
    if len(graph.inputs) != 1:
        raise refusal(graph, f"it has {len(graph.inputs)} inputs")
    if graph.states:
        raise refusal(graph, "it has states")
    (name,) = graph.inputs
    readers = [i for i, layer in enumerate(layers) if name in reads(layer)]
    if not readers or name in graph.exits:
        raise refusal(graph, f"no layer reads {name} by rows")
    shapes: dict[tuple[int, int], str] = {}
    for i in readers:
        origin = layers[i].node.origin or layers[i].node.outputs[0]
        axis = axes[i]
        if axis is None or name in axis.whole_tensors:
            raise refusal(graph, f"layer {origin} reads {name} whole")
        for k, dim in axis.dims.items():
            if axis.whole.args[k].name == name:
                shapes[axis.whole.args[k].type.shape[dim], axis.row_bytes(k)] = origin
    for one, other in pairwise(shapes.values()):
        raise refusal(graph, f"layers {one} and {other} read other rows of {name}")
    ((height, row),) = shapes
    return RowInput(RowLayer(name, height, ()), row, max(readers) + 1)


def refusal(graph: Graph, reason: str) -> EdgeKitError:
    """What to say of a network whose input must be there as a whole."""
    message = f"{graph.name} cannot take its input by rows: {reason}"
    return EdgeKitError("E0103", message, hint="--ports arena keeps the input in the arena, for least RAM")
