"""Biases from measured means: layer by layer, each output gets the mean that it has in the float graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np

from edgekit.ir import Array, Graph, Node, Value
from edgekit.ops._linear import Linear
from edgekit.quantize.int8 import Quantized, integer_bias
from edgekit.quantize.measure import Sample, compute


def correct_biases(graph: Graph, quantized: Quantized, samples: Sequence[Sample]) -> Quantized:
    """The same int8 graph with other biases. Both graphs are computed in step on a few samples; layers see
    the errors that those before them have left."""
    made = quantized.graph
    values = dict(made.values)
    twins = _twins(graph, quantized)
    truth = _Walk(graph, samples, graph.inputs)
    found = _Walk(made, samples, graph.inputs)
    for node in made.nodes:
        twin = twins.get(node.outputs[0])
        if twin is not None and isinstance(node.op, Linear):
            truth.reach(twin)
            bias = _corrected(graph, twin, made, node, truth, found)
            values[node.inputs[2]] = Value(made.type(node.inputs[2]), bias)
            found.known[node.inputs[2]] = bias
        found.step(node)
    return replace(quantized, graph=replace(made, values=values))


def _twins(graph: Graph, quantized: Quantized) -> dict[str, Node]:
    """The node of the float graph for each integer layer, by its result."""
    found = {}
    for node in graph.nodes:
        if isinstance(node.op, Linear):
            name = quantized.names.get(node.outputs[0], "")
            if name in quantized.graph.values and quantized.graph.type(name).quant is not None:
                found[name] = node
    return found


def _corrected(graph: Graph, twin: Node, made: Graph, node: Node, truth: _Walk, found: _Walk) -> Array:
    """The bias with which the sums of a layer have the means of the float layer's, before the clamp."""
    x, w = (made.type(name) for name in node.inputs[:2])
    assert isinstance(twin.op, Linear)
    assert x.quant is not None
    assert w.quant is not None
    weights, bias = found.known[node.inputs[1]], graph.data(twin.inputs[2])
    assert bias is not None
    open_op = replace(twin.op, lo=-inf, hi=inf)  # type: ignore[type-var]  # all operators are dataclasses
    scale = np.asarray(w.quant.scale, np.float32).reshape(-1, *[1] * (weights.ndim - 1))
    real_weights = weights.astype(np.float32) * scale
    wanted, had = np.zeros(len(bias)), np.zeros(len(bias))
    for a, q in zip(truth.values, found.values, strict=True):
        exact = a[twin.inputs[0]]
        seen = ((q[node.inputs[0]].astype(np.float32)) - x.quant.zero[0]) * np.float32(x.quant.scale[0])
        wanted += _means(open_op, exact, graph.data(twin.inputs[1]), bias)
        had += _means(open_op, seen, real_weights, bias)
    better = bias.astype(np.float64) + (wanted - had) / len(truth.values)
    return integer_bias(better, x, w.quant, weights)


def _means(op: Linear, x: Array, w: Array | None, b: Array) -> Array:
    assert w is not None
    (y,) = op.eval(x, w, b)
    return y.reshape(-1, y.shape[-1]).mean(axis=0, dtype=np.float64)  # type: ignore[no-any-return]  # array


class _Walk:
    """A graph computed node by node on several samples at once; what nobody reads any more is dropped."""

    def __init__(self, graph: Graph, samples: Sequence[Sample], inputs: Sequence[str]) -> None:
        self.graph = graph
        self.known = dict(graph.constants())
        self.values: list[dict[str, Array]] = [
            dict(zip(graph.inputs, (sample[name] for name in inputs), strict=True)) for sample in samples
        ]
        self.left = Counter(name for node in graph.nodes for name in node.inputs)
        self.position = 0

    def step(self, node: Node) -> None:
        for values in self.values:
            values |= compute(self.graph, node, self.known | values)
        for name in node.inputs:
            self.left[name] -= 1
            if not self.left[name] and name not in self.known:
                for values in self.values:
                    values.pop(name, None)

    def reach(self, node: Node) -> None:
        """Compute all that comes before a node."""
        while self.graph.nodes[self.position] is not node:
            self.step(self.graph.nodes[self.position])
            self.position += 1
