"""Access through index tensors, shared by gathers and scatters: negative indices count from the back.

An index outside of its dimension is clamped to it, so that no memory beyond the tensor is touched.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.core.ops import require
from edgekit.core.ops._strided import RANK, Strides
from edgekit.core.types import Array, DType, Type


def check_index(index: Type) -> None:
    require(index.dtype in (DType.S32, DType.S64), f"indices {index} should be s32 or s64")


def clamped(index: Array, size: int) -> Array:
    """Indices as kernels read them."""
    return np.clip(np.where(index < 0, index + size, index), 0, size - 1).astype(np.intp)


def cells(rank: int, axis: int, size: int) -> Array:
    """0, 1, 2, ... along one axis of a tensor of that rank."""
    return np.arange(size).reshape([-1 if i == axis else 1 for i in range(rank)])


def components(sizes: Sequence[int], steps: Strides, apart: int) -> dict[str, int | Sequence[int]]:
    """Parameters of kernels that read an index of several components, `apart` elements from each other: the
    size of the dimension that each indexes, and the elements from one of its cells to the next."""
    require(len(sizes) <= RANK, f"an index of {len(sizes)} components is too long")
    spare = (0,) * (RANK - len(sizes))
    return {"count": len(sizes), "apart": apart, "size": (*sizes, *spare), "step": (*steps, *spare)}
