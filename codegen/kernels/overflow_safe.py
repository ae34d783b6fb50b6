"""Weights whose products stay exact where an engine adds some of them in 16 bits.

A cell of 8 bits is at most 255, so that products fit together where the weights of each sign are at most 128
together. Engines add two, of weights side by side; kernels add such sums of two blocks, where that pays.
`light` in front of a tiled layout (pack.py) turns it into words of 32 bits: how many come before the blocks,
which are aligned; for each two rows of blocks whether sums are added, and what single weights have too much;
then all blocks without that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from edgekit.codegen.kernels.block_sparsity import tiled
from edgekit.core.types import Array

_LIGHT = "light "
_MAX_SAME_SIGN_SUM = 128  # of weights of one sign together: 255 * 128 fits in 16 bits
# Time of a block, by how many are added, and of a weight that has too much: measured in Chromium on x86-64.
_TIMES = {2: 16, 1: 20}
_TIME_OF_ONE = 60
_ROWS = 2  # of blocks that a kernel takes at a time
_ALIGNED = 4  # words


def is_light(tag: str) -> bool:
    return tag.startswith(_LIGHT)


def light_layout(tag: str) -> tuple[str, int, int]:
    """The layout of all blocks, how many outputs kernels take at a time, and how many inputs a block has."""
    layout, outputs, inputs = tiled(tag.removeprefix(_LIGHT))
    return layout, _ROWS * outputs, inputs


def heavy_pairs(weights: Array | None) -> int:
    """How many of 1000 pairs of weights have too much, rounded up; all where weights are not constant."""
    if weights is None or not weights.size:
        return 1000
    wide = weights.reshape(len(weights), -1).astype(np.int16)
    first, second = wide[:, : wide.shape[1] // 2 * 2 : 2], wide[:, 1::2]
    heavy = np.count_nonzero(np.abs(first + second) > _MAX_SAME_SIGN_SUM)
    return -(-1000 * int(heavy) // max(1, first.size))


def lightened(weights: Array, outputs: int, inputs: int) -> tuple[Array, list[int]]:
    """Weights [O, I] without what they have too much; how many blocks are added, for so many outputs each."""
    rest, added = np.empty_like(weights), []
    for first in range(0, len(weights), outputs):
        rows = weights[first : first + outputs]
        excess = {count: _excess(rows, inputs, count) for count in _TIMES}
        blocks = _ROWS * rows.shape[1] // inputs
        best = min(_TIMES, key=lambda n: blocks * _TIMES[n] + np.count_nonzero(excess[n]) * _TIME_OF_ONE)
        rest[first : first + outputs] = rows - excess[best]
        added.append(best)
    return rest, added


def _excess(weights: Array, inputs: int, count: int) -> Array:
    """What weights [O, I] have too much where a kernel adds `count` blocks: the largest give it away."""
    rows, columns = weights.shape
    wide = np.pad(weights.astype(np.int32), [(0, 0), (0, -columns % (inputs * count))])
    # Pairs of weights: those at the same place in their blocks are added.
    lanes = wide.reshape(rows, -1, count, inputs // 2, 2).swapaxes(2, 3)
    found = np.zeros(lanes.shape, np.int32)
    for sign in (1, -1):
        sizes = np.maximum(sign * lanes, 0).reshape(*lanes.shape[:3], -1)
        heavy = sizes.sum(axis=3) > _MAX_SAME_SIGN_SUM
        some = sizes[heavy]
        order = np.argsort(-some, axis=1, kind="stable")
        largest_first = np.take_along_axis(some, order, axis=1)
        left = (
            some.sum(axis=1, keepdims=True)
            - _MAX_SAME_SIGN_SUM
            - np.cumsum(largest_first, axis=1)
            + largest_first
        )
        np.put_along_axis(some, order, np.clip(left, 0, largest_first), axis=1)
        found[heavy] += sign * some.reshape(len(some), count, 2)
    return found.swapaxes(2, 3).reshape(rows, -1)[:, :columns].astype(weights.dtype)


def light(blocks: Array, excess: Array, outputs: int, added: Sequence[int]) -> Array:
    """Words, of packed blocks and of what was taken from their weights [O, I]."""
    words = np.concatenate([[0], *_words(excess, outputs, added)])
    words = np.pad(words, (0, -len(words) % _ALIGNED))
    words[0] = len(words)
    packed: Array = np.ascontiguousarray(blocks).reshape(-1).view(np.int32)
    return np.concatenate([words.astype(np.uint32).view(np.int32), packed])


def _words(excess: Array, outputs: int, added: Sequence[int]) -> Iterator[Array]:
    """For so many outputs each: twice the number of words that follow, one more if two blocks are added; and
    these words, of an input (20 bits), an output (4) and what its weight has too much (8)."""
    for i, count in enumerate(added):
        o, at = np.nonzero(excess[i * outputs : (i + 1) * outputs])
        yield np.array([2 * len(at) + count - 1])
        yield at << 12 | o << 8 | excess[i * outputs + o, at].astype(np.uint8)
