"""Weights with blocks of zeros, as pruning makes them."""

import numpy as np

from edgekit.core.types import Array


def with_zeros(weights: Array, tile: tuple[int, int], share: float, rng: np.random.Generator) -> Array:
    """Weights [O, ..., I] with so large a share of blocks of zeros."""
    flat = weights.reshape(len(weights), -1).copy()
    rows, columns = (-(-n // size) for n, size in zip(flat.shape, tile, strict=True))
    zero = rng.permutation(rows * columns).reshape(rows, columns) < share * rows * columns
    spread = np.repeat(np.repeat(zero, tile[0], axis=0), tile[1], axis=1)
    flat[spread[: flat.shape[0], : flat.shape[1]]] = 0
    return flat.reshape(weights.shape)
