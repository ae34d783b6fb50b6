"""Outputs in 16ths of the steps of int8: where floats are made of them, they keep what int8 rounds away.

Four bits of an int16 tensor are fractions of the steps that int8 has in the same place, so that the layer can
give int8 again, by the same scale: for integer outputs, and on GPUs. Zero point and scale show that: one is
half a step off, the other has few digits.
"""

from __future__ import annotations

import math
from dataclasses import replace

from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.passes.match import with_fields
from edgekit.core.types import DType, Quant, Type, Value

_PARTS = 16  # of a step: noise 24 dB below that of int8, and sixteen times the range
_HALF = _PARTS // 2
_DIGITS = 12  # binary ones of scales


def with_fraction(coarse: Quant) -> Quant:
    """int16 in parts of the steps of int8, whose number is in the upper bits."""
    return replace(coarse, scale=(_short(coarse.scale[0]) / _PARTS,), zero=(coarse.zero[0] * _PARTS + _HALF,))


def has_fraction(type: Type) -> bool:
    """Are these parts of the steps of int8?"""
    quant = type.quant
    if type.dtype is not DType.S16 or quant is None or quant.axis is not None:
        return False
    coarse, rest = divmod(quant.zero[0], _PARTS)
    return rest == _HALF and -128 <= coarse <= 127 and quant.scale[0] == _short(quant.scale[0])


def _short(scale: float) -> float:
    """A scale to the nearest of few digits."""
    mantissa, exponent = math.frexp(scale)
    return math.ldexp(round(mantissa * 2**_DIGITS), exponent - _DIGITS)


def with_int8_outputs(graph: Graph) -> Graph:
    """The graph with int8 in the place of parts of its steps."""
    coarse = {name: value for name, value in graph.values.items() if has_fraction(value.type)}
    if not coarse:
        return graph
    values = {**graph.values, **{name: Value(_coarse(value.type)) for name, value in coarse.items()}}
    nodes = tuple(_giving_int8(node) if node.outputs[0] in coarse else node for node in graph.nodes)
    return replace(graph, nodes=nodes, values=values)


def _coarse(type: Type) -> Type:
    quant = type.quant
    assert quant is not None
    scale, zero = quant.scale[0] * _PARTS, (quant.zero[0] - _HALF) // _PARTS
    return replace(type, dtype=DType.S8, quant=replace(quant, scale=(scale,), zero=(zero,)))


def _giving_int8(node: Node) -> Node:
    return replace(node, op=with_fields(node.op, dtype=DType.S8)) if isinstance(node.op, Linear) else node
