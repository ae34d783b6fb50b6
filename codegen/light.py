"""Weights whose products stay exact where an engine adds two of them in 16 bits.

A cell of 8 bits is at most 255, so that two products fit where their weights are at most 128 together, or
have different signs. `light` in front of a tiled layout (pack.py) turns it into a stream of words of 32 bits:
for each row of blocks how many there are of what two weights side by side have too much, where the inputs of
each of these begin and its weights; then all blocks without that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgekit.codegen.blocks import tiled
from edgekit.ir import Array
from edgekit.tiles import occupied

_LIGHT = "light "
_MOST = 128  # of two weights together: 255 * 128 fits in 16 bits


def is_light(tag: str) -> bool:
    return tag.startswith(_LIGHT)


def light_layout(tag: str) -> tuple[str, int, int]:
    """The layout of all blocks, and of how many outputs and inputs one is."""
    return tiled(tag.removeprefix(_LIGHT))


def excess(weights: Array) -> Array:
    """What the second of two weights [O, I] has too much."""
    wide = np.pad(weights.astype(np.int32), [(0, 0), (0, weights.shape[1] % 2)])
    first, second = wide[:, ::2], wide[:, 1::2]
    too_much = np.maximum(np.abs(first + second) - _MOST, 0) * (first * second > 0)
    found = np.zeros_like(wide)
    found[:, 1::2] = too_much * np.sign(second)
    return found[:, : weights.shape[1]].astype(weights.dtype)


def heavy_blocks(weights: Array | None, outputs: int, inputs: int) -> int:
    """The share of blocks that come twice, in percent, rounded up; all where weights are not constant."""
    if weights is None or not weights.size:
        return 100
    kept = occupied(excess(weights.reshape(len(weights), -1)), outputs, inputs)
    return -(-100 * int(kept.sum()) // kept.size)


def light(rest: Array, more: Array, kept: Array, inputs: int) -> Array:
    """Words, of weights and what was taken from them, both packed block by block."""
    return np.concatenate(list(_rows(_words(rest, kept), _words(more, kept), kept, inputs)))


def _words(packed: Array, kept: Array) -> Array:
    words: Array = np.ascontiguousarray(packed).reshape(*kept.shape, -1).view(np.int32)
    return words


def _rows(rest: Array, more: Array, kept: Array, inputs: int) -> Iterator[Array]:
    for blocks, extra, columns in zip(rest, more, kept, strict=True):
        places = np.flatnonzero(columns)
        yield np.array([len(places)], np.int32)
        yield np.column_stack([places * inputs, extra[places]]).astype(np.int32).reshape(-1)
        yield blocks.reshape(-1)
