"""Bias correction: each layer gets biases, and weights if wanted, that bring it near its float twin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear, clamped
from edgekit.core.passes.match import with_fields
from edgekit.core.types import Array, Type, Value
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.calibration.stepwise_executor import StepwiseExecutor
from edgekit.quantize.integers.int8 import Quantized, integer_bias
from edgekit.quantize.rounding.integer_weights import IntegerWeights

_OPEN = {"lo": -inf, "hi": inf}  # the bounds of a layer without a clamp


class ExactMeans:
    """The means of the sums that layers of the float graph have before the clamp, for each sample. They are
    the same for each graph of integers that is tried, and computed when the first one asks for them."""

    def __init__(self, graph: Graph, samples: Sequence[Sample]) -> None:
        self.graph = graph
        self.samples = samples

    def of(self, node: Node) -> Sequence[Array]:
        """Of a layer with constant weights."""
        return self._found[node.outputs[0]]

    @cached_property
    def _found(self) -> Mapping[str, Sequence[Array]]:
        graph = self.graph
        executor = StepwiseExecutor(graph, self.samples, graph.inputs)
        found = {}
        for node in graph.nodes:
            if not isinstance(node.op, Linear) or any(graph.data(name) is None for name in node.inputs[1:3]):
                executor.step(node)
                continue
            executor.step(node, with_fields(node.op, **_OPEN))
            sums = [values[node.outputs[0]] for values in executor.values]
            found[node.outputs[0]] = [_means(each) for each in sums]
            for values, each in zip(executor.values, sums, strict=True):
                values[node.outputs[0]] = clamped(each, node.op.lo, node.op.hi)
        return found


def correct_biases(
    quantized: Quantized,
    exact: ExactMeans,
    weights: Callable[[LayerPair, Value], Value] | None = None,
) -> Quantized:
    """The same graph of integers with other biases. It is computed in step on the samples of `exact`; layers
    see the errors that those before them have left. `weights` makes better weights, if given: it takes the
    layer in both graphs, and the integers that it has."""
    graph, made = exact.graph, quantized.graph
    pairs = _twins(graph, quantized)
    truth = StepwiseExecutor(graph, exact.samples, graph.inputs)
    found = StepwiseExecutor(made, exact.samples, graph.inputs)
    for node in made.nodes:
        twin = pairs.get(node.outputs[0])
        if twin is not None and isinstance(node.op, Linear):
            pair = LayerPair.of(twin, node, truth, found)
            if weights is not None:
                truth.reach(twin)
                found.put(node.inputs[1], weights(pair, found.graph.values[node.inputs[1]]))
            seen = [values[node.inputs[0]] for values in found.values]
            bias = _corrected(pair, found.graph.values[node.inputs[1]], seen, exact.of(twin))
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
        for exact, seen in self.arrays():
            yield exact, self.reals(seen)

    def reals(self, seen: Array) -> Array:
        """The numbers that integers which arrive stand for."""
        quant = self.x.quant
        assert quant is not None
        return (seen.astype(np.float32) - quant.zero[0]) * np.float32(quant.scale[0])


def _twins(graph: Graph, quantized: Quantized) -> dict[str, Node]:
    """The node of the float graph for each integer layer, by its result."""
    found = {}
    for node in graph.nodes:
        if isinstance(node.op, Linear):
            name = quantized.names.get(node.outputs[0], "")
            if name in quantized.graph.values and quantized.graph.type(name).quant is not None:
                found[name] = node
    return found


def _corrected(pair: LayerPair, weights: Value, seen: Sequence[Array], wanted: Sequence[Array]) -> Array:
    """The bias with which the sums of a layer have the means that are wanted for the integers that arrive."""
    assert weights.data is not None
    assert weights.type.quant is not None
    op = with_fields(pair.op, **_OPEN)
    scale = np.asarray(weights.type.quant.scale, np.float32).reshape(-1, *[1] * (weights.type.rank - 1))
    real_weights = weights.data.astype(np.float32) * scale
    missing = [
        means - _means(*op.eval(pair.reals(x), real_weights, pair.bias))
        for means, x in zip(wanted, seen, strict=True)
    ]
    better = pair.bias.astype(np.float64) + _likely_mean(np.stack(missing))
    made = IntegerWeights(pair.weights, weights.data, weights.type.quant)
    return integer_bias(better, pair.x, made)


def _likely_mean(samples: Array) -> Array:
    """The mean of each column, without the part of it that may be chance (James and Stein)."""
    mean: Array = samples.mean(axis=0)
    if len(samples) < 2:
        return mean
    chance = samples.var(axis=0, ddof=1) / len(samples)
    likely: Array = mean * (1 - np.minimum(chance / np.maximum(np.square(mean), 1e-300), 1))
    return likely


def _means(sums: Array) -> Array:
    means: Array = sums.reshape(-1, sums.shape[-1]).mean(axis=0, dtype=np.float64)
    return means
