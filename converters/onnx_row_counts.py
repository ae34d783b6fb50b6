"""Refuses ONNX models that compute with the number of rows that NonMaxSuppression selects.

Shapes are fixed here, so that `Shape` knows how many rows there is room for.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnx import GraphProto

from edgekit.converters.onnx_check import label
from edgekit.converters.selected_rows import Found, Rows
from edgekit.converters.tensor import Tensor
from edgekit.errors import EdgeKitError

# Operators whose operands from here on are shapes, counts and positions.
_SHAPES = {
    "ConstantOfShape": 0,
    "Range": 0,
    **dict.fromkeys(
        ("Expand", "Pad", "Reshape", "Resize", "Slice", "Squeeze", "Tile", "TopK", "Unsqueeze"), 1
    ),
}


def check(graph: GraphProto, tensors: Mapping[str, Tensor], found: Found) -> None:
    """Does the number of rows get into an output, or meet numbers that inputs decide?"""
    counted: dict[str, str] = {}  # what depends on a number of rows, and the node that it comes from
    for i, node in enumerate(graph.node if found else ()):
        source = tensors.get(node.input[0]) if node.input else None
        if node.op_type in ("Shape", "Size") and source and isinstance(found.get(source.name), Rows):
            counted |= dict.fromkeys(node.output, label(node, i))
            continue
        operands = node.input[: _SHAPES.get(node.op_type, len(node.input))]
        if origins := [counted[name] for name in operands if name in counted]:
            counted |= dict.fromkeys(node.output, origins[0])
    for name, origin in counted.items():
        tensor = tensors.get(name)
        is_output = any(value.name == name for value in graph.output)
        if tensor is not None and (is_output or tensor.data is None):
            raise EdgeKitError(
                "E0205",
                f"{name} depends on how many rows NonMaxSuppression selects, which the shape of fixed size "
                "does not say",
                f"node {origin}",
                "leave this output out of the model (onnx.utils.extract_model): the count becomes an output",
            )
