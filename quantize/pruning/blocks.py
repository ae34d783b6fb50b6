"""Blocks of weights that become zero, in the tile of the target's kernels: these leave them out.

Of each layer that mixes all channels of a pixel the same share goes. Which, is chosen by what a block's loss
costs once all other weights of its outputs have made up for it (the block form of the optimal brain surgeon),
in a few rounds where that is affordable; without data by the sum of squares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.passes.channels import PrunableLayer
from edgekit.core.progress import Progress
from edgekit.core.tiles import occupied
from edgekit.core.types import Array
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.pruning.activation_moments import observe
from edgekit.quantize.pruning.fit import fitted
from edgekit.quantize.pruning.groups import Network, with_constants

_ROUNDS = 4
_DAMPING = 0.01  # of the mean square of an input
_WORK = 2e11  # multiplications for the rounds of one layer, about
_MIN_BLOCKS = 2  # rows of blocks and columns, of a layer that is worth it
Tile = tuple[int, int]


def with_zero_blocks(
    graph: Graph, samples: Sequence[Sample], share: float, tile: Tile, *, fit: bool, progress: Progress
) -> tuple[Graph, dict[str, float]]:
    """A graph with zeros, simplified, and of each layer that has blocks the share of those that are zero."""
    network = Network.of(graph)
    samples = list(network.opened.samples(samples))
    chosen = {name: layer for name, layer in network.mixers.items() if _has_blocks(layer, tile)}
    if not chosen:
        hint = (
            f"fully connected and 1x1 layers with {_MIN_BLOCKS} blocks, {tile[0]} by {tile[1]}, on each side"
        )
        raise EdgeKitError("E0205", f"no layer of {graph.name} can have blocks of zeros", hint=hint)
    seen = observe(network, samples) if samples else {}
    weights = {}
    for name, layer in chosen.items():
        progress(f"choosing blocks of {name:.40}")
        flat = layer.w.reshape(len(layer.w), -1).astype(np.float64)
        squares = seen[name].centred()[0][0] if name in seen else None
        zero = _chosen(flat, squares, share, tile)
        weights[name, 1] = np.where(zero, 0, flat).astype(layer.w.dtype).reshape(layer.w.shape)
    masked = with_constants(network.graph, weights)
    if samples and fit:
        masked = fitted(network, masked, samples, progress, tile)
    shares = {name: 1 - float(occupied(w, *tile).mean()) for (name, _), w in weights.items()}
    return network.simplified(masked), shares


def _has_blocks(layer: PrunableLayer, tile: Tile) -> bool:
    """Is it a layer for which there may be kernels with blocks?"""
    inputs = layer.w.shape[-1]
    is_large = len(layer.w) >= _MIN_BLOCKS * tile[0] and inputs >= _MIN_BLOCKS * tile[1]
    return _is_one_pixel(layer.op, layer.w) and is_large and inputs % tile[1] == 0


def _is_one_pixel(op: Linear, w: Array) -> bool:
    if isinstance(op, Conv2d):
        return op.groups == 1 and w.shape[1:3] == (1, 1)
    return isinstance(op, Dense)


def _chosen(w: Array, squares: Array | None, share: float, tile: Tile) -> Array:
    """Which weights [outputs, inputs] go: a mask of whole blocks."""
    outputs, inputs = w.shape
    rows = [slice(first, first + tile[0]) for first in range(0, outputs, tile[0])]
    columns = inputs // tile[1]
    inside = np.eye(inputs) if squares is None else squares
    inside = inside + np.eye(inputs) * (_DAMPING * (float(np.diag(inside).mean()) or 1.0))
    work = _ROUNDS * len(rows) * 2.0 * inputs**3
    rounds = _ROUNDS if squares is not None and work < _WORK else 1
    gone = np.zeros((len(rows), columns), np.bool_)
    whole = np.linalg.inv(inside)
    for turn in range(1, rounds + 1):
        costs = [_costs(w[row].T, inside, whole, ~gone[r], tile[1]) for r, row in enumerate(rows)]
        wanted = round(share * gone.size * turn / rounds)
        order = np.argsort(np.where(gone, -1.0, np.stack(costs)), axis=None, kind="stable")
        gone = np.zeros(gone.size, np.bool_)
        gone[order[:wanted]] = True
        gone = gone.reshape(len(rows), columns)
    return np.repeat(np.repeat(gone, tile[0], axis=0), tile[1], axis=1)[:outputs]


def _costs(w: Array, inside: Array, whole: Array, kept: Array, size: int) -> Array:
    """Of each block of inputs: how far the outputs of w [inputs, outputs] are off without it, when all others
    that are kept have made up for it."""
    left = np.repeat(kept, size)
    if kept.all():
        inverse, best = whole, w
    else:
        inverse = np.linalg.inv(inside[np.ix_(left, left)])
        best = w[left] + inverse @ (inside[np.ix_(left, ~left)] @ w[~left])
    costs = np.zeros(len(kept))
    costs[kept] = list(_each(inverse, best, size))
    return costs


def _each(inverse: Array, w: Array, size: int) -> Iterator[float]:
    for first in range(0, len(w), size):
        block = slice(first, first + size)
        yield float((w[block] * np.linalg.solve(inverse[block, block], w[block])).sum())
