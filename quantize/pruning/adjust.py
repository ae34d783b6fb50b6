"""All weights together brought nearer to what the whole network answers, after layers were one by one.

A fit makes a layer compute what it did; but it may be better that it computes something else, which the
next ones need. So the squares of what the answers are off are followed downhill, in small steps. That needs
neither labels nor the training of the model: the network that came says what is right. Some samples only
judge; what is worse by them is not taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Node
from edgekit.core.passes.batches import batched
from edgekit.core.progress import Progress
from edgekit.core.simulate import compute
from edgekit.core.types import Array
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.gradients import gradients, is_differentiable
from edgekit.quantize.measure import scores
from edgekit.quantize.pruning.groups import Network, with_constants

_TOGETHER = 32  # samples of a step
_PASSES = 30
_PATIENCE = 5  # passes without gain
_WORK = 5e10  # multiplications for all steps, about
_RATE = 0.01  # of the size of weights: the first step
_DECAY, _DECAY_OF_SQUARES = 0.9, 0.999  # of Adam
_MIN_DIVISOR = 1e-12  # that is no division by zero
_JUDGE_EVERY = 8  # of the samples one judges
Key = tuple[str, int]  # a layer by its result, and the position of an operand: 1 are weights, 2 is the bias
Weights = Mapping[Key, Array]


def adjusted(network: Network, masked: Graph, samples: Sequence[Sample], progress: Progress) -> Graph:
    """The masked graph with other weights, where that brings it nearer to the network; zeros stay."""
    judging = samples[_JUDGE_EVERY - 1 :: _JUDGE_EVERY]
    fitting = [sample for i, sample in enumerate(samples) if i % _JUDGE_EVERY != _JUDGE_EVERY - 1]
    size, passes = min(_TOGETHER, len(judging)), _passes(network.graph, len(fitting))
    path = _path(masked, network)
    if not size or not passes or not all(is_differentiable(node.op) for node in path):
        return masked
    try:
        whole, small = batched(network.graph, size), batched(masked, size)
    except EdgeKitError:  # the model mixes samples
        return masked
    ends = scores(network.graph)
    fits, judges = ([_Batch.of(whole, ends, x) for x in _batches(some, size)] for some in (fitting, judging))
    names = {node.outputs[0] for node in path}
    walk = _Backpropagation(
        small, [node for node in small.nodes if node.outputs[0] in names], set(network.layers)
    )
    layers = [name for name in network.layers if name in names]
    weights = {(name, i): _constant(masked, name, i) for name in layers for i in (1, 2)}
    return with_constants(masked, _descended(walk, weights, fits, judges, passes, progress))


def _constant(graph: Graph, layer: str, i: int) -> Array:
    node = graph.producer(layer)
    assert node is not None
    return np.asarray(graph.data(node.inputs[i]))


def _passes(graph: Graph, count: int) -> int:
    """How often all samples can be gone through: three times the work of a run for each."""
    once = 3.0 * count * sum(node.op.macs(*(graph.type(n) for n in node.inputs)) for node in graph.nodes)
    return int(min(_PASSES, _WORK // max(once, 1)))


def _path(graph: Graph, network: Network) -> Sequence[Node]:
    """The nodes by which weights reach what is compared."""
    reached: set[str] = set()
    for node in graph.nodes:
        if node.outputs[0] in network.layers or not reached.isdisjoint(node.inputs):
            reached.update(node.outputs)
    needed, path = set(scores(graph)), []
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(node.outputs) and not reached.isdisjoint(node.outputs):
            needed.update(node.inputs)
            path.append(node)
    return path[::-1]


def _batches(samples: Sequence[Sample], size: int) -> Sequence[Sample]:
    """What makes no whole batch is left out."""
    starts = range(0, len(samples) - size + 1, size)
    return [
        {name: np.concatenate([sample[name] for sample in samples[i : i + size]]) for name in samples[0]}
        for i in starts
    ]


@dataclass(frozen=True)
class _Batch:
    """Samples, and what the whole network answers."""

    given: Sample
    answers: Mapping[str, Array]

    @staticmethod
    def of(graph: Graph, ends: Sequence[str], given: Sample) -> _Batch:
        values = dict(graph.constants()) | dict(given)
        for node in graph.nodes:
            values |= compute(graph, node, values)
        return _Batch(given, {name: values[name] for name in ends})

    def off(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """How far other answers are off, in units of the size of these."""
        return {name: (values[name] - y) / (_size(y) or 1.0) for name, y in self.answers.items()}

    def error(self, values: Mapping[str, Array]) -> float:
        return sum(float(np.square(off, dtype=np.float64).sum()) for off in self.off(values).values())


class _Backpropagation:
    """The small network on batches: there, and back from what the answers are off."""

    def __init__(self, graph: Graph, path: Sequence[Node], layers: set[str]) -> None:
        self.graph, self.path, self.layers = graph, path, layers

    def values(self, weights: Weights, given: Sample) -> dict[str, Array]:
        values = dict(self.graph.constants()) | dict(given)
        for node in self.graph.nodes:
            values |= self._own(node, weights)
            values |= compute(self.graph, node, values)
        return values

    def back(self, weights: Weights, values: dict[str, Array], wanted: dict[str, Array]) -> dict[Key, Array]:
        found: dict[Key, Array] = {}
        for node in reversed(self.path):
            name = node.outputs[0]
            if name not in wanted:
                continue
            args = [(values | self._own(node, weights))[n] for n in node.inputs]
            each = gradients(node.op, args, values[name], wanted.pop(name))
            if name in self.layers:
                found |= {(name, 1): each[1], (name, 2): each[2]}
                each = each[:1]
            for source, gradient in zip(node.inputs, each, strict=False):
                wanted[source] = wanted[source] + gradient if source in wanted else gradient
        return found

    def _own(self, node: Node, weights: Weights) -> dict[str, Array]:
        """Layers may share constants in the file, and need not any more."""
        if (node.outputs[0], 1) not in weights:
            return {}
        return {node.inputs[i]: weights[node.outputs[0], i] for i in (1, 2)}


def _descended(
    walk: _Backpropagation,
    weights: Weights,
    fitting: Sequence[_Batch],
    judging: Sequence[_Batch],
    passes: int,
    progress: Progress,
) -> Weights:
    """The best weights on the way down, by those samples that have no part in it."""

    def error(weights: Weights) -> float:
        return sum(batch.error(walk.values(weights, batch.given)) for batch in judging)

    steps = _Steps(weights, walk.values(weights, fitting[0].given), passes * len(fitting))
    best, least, since = weights, error(weights), 0
    for turn in range(passes):
        progress(f"adjusting, pass {turn + 1} of {passes}")
        for i in np.random.default_rng(turn).permutation(len(fitting)):
            values = walk.values(steps.weights, fitting[i].given)
            steps.take(walk.back(steps.weights, values, fitting[i].off(values)))
        if (found := error(steps.weights)) < least:
            best, least, since = dict(steps.weights), found, turn
        if turn - since >= _PATIENCE:
            break
    return best


class _Steps:
    """Adam, in steps that are a share of the size of weights and become smaller. A bias counts as large as
    the results of its layer."""

    def __init__(self, weights: Weights, values: Mapping[str, Array], count: int) -> None:
        self.weights, self.count, self.taken = dict(weights), count, 0
        self.size = {(name, i): _size(w if i == 1 else values[name]) for (name, i), w in weights.items()}
        self.stays = {(name, i): (w == 0) & (i == 1) for (name, i), w in weights.items()}
        self.mean = {key: np.zeros_like(w) for key, w in weights.items()}
        self.square = {key: np.zeros_like(w) for key, w in weights.items()}

    def take(self, directions: Weights) -> None:
        rate = _RATE * (1 - self.taken / self.count)
        self.taken += 1
        rate *= np.sqrt(1 - _DECAY_OF_SQUARES**self.taken) / (1 - _DECAY**self.taken)
        for key, off in directions.items():
            w, mean, square = self.weights[key], self.mean[key], self.square[key]
            mean += (1 - _DECAY) * (off - mean)
            square += (1 - _DECAY_OF_SQUARES) * (np.square(off) - square)
            move = rate * self.size[key] * mean / (np.sqrt(square) + _MIN_DIVISOR)
            self.weights[key] = np.where(self.stays[key], w, (w - move).astype(w.dtype))


def _size(x: Array) -> float:
    """The root of the mean square of what is not zero."""
    return float(np.sqrt(np.square(x[x != 0], dtype=np.float64).mean())) if x.any() else 0.0
