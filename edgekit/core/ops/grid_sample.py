"""y[n, p] = the image x[n] at the position grid[n, p], interpolated between its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from edgekit.core.ops import ELEMENT, Arg, Call, Op, Step, require
from edgekit.core.ops._map import compute_type, real_type
from edgekit.core.types import Array, Type

_TAPS = {"nearest": 1, "linear": 2, "cubic": 4}
_PADDINGS = ("zeros", "border", "reflection")
_MAX_SPATIAL = 3


@dataclass(frozen=True)
class GridSample(Op):
    """Operands: x [N, D1.., C] and the grid [N, P1.., r] in the type that C computes in; r counts the D. A
    position of -1 is the first cell of a dimension and 1 the last (`align`), or the outer edges of these
    cells; positions come last dimension first. Cubic is Keys' kernel with a = -0.75."""

    mode: str = "linear"
    padding: str = "zeros"
    align: bool = False

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, grid = ins
        require(self.mode in _TAPS, f"mode {self.mode} is unknown")
        require(self.padding in _PADDINGS, f"padding {self.padding} is unknown")
        require(
            real_type(x.dtype) and grid.dtype is compute_type(x.dtype), f"is not defined on {x} and {grid}"
        )
        spatial = x.rank - 2
        require(1 <= spatial <= _MAX_SPATIAL, f"samples one to {_MAX_SPATIAL} dimensions, not {spatial}")
        require(
            grid.rank >= 2 and grid.shape[-1] == spatial and grid.shape[0] == x.shape[0],
            f"the grid {grid} does not fit {x}",
        )
        require(0 not in x.shape[1:-1] or grid.size == 0, f"{x} is empty")
        return (Type(x.dtype, (*grid.shape[:-1], x.shape[-1])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, grid = ins
        spatial, wide = x.ndim - 2, grid.dtype
        axes = [self._taps(grid[..., spatial - 1 - d], x.shape[1 + d]) for d in range(spatial)]
        batch = np.arange(len(x)).reshape(-1, *(1,) * (grid.ndim - 2))
        y = np.zeros((*grid.shape[:-1], x.shape[-1]), wide)
        for taps in product(*axes):
            weight = taps[0][1]
            for _, other in taps[1:]:
                weight = weight * other
            y += weight[..., None] * x[(batch, *(at for at, _ in taps))].astype(wide)
        return (y.astype(x.dtype),)

    def _taps(self, position: Array, n: int) -> list[tuple[Array, Array]]:
        """The cells of a dimension that each position is made of, and their weights."""
        wide = position.dtype.type
        low, high = (wide(0), wide(n - 1)) if self.align else (wide(-0.5), wide(n - 0.5))
        at = (
            (position + 1) / wide(2) * wide(n - 1) if self.align else ((position + 1) * wide(n) - 1) / wide(2)
        )
        at = np.rint(at) if self.mode == "nearest" else at
        # A border holds for cells, not for positions: just outside, a cubic kernel still reaches inside.
        if self.padding == "reflection":
            at = _reflect(at, low, high)
        at = np.where(
            at > -4, np.minimum(at, wide(n + 3)), wide(-4)
        )  # farther away all is the same; NaN is there
        floor = np.floor(at)
        taps = []
        for tap, weight in enumerate(_weights(at - floor, self.mode)):
            cell = floor.astype(np.int64) + tap - (self.mode == "cubic")
            outside = (cell < 0) | (cell >= n)
            if self.padding == "reflection":
                cell = _reflect(cell.astype(wide), low, high).astype(np.int64)
            kept = np.where(outside, wide(0), weight) if self.padding == "zeros" else weight
            taps.append((np.clip(cell, 0, n - 1), kept))
        return taps

    def macs(self, *ins: Type) -> int:
        x, grid = ins
        return grid.size // max(grid.shape[-1], 1) * x.shape[-1] * int(_TAPS[self.mode] ** (x.rank - 2))

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Each tap of each point is a scattered read, in several passes."""
        return super().work(ins, outs) + 4 * ELEMENT * (self.macs(*ins) + 8 * ins[1].size)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x, grid), (y,) = ins, outs
        sizes = x.type.shape[1:-1]
        return [
            Call(
                kernel="grid_sample",
                types={"T": x.type.dtype},
                args=(x, grid, y),
                params={
                    "batch": x.type.shape[0],
                    "size": (*(1,) * (_MAX_SPATIAL - len(sizes)), *sizes),
                    "channels": x.type.shape[-1],
                    "points": prod(grid.type.shape[1:-1]),
                    "spatial": len(sizes),
                    "taps": _TAPS[self.mode],
                    "padding": _PADDINGS.index(self.padding),
                    "align": int(self.align),
                },
                macs=self.macs(x.type, grid.type),
            )
        ]


def _reflect(x: Array, low: Array, high: Array) -> Array:
    """Fold what is outside of the borders back inside, as often as it takes."""
    span = high - low
    beyond = np.where(x < low, low - x, x - high)
    turn = np.fmod(beyond, 2 * span) if span > 0 else np.zeros_like(x)
    inward = np.where(turn < span, turn, 2 * span - turn)
    return np.where((x >= low) & (x <= high), x, np.where(x < low, low + inward, high - inward))


def _weights(f: Array, mode: str) -> list[Array]:
    """Weights of the taps around a position with the fraction f."""
    if mode == "nearest":
        return [np.ones_like(f)]
    if mode == "linear":
        return [1 - f, f]
    a, wide = f.dtype.type(-0.75), f.dtype.type
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (f + 1, 2 - f)]
    near = [((a + 2) * d - (a + 3)) * d * d + wide(1) for d in (f, 1 - f)]
    return [far[0], *near, far[1]]
