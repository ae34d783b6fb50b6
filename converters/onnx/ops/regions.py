"""Operators on regions of images, and convolutions whose window follows offsets."""

from __future__ import annotations

from edgekit.converters.semantics.convolution import sliding
from edgekit.converters.semantics.deform_conv import deform_conv
from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import max_roi_pool, roi_align
from edgekit.core.types import DType


def RoiAlign(
    x: Tensor,
    boxes: Tensor,
    images: Tensor,
    *,
    coordinate_transformation_mode: str = "",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
    opset: int = 22,
) -> Tensor:
    transform = coordinate_transformation_mode or ("half_pixel" if opset >= 16 else "output_half_pixel")
    if mode not in ("avg", "max") or transform not in ("half_pixel", "output_half_pixel"):
        raise EdgeKitError("E0205", f"RoiAlign with mode {mode} and coordinates {transform}")
    op = roi_align.RoiAlign(
        (output_height, output_width),
        max(sampling_ratio, 0),
        spatial_scale,
        0.5 if transform == "half_pixel" else 0.0,
        "mean" if mode == "avg" else "max",
    )
    return x.to_nhwc().apply(op, boxes, cast(images, DType.S64)).to_nchw()


def MaxRoiPool(
    x: Tensor, boxes: Tensor, *, pooled_shape: tuple[int, ...], spatial_scale: float = 1.0
) -> Tensor:
    match pooled_shape:
        case (height, width):
            op = max_roi_pool.MaxRoiPool((height, width), spatial_scale)
            return x.to_nhwc().apply(op, boxes).to_nchw()
        case _:
            sides = list(pooled_shape)
            raise EdgeKitError("E0401", f"MaxRoiPool with a pooled_shape of {sides}, not of height and width")


def DeformConv(
    x: Tensor,
    w: Tensor,
    offset: Tensor,
    b: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    kernel_shape: tuple[int, ...] | None = None,
    offset_group: int = 1,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    slide = sliding(x, w, "NOTSET", dilations, pads, strides)
    return deform_conv(x, w, offset, b, mask, slide, group, offset_group)
