"""Resizing of images: see semantics/tensorflow/images.py."""

from __future__ import annotations

from edgekit.converters.semantics.movement import cast
from edgekit.converters.semantics.tensorflow import images
from edgekit.converters.tensor import Tensor
from edgekit.core.types import DType


def ResizeBilinear(
    x: Tensor, size: Tensor, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Tensor:
    """Integers become floats, too."""
    return images.bilinear(cast(x, DType.F32), images.sizes(x, size), align_corners, half_pixel_centers)


def ResizeNearestNeighbor(
    x: Tensor, size: Tensor, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Tensor:
    return images.nearest(x, images.sizes(x, size), align_corners, half_pixel_centers)
