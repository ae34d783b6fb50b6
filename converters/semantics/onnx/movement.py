"""Moving elements: parts, joints, repetition, borders and other orders of them."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import part
from edgekit.converters.semantics.selected_rows import check_end
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError


def Split(
    x: Tensor,
    given: Tensor | None = None,
    *,
    axis: int = 0,
    split: tuple[int, ...] | None = None,
    num_outputs: int | None = None,
    outputs: int,
) -> list[Tensor]:
    axis = x.axis(axis)
    n = x.shape[axis]
    sizes = given.ints("the sizes of Split") if given is not None else split
    if sizes is None:
        if num_outputs not in (None, outputs):
            raise EdgeKitError("E0401", f"Split into {num_outputs} parts has {outputs} outputs")
        size = -(-n // outputs)
        sizes = tuple(max(0, min(size, n - i * size)) for i in range(outputs))
    if sum(sizes) != n or min(sizes, default=0) < 0 or len(sizes) != outputs:
        raise EdgeKitError("E0401", f"Split into {list(sizes)} does not fit axis {axis} of {x.type}")
    check_end(x, axis)
    starts = np.cumsum((0, *sizes)).tolist()
    return [part(x, axis, start, size) for start, size in zip(starts, sizes, strict=False)]


def DepthToSpace(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    n, c, h, w = x.shape
    depth = c // blocksize**2
    if mode == "DCR":
        cells = x.reshape(n, blocksize, blocksize, depth, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        cells = x.reshape(n, depth, blocksize, blocksize, h, w).transpose(0, 1, 4, 2, 5, 3)
    return cells.reshape(n, depth, h * blocksize, w * blocksize)


def SpaceToDepth(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    n, c, h, w = x.shape
    cells = x.reshape(n, c, h // blocksize, blocksize, w // blocksize, blocksize)
    cells = cells.transpose(*((0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)))
    return cells.reshape(n, c * blocksize**2, h // blocksize, w // blocksize)
