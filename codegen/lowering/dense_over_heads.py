"""A fully connected layer over heads of attention is a convolution over them: nothing is copied.

Attention computes one head after the other, and the layer behind it reads all heads of a token. The heads are
rows of an image, tokens its columns: a window as high as the image reads a token.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from edgekit.codegen.kernels.sources import variant_of
from edgekit.codegen.memory.sharing import LoweredLayer
from edgekit.core.ir import Graph
from edgekit.core.ops import Arg, Call
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.transpose import Transpose
from edgekit.core.target import Target
from edgekit.core.types import Value

_HEADS = "the same as a window over heads"
Image = tuple[int, int, int, int]


def over_heads(layer: LoweredLayer, graph: Graph, target: Target) -> LoweredLayer:
    """The layer by a convolution of what was transposed for it, if that is of the same instruction set."""
    op = layer.node.op
    match layer.steps:
        case [Call() as call] if isinstance(op, Dense):
            made = _convolution(op, layer, call, graph)
            if made and variant_of(made, target).isa == variant_of(call, target).isa:
                return replace(layer, steps=(made,))
    return layer


def _convolution(op: Dense, layer: LoweredLayer, call: Call, graph: Graph) -> Call | None:
    x, w, b = (Arg(name, graph.values[name]) for name in layer.node.inputs)
    found = _heads(graph, x.name)
    if found is None or w.value.data is None or b.value.data is None:
        return None
    name, (batch, heads, tokens, depth) = found
    outputs = len(w.value.data)
    image = Arg(name, Value(replace(x.type, shape=(batch, heads, tokens, depth))))
    window = (outputs, heads, 1, depth)
    weights = Arg(
        f"{w.name}#heads", Value(replace(w.type, shape=window), w.value.data.reshape(window)), _HEADS
    )
    y = call.args[-1]
    result = Arg(y.name, Value(replace(y.type, shape=(batch, 1, tokens, outputs))))
    (made,) = Conv2d(lo=op.lo, hi=op.hi, dtype=op.dtype).lower([image, weights, b], [result])
    return made if isinstance(made, Call) and _computes_the_same(made, call) else None


def _heads(graph: Graph, name: str) -> tuple[str, Image] | None:
    """The tensor whose transpose `name` is, and what it is as an image: batch, heads, tokens, depth."""
    node = graph.producer(name)
    while node is not None and isinstance(node.op, Reshape) and graph.used_once(node.outputs[0]):
        node = graph.producer(node.inputs[0])
    if node is None or not isinstance(node.op, Transpose) or not graph.used_once(node.outputs[0]):
        return None
    shape = graph.type(node.inputs[0]).shape
    order = [axis for axis in node.op.perm if shape[axis] != 1]
    features, size = list[int](), graph.type(name).shape[-1]
    while order and prod(shape[axis] for axis in features) < size:
        features.insert(0, order.pop())
    *heads, depth = features or [0]
    tokens = [axis for axis in order if heads and axis > heads[0]]
    batch = order[: len(order) - len(tokens)]
    groups = [batch, heads, tokens, [depth]]
    image = [prod(shape[axis] for axis in group) for group in groups]
    in_order = [axis for group in groups for axis in group]
    if not tokens or in_order != sorted(in_order) or image[1] * image[3] != size:
        return None
    return node.inputs[0], (image[0], image[1], image[2], image[3])


def _computes_the_same(made: Call, call: Call) -> bool:
    """Are sums requantized by the same rule, multipliers and exponents? Floats are not at all."""
    ours, theirs = ([arg.value.data for arg in each.args[2:-1]] for each in (made, call))
    pairs = zip(ours, theirs, strict=True)
    return made.rule == call.rule and all(
        a is not None and b is not None and np.array_equal(a, b) for a, b in pairs
    )
