"""Functions of floats behind 16-bit outputs become tables of int8 again, where outputs are integers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgekit.core.fixed import activation_quant
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._map import Unary
from edgekit.core.ops.quantize import Dequantize
from edgekit.core.passes import drop_dead
from edgekit.core.passes.int16_outputs import has_fraction, with_int8_outputs
from edgekit.core.passes.integer_labels import keeps_scale
from edgekit.core.types import DType, Quant, Type, Value


def with_integer_ends(graph: Graph) -> Graph:
    """The graph with int8 in the place of parts of its steps, up to the outputs: of a rising or falling
    function, the ends of its operand give the range."""
    coarse = {name for name, value in graph.values.items() if has_fraction(value.type)}
    made = with_int8_outputs(graph)
    integers: dict[str, str] = {}  # by the floats that they stand for
    values, nodes = dict(made.values), list[Node]()
    for node in made.nodes:
        if isinstance(node.op, Dequantize) and node.inputs[0] in coarse:
            integers[node.outputs[0]] = node.inputs[0]
        source = integers.get(node.inputs[0], "") if len(node.inputs) == 1 else ""
        if not source or isinstance(node.op, Dequantize) or not (_is_function(node) or keeps_scale(node.op)):
            nodes.append(node)
            continue
        (out,) = node.outputs
        name = f"{out}_int8"
        while name in values:
            name += "_"
        values[name] = Value(_type(node, values[source].type, values[out].type))
        nodes.append(replace(node, inputs=(source,), outputs=(name,)))
        nodes.append(Node(Dequantize(), (name,), (out,), node.origin))
        integers[out] = name
    return drop_dead(replace(made, nodes=tuple(nodes), values=values)) if integers else made


def _is_function(node: Node) -> bool:
    return isinstance(node.op, Unary) and node.op.corners


def _type(node: Node, x: Type, y: Type) -> Type:
    assert x.quant is not None
    return replace(y, dtype=DType.S8, quant=_image(node, x.quant) if _is_function(node) else x.quant)


def _image(node: Node, quant: Quant) -> Quant:
    """The scale of what int8 of this scale becomes."""
    ends = ((np.array([-128, 127]) - quant.zero[0]) * quant.scale[0]).astype(np.float32)
    low, high = sorted(node.op.eval(ends)[0].tolist())
    return activation_quant(low, high)
