"""What each tensor and each layer's weights, alone in int8, add to the noise of the outputs.

All else is float there, so that no error hides another: shares of noise add up, where differences between two
graphs of integers do not. Pieces of the network are measured first, and halved where it is worth it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TypeVar

import numpy as np

from edgekit.core import fixed, simulate
from edgekit.core.ir import Graph, Node
from edgekit.core.passes.integer_labels import keeps_scale
from edgekit.core.progress import Progress
from edgekit.core.types import Array, DType, Quant
from edgekit.quantize.calibration.search_budget import SearchBudget
from edgekit.quantize.measure import Measure
from edgekit.quantize.rounding.integer_weights import weight_quant

T = TypeVar("T")  # a source of noise
_PIECES = 8  # of the network, whose noise is measured first
_NEGLIGIBLE = 0.02  # of what is wanted at most: pieces that cause less are left out
_SHARE = 0.6  # of the budget: the rest is for trials of what was found


def by_halves(
    sources: Sequence[T],
    noise_of: Callable[[Sequence[T]], float],
    wanted: float,
    budget: SearchBudget,
    progress: Progress,
) -> dict[T, float]:
    """The noise of each source; what is small beside `wanted` is left out. Pieces are measured first, and
    halved where they matter. When the budget is about to end, the sources of a piece share its noise."""
    found: dict[T, float] = {}
    waiting: list[tuple[float, int, Sequence[T]]] = []
    tie = count()

    def add(piece: Sequence[T]) -> None:
        noise = noise_of(piece)
        if noise > _NEGLIGIBLE * wanted:
            heapq.heappush(waiting, (-noise, next(tie), piece))

    size = max(-(-len(sources) // _PIECES), 1)
    for first in range(0, len(sources), size):
        progress(f"looking for the layers that cause noise, {first / len(sources):.0%}")
        add(sources[first : first + size])
    while waiting:
        noise, _, piece = heapq.heappop(waiting)
        if len(piece) == 1 or budget.share > _SHARE:
            found |= dict.fromkeys(piece, -noise / len(piece))
            continue
        progress(f"looking for the layers that cause noise, {budget.share:.0%} of the budget")
        middle = len(piece) // 2
        add(piece[:middle])
        add(piece[middle:])
    return found


@dataclass(frozen=True, order=True)
class NoiseSource:
    """A tensor of activations, or the weights of the layer that computes it."""

    name: str
    is_weights: bool = False


@dataclass(frozen=True)
class AloneNoise:
    """Measures sources on the samples of `measure`, which pays for it. `quants` are the int8 scales."""

    measure: Measure
    quants: Mapping[str, Quant]
    progress: Progress

    @property
    def graph(self) -> Graph:
        return self.measure.graph

    def of(self, sources: Sequence[NoiseSource], wanted: float) -> dict[NoiseSource, float]:
        """The noise of each as a share of the signal; what is small beside `wanted` is left out."""
        return by_halves(sources, self._noise, wanted, self.measure.budget, self.progress)

    def _noise(self, piece: Sequence[NoiseSource]) -> float:
        """That of these sources together."""
        tensors = {source.name for source in piece if not source.is_weights}
        weights = {source.name for source in piece if source.is_weights}
        dirty: set[str] = set()
        found = []
        for stack, truth in zip(self.measure.stacks, self.measure.all_truth, strict=True):
            many, values = stack.graph(self.graph), dict(truth)
            dirty = {name for name in self.graph.inputs if name in tensors}
            values |= {name: self._rounded(name, values[name]) for name in dirty}
            for node in many.nodes:
                if dirty.isdisjoint(node.inputs) and tensors.union(weights).isdisjoint(node.outputs):
                    continue
                if not dirty.isdisjoint(node.inputs) or not weights.isdisjoint(node.outputs):
                    changed = self._with_weights(node) if node.outputs[0] in weights else {}
                    values |= simulate.compute(many, node, values | changed)
                values |= {
                    name: self._rounded(name, values[name]) for name in tensors.intersection(node.outputs)
                }
                dirty.update(node.outputs)
            found.append(values)
        self.measure.pay_floats(dirty)
        return self.measure.noise_of_floats(found)

    def _rounded(self, name: str, x: Array) -> Array:
        """What int8 keeps of a tensor."""
        scale, zero = np.float32(self.quants[name].scale[0]), self.quants[name].zero[0]
        low, high = fixed.int_range(DType.S8)
        kept: Array = ((np.rint(x / scale) + zero).clip(low, high) - zero) * scale
        return kept.astype(x.dtype)

    def _with_weights(self, node: Node) -> dict[str, Array]:
        """The weights of a layer as int8 keeps them."""
        return {node.inputs[1]: self._kept_weights[node.inputs[1]]}

    @cached_property
    def _kept_weights(self) -> dict[str, Array]:
        return _KeptWeights(self.graph)


class _KeptWeights(dict[str, Array]):
    """Weights as int8 keeps them, made where they are asked for."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph

    def __missing__(self, name: str) -> Array:
        weights = self.graph.data(name)
        assert weights is not None, name
        integers, quant = weight_quant(weights)
        scale = np.asarray(quant.scale, np.float32).reshape(-1, *[1] * (weights.ndim - 1))
        self[name] = (integers * scale).astype(weights.dtype)
        return self[name]


def readers(graph: Graph, name: str) -> list[Node]:
    """The nodes that read a tensor, as it is or moved, and those that move it."""
    found = []
    for user in graph.users(name):
        found.append(user)
        if keeps_scale(user.op):
            found += [reader for output in user.outputs for reader in readers(graph, output)]
    return found
