"""Sparse tensors of TFLite files, in the format of TACO: made dense as they are read.

Levels are the dimensions in the order of traversal, those within blocks last. A dense level has all its
indices; a compressed one (CSR) has a list of them for each index of the levels above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.converters.tflite.file import Table
from edgekit.core.reasons import DamageError
from edgekit.core.types import Array, Type

_VECTORS = {1: "<i4", 2: "<u2", 3: "u1"}  # Int32Vector, Uint16Vector, Uint8Vector


@dataclass(frozen=True)
class Level:
    """One dimension: of `size` indices, or of those that are listed."""

    size: int
    segments: Array | None = None
    indices: Array | None = None

    def below(self, parents: Array, most: int) -> tuple[Array, Array, Array]:
        """(which parent, which index, the place of both) of all that is stored below these places."""
        if self.segments is None or self.indices is None:
            _check_count(len(parents) * self.size, most)
            owner = np.repeat(np.arange(len(parents)), self.size)
            index = np.tile(np.arange(self.size), len(parents))
            return owner, index, parents[owner] * self.size + index
        if parents.size and int(parents.max()) + 1 >= len(self.segments):
            raise DamageError("a sparse tensor has too few segments")
        starts, ends = self.segments[parents], self.segments[parents + 1]
        if (starts < 0).any() or (ends < starts).any() or (ends > len(self.indices)).any():
            raise DamageError("segments of a sparse tensor are out of order")
        counts = ends - starts
        _check_count(int(counts.sum()), most)
        owner = np.repeat(np.arange(len(parents)), counts)
        first = np.repeat(starts - (np.cumsum(counts) - counts), counts)
        place = first + np.arange(len(owner))
        return owner, self.indices[place], place


def is_sparse(tensor: Table) -> bool:
    return tensor.table(6) is not None


def dense(tensor: Table, type: Type, raw: Array) -> Array:
    """The tensor of these bytes, with zeros where nothing is stored."""
    sparsity = tensor.table(6)
    assert sparsity is not None
    order = [int(d) for d in sparsity.array(0, "<i4")]
    blocked = [int(d) for d in sparsity.array(1, "<i4")]
    levels = [_level(table) for table in sparsity.tables(2)]
    rank = type.rank
    if sorted(order) != list(range(rank + len(blocked))) or len(levels) != len(order):
        raise DamageError(f"a sparse tensor has {len(levels)} levels for {rank} dimensions")
    if any(not 0 <= d < rank for d in blocked):
        raise DamageError("a block of a sparse tensor has a dimension that is not there")
    if raw.size % type.dtype.bytes:
        raise DamageError("the last number of a sparse tensor is incomplete")
    stored = np.frombuffer(raw.tobytes(), type.dtype.numpy)
    where = _indices(levels, type.size)
    # Dimensions of blocks are the low digits of those that they divide.
    found: list[Array | int] = [0] * rank
    for dimension, index in zip(order, where, strict=True):
        if dimension < rank:
            found[dimension] = index
    for number, dimension in enumerate(blocked):
        at = order.index(rank + number)
        found[dimension] = found[dimension] * levels[at].size + where[at]
    listed = len(where[0]) if where else 1  # a scalar has no levels
    if listed != len(stored):
        raise DamageError(f"a sparse tensor stores {len(stored)} numbers, and lists {listed}")
    if any(np.any((index < 0) | (index >= n)) for index, n in zip(found, type.shape, strict=True)):
        raise DamageError(f"an index of a sparse tensor is outside of {list(type.shape)}")
    result = np.zeros(type.shape, type.dtype.numpy)
    result[..., *found] = stored
    return result


def _indices(levels: Sequence[Level], most: int) -> list[Array]:
    """For each level the index of every stored number, in the order in which they are stored."""
    places = np.zeros(1, np.int64)
    found: list[Array] = []
    for level in levels:
        owner, index, places = level.below(places, most)
        found = [each[owner] for each in found] + [index]
    return found


def _check_count(count: int, most: int) -> None:
    if count > most:
        raise DamageError("a sparse tensor lists more numbers than it has elements")


def _level(table: Table) -> Level:
    match table.integer(0, "b"):
        case 0:
            return Level(table.integer(1))
        case 1:
            return Level(0, _vector(table, 2), _vector(table, 4))
        case other:
            raise DamageError(f"a sparse tensor has a dimension of the unknown format {other}")


def _vector(table: Table, field: int) -> Array:
    """The numbers of a union: its type is one field, its table the next."""
    kind, vector = table.integer(field, "B"), table.table(field + 1)
    if kind not in _VECTORS or vector is None:
        raise DamageError("a sparse dimension has no indices")
    return vector.array(0, _VECTORS[kind]).astype(np.int64)
