"""Weights that make up for what is gone: fitted to what the layers of the whole network computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from edgekit.core.ir import Graph
from edgekit.core.passes.channels import PrunableLayer
from edgekit.core.progress import Progress
from edgekit.core.tiles import occupied
from edgekit.core.types import Array, Value
from edgekit.quantize.calibration.sample_batches import Sample, stacks
from edgekit.quantize.calibration.stepwise_executor import StepwiseExecutor
from edgekit.quantize.pruning.activation_moments import can_be_fitted, grouped, rows, ungrouped
from edgekit.quantize.pruning.groups import Network, with_constants

_FOLDS = 2
_DAMPINGS = (3e-3, 3e-2, 0.3, 3.0, 30.0)  # how far the old weights are trusted, in mean squares of an input
_ROUNDS = 8  # of a fit
_TRIAL_ROUNDS = 2  # rounds while it is tried how far samples can be trusted
_ROWS = 12  # windows for each input of a sum: more say nothing new
_MIN_ROWS = 4096
_WORK = 5e11  # multiplications for all fits of a layer, beyond which biases alone make up for what is gone


def fitted(
    network: Network,
    masked: Graph,
    samples: Sequence[Sample],
    progress: Progress,
    tile: tuple[int, int] | None = None,
) -> Graph:
    """The masked graph with other weights and biases. Both graphs are computed in step: a layer sees what is
    left of its inputs, and comes as near as it can to what it computed before. How far the samples are
    trusted is tried on those that a fit has not seen; without gain weights stay as they are. With a tile,
    blocks of so many outputs and inputs that are zero stay zero."""
    constants = _constants_of(network, masked)
    masked = with_constants(masked, constants)
    truth, found = _Walks(network.graph, samples), _Walks(masked, samples)
    for before, node in zip(network.graph.nodes, masked.nodes, strict=True):
        name = node.outputs[0]
        layer = network.mixers.get(name)
        if layer is not None and can_be_fitted(layer):
            progress(f"fitting {name:.40}")
            arrays = list(zip(truth.each(before.inputs[0]), found.each(node.inputs[0]), strict=True))
            better = _better(layer, constants[name, 1], arrays, tile)
            for i, data in enumerate(better, 1):
                constants[name, i] = data
                found.put(node.inputs[i], Value(masked.type(node.inputs[i]), data))
        truth.step()
        found.step()
    return with_constants(masked, constants)


class _Walks:
    """A graph computed node by node on all samples, many at once."""

    def __init__(self, graph: Graph, samples: Sequence[Sample]) -> None:
        parts = stacks(graph, samples)
        self.walks = [
            (part, StepwiseExecutor(part.graph(graph), [part.values], graph.inputs)) for part in parts
        ]
        self.position = 0

    def each(self, name: str) -> Iterator[Array]:
        """A value, sample by sample."""
        for stack, walk in self.walks:
            for values in walk.values:
                yield from stack.apart(values[name])

    def put(self, name: str, value: Value) -> None:
        """Another constant of this name."""
        for _, walk in self.walks:
            walk.put(name, value)

    def step(self) -> None:
        """Compute the next node."""
        for _, walk in self.walks:
            walk.step(walk.graph.nodes[self.position])
        self.position += 1


def _constants_of(network: Network, masked: Graph) -> dict[tuple[str, int], Array]:
    """Weights and biases of all layers, which get names of their own by that."""
    found = {}
    for node in masked.nodes:
        for i in (1, 2) if node.outputs[0] in network.mixers else ():
            found[node.outputs[0], i] = np.asarray(masked.data(node.inputs[i]))
    return found


def _better(
    layer: PrunableLayer, w: Array, pairs: Sequence[tuple[Array, Array]], tile: tuple[int, int] | None
) -> Sequence[Array]:
    """Weights and bias with which a layer, masked as `w` is, comes nearest to what it was; nothing where it
    is that already."""
    if np.array_equal(w, layer.w) and all(np.array_equal(*pair) for pair in pairs):
        return ()
    parts = _parts(layer, w, tile)
    folds = [_Rows(layer, parts, pairs[start::_FOLDS], start) for start in range(min(_FOLDS, len(pairs)))]
    old = _Weights(grouped(w, layer.op.groups), layer.b.reshape(layer.op.groups, 1, -1).astype(np.float64))
    both = folds[0] + folds[-1] if len(folds) > 1 else folds[0]
    plain = both.with_best_bias(old)
    chosen = plain
    if len(folds) > 1 and _work(parts) <= _WORK:
        turns = list(zip(folds, reversed(folds), strict=True))
        errors = [
            sum(judge.error(fit.fitted(old, d, _TRIAL_ROUNDS)) for fit, judge in turns) for d in _DAMPINGS
        ]
        best = int(np.argmin(errors))
        if errors[best] < sum(judge.error(fit.with_best_bias(old)) for fit, judge in turns):
            chosen = both.fitted(old, _DAMPINGS[best])
    kind = w.dtype
    return ungrouped(chosen.w, layer.w.shape).astype(kind), chosen.b.reshape(-1).astype(kind)


@dataclass(frozen=True)
class _Part:
    """Outputs of a group that read the same inputs."""

    group: int
    outputs: slice
    inputs: Array


def _parts(layer: PrunableLayer, w: Array, tile: tuple[int, int] | None) -> Sequence[_Part]:
    """All outputs of a group read what any of them reads; with a tile, those of a row of blocks do."""
    if tile is None or layer.op.groups > 1 or occupied(w, *tile).all():
        every = enumerate(grouped(w, layer.op.groups))
        return [_Part(g, slice(None), np.flatnonzero(of_group.any(axis=1))) for g, of_group in every]
    rows = enumerate(occupied(w, *tile))
    inputs = w[0].size
    return [
        _Part(0, slice(r * tile[0], (r + 1) * tile[0]), np.flatnonzero(np.repeat(blocks, tile[1])[:inputs]))
        for r, blocks in rows
    ]


def _work(parts: Sequence[_Part]) -> float:
    """Multiplications of all fits of a layer, about."""
    return 2.0 * (_FOLDS * len(_DAMPINGS) + 1) * sum(float(len(part.inputs)) ** 3 for part in parts)


@dataclass(frozen=True)
class _Weights:
    """Of a layer: w [groups, inputs, outputs], b [groups, 1, outputs]."""

    w: Array
    b: Array


class _Rows:
    """Windows of samples: what arrives, x [groups, windows, inputs], and what the layer made of the whole
    network's, y, clamped as its results are."""

    def __init__(
        self, layer: PrunableLayer, parts: Sequence[_Part], pairs: Sequence[tuple[Array, Array]], seed: int
    ) -> None:
        op, target = layer.op, grouped(layer.w, layer.op.groups).astype(np.float32)
        self.lo, self.hi = op.lo, op.hi
        bias = layer.b.reshape(op.groups, 1, -1)
        most = max(4, max(_MIN_ROWS, _ROWS * layer.w[0].size) // max(len(pairs), 1))
        exact = [rows(op, layer.w, x, seed + i, most) @ target + bias for i, (x, _) in enumerate(pairs)]
        self.x = np.concatenate(
            [rows(op, layer.w, x, seed + i, most) for i, (_, x) in enumerate(pairs)], axis=1
        )
        self.y = np.clip(np.concatenate(exact, axis=1), self.lo, self.hi)
        self.parts = parts

    def __add__(self, other: _Rows) -> _Rows:
        total = copy(self)
        total.x = np.concatenate([self.x, other.x], axis=1)
        total.y = np.concatenate([self.y, other.y], axis=1)
        return total

    def sums(self, found: _Weights) -> Array:
        return np.asarray(self.x @ found.w.astype(np.float32) + found.b.astype(np.float32))

    def error(self, found: _Weights) -> float:
        """The sum of squares of what results are off."""
        off = np.clip(self.sums(found), self.lo, self.hi) - self.y
        return float(np.square(off, dtype=np.float64).sum())

    def wanted(self, sums: Array) -> Array:
        """What sums should be: where a clamp hides how far they are beyond it, they are right."""
        hidden = (self.y <= self.lo) & (sums < self.lo) | (self.y >= self.hi) & (sums > self.hi)
        return np.where(hidden, sums, self.y)

    def with_best_bias(self, old: _Weights) -> _Weights:
        found = old
        for _ in range(_ROUNDS):
            sums = self.sums(found)
            missing = (self.wanted(sums) - sums).mean(axis=1, keepdims=True, dtype=np.float64)
            found = _Weights(found.w, found.b + missing)
        return found

    def fitted(self, old: _Weights, damping: float, rounds: int = _ROUNDS) -> _Weights:
        """Least squares over the inputs that are kept, near the old weights. Each round lowers the error:
        sums that a clamp hides are taken for right where they are."""
        x = self.x.astype(np.float64)
        mean = x.mean(axis=1, keepdims=True)
        x -= mean
        solvers = []
        for g in range(len(x)):
            inside = x[g].T @ x[g]
            for part in (part for part in self.parts if part.group == g):
                own = inside[np.ix_(part.inputs, part.inputs)]
                trust = damping * (float(np.diag(own).mean()) or 1.0) if len(own) else 1.0
                solvers.append((part, np.linalg.inv(own + np.eye(len(own)) * trust), trust))
        found = old
        for _ in range(rounds):
            wanted = self.wanted(self.sums(found))
            middle = wanted.mean(axis=1, keepdims=True, dtype=np.float64)
            w = np.zeros_like(old.w)
            products = x.transpose(0, 2, 1) @ (wanted - middle)
            for part, inverse, trust in solvers:
                place = (part.group, part.inputs, part.outputs)
                w[place] = inverse @ (products[place] + trust * old.w[place])
            found = _Weights(w, middle - mean @ w)
        return found
