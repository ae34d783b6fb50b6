"""Both graphs in step: each layer gets biases, and weights if wanted, that bring it near its float twin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.types import Array, Type, Value
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.calibration.stepwise_executor import StepwiseExecutor
from edgekit.quantize.integers.int8 import Quantized, integer_bias
from edgekit.quantize.rounding.integer_weights import IntegerWeights


def correct_biases(
    graph: Graph,
    quantized: Quantized,
    samples: Sequence[Sample],
    weights: Callable[[LayerPair, Value], Value] | None = None,
) -> Quantized:
    """The same graph of integers with other biases. Both graphs are computed in step on a few samples; layers
    see the errors that those before them have left. `weights` makes better weights, if given: it takes the
    layer in both graphs, and the integers that it has."""
    made = quantized.graph
    pairs = _twins(graph, quantized)
    truth = StepwiseExecutor(graph, samples, graph.inputs)
    found = StepwiseExecutor(made, samples, graph.inputs)
    for node in made.nodes:
        twin = pairs.get(node.outputs[0])
        if twin is not None and isinstance(node.op, Linear):
            truth.reach(twin)
            pair = LayerPair.of(twin, node, truth, found)
            if weights is not None:
                found.put(node.inputs[1], weights(pair, found.graph.values[node.inputs[1]]))
            bias = _corrected(pair, found.graph.values[node.inputs[1]])
            found.put(node.inputs[2], Value(made.type(node.inputs[2]), bias))
        found.step(node)
    return replace(quantized, graph=found.graph)


@dataclass(frozen=True)
class LayerPair:
    """A layer of the float graph, and what arrives at its twin."""

    op: Linear
    weights: Array
    bias: Array
    x: Type  # of what arrives at the twin
    samples: int
    arrays: Callable[[], Iterator[tuple[Array, Array]]]

    @staticmethod
    def of(twin: Node, node: Node, truth: StepwiseExecutor, found: StepwiseExecutor) -> LayerPair:
        weights, bias = (truth.graph.data(name) for name in twin.inputs[1:3])
        assert isinstance(twin.op, Linear)
        assert weights is not None
        assert bias is not None

        def arrays() -> Iterator[tuple[Array, Array]]:
            for exact, seen in zip(truth.values, found.values, strict=True):
                yield exact[twin.inputs[0]], seen[node.inputs[0]]

        return LayerPair(twin.op, weights, bias, found.graph.type(node.inputs[0]), len(truth.values), arrays)

    def inputs(self) -> Iterator[tuple[Array, Array]]:
        """Of each sample what arrives in the float graph, and the numbers that the integers stand for."""
        quant = self.x.quant
        assert quant is not None
        for exact, seen in self.arrays():
            yield exact, (seen.astype(np.float32) - quant.zero[0]) * np.float32(quant.scale[0])


def _twins(graph: Graph, quantized: Quantized) -> dict[str, Node]:
    """The node of the float graph for each integer layer, by its result."""
    found = {}
    for node in graph.nodes:
        if isinstance(node.op, Linear):
            name = quantized.names.get(node.outputs[0], "")
            if name in quantized.graph.values and quantized.graph.type(name).quant is not None:
                found[name] = node
    return found


def _corrected(pair: LayerPair, weights: Value) -> Array:
    """The bias with which the sums of a layer have the means of the float layer's, before the clamp."""
    assert weights.data is not None
    assert weights.type.quant is not None
    open_op = replace(pair.op, lo=-inf, hi=inf)  # type: ignore[type-var]  # all operators are dataclasses
    scale = np.asarray(weights.type.quant.scale, np.float32).reshape(-1, *[1] * (weights.type.rank - 1))
    real_weights = weights.data.astype(np.float32) * scale
    missing = []
    for exact, seen in pair.inputs():
        wanted = _means(open_op, exact, pair.weights, pair.bias)
        missing.append(wanted - _means(open_op, seen, real_weights, pair.bias))
    better = pair.bias.astype(np.float64) + _likely_mean(np.stack(missing))
    made = IntegerWeights(pair.weights, weights.data, weights.type.quant)
    return integer_bias(better, pair.x, made)


def _likely_mean(samples: Array) -> Array:
    """The mean of each column, without the part of it that may be chance (James and Stein)."""
    mean = samples.mean(axis=0)
    if len(samples) < 2:
        return mean  # type: ignore[no-any-return]  # array
    chance = samples.var(axis=0, ddof=1) / len(samples)
    return mean * (1 - np.minimum(chance / np.maximum(np.square(mean), 1e-300), 1))  # type: ignore[no-any-return]


def _means(op: Linear, x: Array, w: Array, b: Array) -> Array:
    (y,) = op.eval(x, w, b)
    return y.reshape(-1, y.shape[-1]).mean(axis=0, dtype=np.float64)  # type: ignore[no-any-return]  # array
