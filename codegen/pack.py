"""Weight layouts: re-tiles constants offline as the tag in a kernel's file says; devices pack nothing.

A tag lists the dimensions of the packed weights from outer to inner. Capitals are the dimensions of the
graph's tensor, in its order O H W I (or O I); O/16 ... o16 cuts O into blocks of 16, the last of which is
narrower where O is no multiple; a leading G cuts O into the call's groups first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from edgekit.ir import Array, DType
from edgekit.ops._strided import Strides, contiguous

_DIMS = {2: "OI", 3: "OWI", 4: "OHWI"}


@dataclass(frozen=True)
class Block:
    """One dense piece of the packed weights: `shape`, `strides`, `start` in the source, put at `at`."""

    shape: tuple[int, ...]
    strides: Strides
    start: int
    at: int


def blocks(tag: str, shape: tuple[int, ...], groups: int = 1) -> Iterator[Block]:
    """The pieces, one behind the other, that make up the packed weights."""
    names = _DIMS[len(shape)]
    order = tag.split()
    size = dict(zip(names, shape, strict=True))
    stride = dict(zip(names, contiguous(shape), strict=True))
    if order[0] == "G":
        order = order[1:]
    else:
        groups = 1
    cut = next((int(m[1]) for d in order if (m := re.fullmatch(r"O/(\d+)", d))), 0)
    inner = [d for d in order if not d.startswith("O/")]
    assert sorted(d[0].upper() for d in inner) == sorted(names), f"pack tag {tag!r} does not fit {names}"
    per_group = size["O"] // groups
    at = 0
    for group in range(groups):
        for first in range(0, per_group, cut or per_group):
            width = min(cut or per_group, per_group - first)
            here = size | {"O": width}
            dims = tuple(here[d[0].upper()] for d in inner)
            steps = tuple(stride[d[0].upper()] for d in inner)
            yield Block(dims, steps, (group * per_group + first) * stride["O"], at)
            at += int(np.prod(dims))


def pack(tag: str, weights: Array, groups: int = 1) -> Array:
    """The packed weights, flat; those of four bits two in a byte, as nibbles.h reads them."""
    flat = np.ascontiguousarray(weights).reshape(-1)
    out = np.empty_like(flat)
    for b in blocks(tag, weights.shape, groups):
        steps = tuple(s * flat.itemsize for s in b.strides)
        piece = np.lib.stride_tricks.as_strided(flat[b.start :], b.shape, steps, writeable=False)
        out[b.at : b.at + piece.size] = piece.reshape(-1)
    return _nibbles(out) if DType.of(out.dtype) is DType.S4 else out


def _nibbles(integers: Array) -> Array:
    pairs = np.append(integers, np.zeros(integers.size % 2, integers.dtype)).astype(np.int8).reshape(-1, 2)
    return ((pairs[:, 0] & 15) | (pairs[:, 1] << 4)).astype(np.int8)
