"""Weights of which whole blocks are zero: how many, and a layout that leaves them out.

`blocks` in front of a tiled layout (pack.py) turns it into a stream of words of 32 bits: for each row of
blocks their number in pairs, then of each block where its inputs begin, in elements, and its weights. The
number is filled up to whole pairs, and at least one, by blocks of zeros.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from edgekit.core.types import Array

_BLOCKS = "blocks "
_SIZE = re.compile(r"\bO/(\d+)! (?:HWI|I)/(\d+)!")


def is_stream(tag: str) -> bool:
    return tag.startswith(_BLOCKS)


def tiled(tag: str) -> tuple[str, int, int]:
    """The layout of all blocks, and of how many outputs and inputs one is."""
    size = _SIZE.search(tag)
    assert size, f"pack tag {tag!r} names no blocks"
    return tag.removeprefix(_BLOCKS), int(size[1]), int(size[2])


def stream(packed: Array, kept: Array, inputs: int) -> Array:
    """Words, of weights packed block by block [rows, columns, elements of one]."""
    words = np.ascontiguousarray(packed).reshape(*kept.shape, -1).view(np.int32)
    return np.concatenate(list(_rows(words, kept, inputs)))


def _rows(words: Array, kept: Array, inputs: int) -> Iterator[Array]:
    for row, columns in zip(words, kept, strict=True):
        places = np.flatnonzero(columns)
        pairs = max(1, (len(places) + 1) // 2)
        blocks = np.zeros((2 * pairs, 1 + words.shape[2]), np.int32)
        blocks[: len(places), 0] = places * inputs
        blocks[: len(places), 1:] = row[places]
        yield np.array([pairs], np.int32)
        yield blocks.reshape(-1)
