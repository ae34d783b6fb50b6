"""Sums in the order of the kernels, for 16-bit floats: one by one, or in sixteen lanes that are added up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from edgekit.core import math_f32
from edgekit.core.ops import ITERATION
from edgekit.core.types import Array, DType, Type

LANES = 16
_MAX_SUMS = 1 << 26  # in lanes, at once
Step = Callable[[Array, Array], Array]

STEPS: dict[str, Step] = {
    "sum": np.add,
    "mean": np.add,
    "prod": np.multiply,
    "max": math_f32.fmax,
    "min": math_f32.fmin,
}


def is_narrow(*arrays: Array) -> bool:
    """Are there floats of less than 32 bits among these?"""
    return any(DType.of(a.dtype).is_float and a.dtype.itemsize < 4 for a in arrays)


def term_by_term(x: Type, terms: int) -> int:
    """Steps to go through so many terms in Python, which small floats ask for."""
    return ITERATION * terms if x.dtype.is_float and x.dtype.bytes < 4 else 0


def one_by_one(step: Step, start: Array | float, terms: Array) -> Array:
    """start o terms[0] o terms[1] ..., over the first dimension."""
    result = np.full(terms.shape[1:], start, terms.dtype)
    for term in terms:
        result = step(result, term)
    return result


def in_lanes(step: Step, start: float, rows: Array) -> Array:
    """Over the last dimension of rows [R, ..., n] and then the first: lane l takes elements l, l + 16, ..."""
    missing = -rows.shape[-1] % LANES
    ends = [(0, 0)] * (rows.ndim - 1) + [(0, missing)]
    padded = np.pad(rows, ends, constant_values=start)  # changes nothing: no lane is ever -0
    blocks = padded.shape[-1] // LANES
    parts = np.moveaxis(padded.reshape(*rows.shape[:-1], blocks, LANES), -2, 1)
    lanes = one_by_one(step, start, parts.reshape(len(rows) * blocks, *rows.shape[1:-1], LANES))
    return one_by_one(step, lanes[..., 0], np.moveaxis(lanes[..., 1:], -1, 0))


def row_sums(x: Array) -> Array:
    """Sums over the last dimension, which is kept."""
    return in_lanes(np.add, 0, x[None])[..., None]


def reduced(step: Step, start: float, x: Array, kept: Sequence[bool]) -> Array:
    """Over the dimensions that are not kept. The last one is taken in lanes."""
    stay = [i for i, stays in enumerate(kept) if stays]
    leave = [i for i, stays in enumerate(kept) if not stays]
    last = [] if kept[-1] else [leave.pop()]
    sizes = [prod(x.shape[i] for i in axes) for axes in (leave, stay)]
    terms = x.transpose(leave + stay + last).reshape(*sizes, *(x.shape[i] for i in last))
    return in_lanes(step, start, terms) if last else one_by_one(step, start, terms)


def product(a: Array, b: Array, *, lanes: bool) -> Array:
    """The matrix products a b."""
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if not lanes:
        sums = np.zeros((*shape, a.shape[-2], b.shape[-1]), a.dtype)
        for k in range(a.shape[-1]):
            sums += a[..., :, k, None] * b[..., k, None, :]
        return sums
    rows = max(_MAX_SUMS // max(prod(shape) * b.shape[-1] * LANES, 1), 1)
    if rows < a.shape[-2]:
        pieces = [a[..., i : i + rows, :] for i in range(0, a.shape[-2], rows)]
        return np.concatenate([product(piece, b, lanes=True) for piece in pieces], -2)
    parts = np.zeros((*shape, a.shape[-2], b.shape[-1], LANES), a.dtype)
    turned = np.swapaxes(b, -1, -2)
    for k in range(0, a.shape[-1], LANES):
        left, right = a[..., :, None, k : k + LANES], turned[..., None, :, k : k + LANES]
        parts[..., : left.shape[-1]] += left * right
    return one_by_one(np.add, parts[..., 0], np.moveaxis(parts[..., 1:], -1, 0))
