"""What tables and pages call the operator of a layer: the same, whichever operators stand for it later."""

from __future__ import annotations

from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce


def operator_name(graph: Graph, node: Node) -> str:
    """The mean of an image is a Reduce among floats and a Pool2d among integers: in both a ReduceMean, as in
    ONNX."""
    match node.op:
        case Linear() as linear if linear.is_depthwise(graph.type(node.inputs[1])):
            return "Depthwise"
        case Reduce(kind):
            return f"Reduce{kind.title()}"
        case Pool2d(kind, size) if size == graph.type(node.inputs[0]).shape[1:3]:
            return f"Reduce{kind.title()}"
        case op:
            return type(op).__name__
