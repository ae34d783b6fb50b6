"""Outputs that are the text of a class: its number instead, with the names beside it.

Exporters of scikit-learn keep the names of classes as text. One of them is an output: of LinearClassifier, or
picked by ArrayFeatureExtractor. There is no text in C: such an output becomes the number of the name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from onnx import GraphProto, NodeProto, TensorProto

from edgekit.converters.onnx.nodes import names_read
from edgekit.core.ir import ClassNames

_SAME = ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze")  # a name in another shape


def text_labels(graph: GraphProto) -> tuple[tuple[ClassNames, ...], Mapping[str, Sequence[int]]]:
    """Outputs that are names of classes, and the shapes of the constants with these names: numbers from 0 on
    take their place. Names that anything else reads are left to be refused."""
    made = {name: node for node in graph.node for name in node.output}
    read = [name for node in graph.node for name in names_read(node)]
    texts = {t.name: t for t in graph.initializer if t.data_type == TensorProto.STRING}
    outputs: list[ClassNames] = []
    numbered: dict[str, Sequence[int]] = {}
    for value in graph.output:
        if value.type.tensor_type.elem_type != TensorProto.STRING:
            continue
        name = value.name
        node = made.get(name)
        while node is not None and node.op_type in _SAME and not read.count(name):
            name, node = node.input[0], made.get(node.input[0])
            read.remove(name)
        if node is None or read.count(name):
            continue
        if node.op_type == "LinearClassifier" and name == node.output[0]:
            outputs.append(ClassNames(value.name, _names(node)))
        elif node.op_type == "ArrayFeatureExtractor" and node.input[0] in texts:
            text = texts[node.input[0]]
            if read.count(text.name) == 1 and prod(text.dims) == len(text.string_data):
                names = (name.decode(errors="replace") for name in text.string_data)
                outputs.append(ClassNames(value.name, tuple(names)))
                numbered[text.name] = tuple(text.dims)
    return tuple(outputs), numbered


def _names(node: NodeProto) -> tuple[str, ...]:
    found = next((a.strings for a in node.attribute if a.name == "classlabels_strings"), ())
    return tuple(name.decode(errors="replace") for name in found)
