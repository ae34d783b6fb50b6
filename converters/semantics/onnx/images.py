"""Images: sampling at positions, columns back to images."""

from __future__ import annotations

from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.core.ops._map import compute_type
from edgekit.core.ops.grid_sample import GridSample as GridSampleOp


def GridSample(
    x: Tensor,
    grid: Tensor,
    *,
    align_corners: int = 0,
    mode: str = "linear",
    padding_mode: str = "zeros",
) -> Tensor:
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)  # as it was called before opset 20
    op = GridSampleOp(mode, padding_mode, bool(align_corners))
    return x.to_nhwc().apply(op, cast(grid, compute_type(x.dtype))).to_nchw()
