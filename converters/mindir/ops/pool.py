"""Poolings, and images of other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as _prod

from edgekit.converters.semantics.aten import pool as _torch
from edgekit.converters.semantics.convolution import pads_of as _pads_of
from edgekit.converters.semantics.onnx import pool as _onnx
from edgekit.converters.semantics.onnx.images import GridSample as _GridSample
from edgekit.converters.semantics.onnx.resize import Axis as _Axis
from edgekit.converters.semantics.onnx.resize import ResizeStyle as _Style
from edgekit.converters.semantics.onnx.resize import resize as _resize
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError

_Ints = Sequence[int]
_MODES = ("pad", "same", "valid")


def MaxPool(
    x: Tensor,
    *,
    kernel_size: _Ints,
    strides: _Ints,
    pad_mode: int | str = "valid",
    format: str = "NCHW",
) -> Tensor:
    kernel, steps, pads = _window(x, kernel_size, strides, pad_mode, format)
    return _onnx.MaxPool(x, kernel_shape=kernel, strides=steps, pads=pads)[0]


def AvgPool(
    x: Tensor,
    kernel_size: _Ints,
    strides: _Ints,
    pad_mode: int | str = "valid",
    data_format: int | str = 0,
) -> Tensor:
    """Means leave padding out."""
    kernel, steps, pads = _window(x, kernel_size, strides, pad_mode, data_format)
    return _onnx.AveragePool(x, kernel_shape=kernel, strides=steps, pads=pads)


def AvgPool3D(
    x: Tensor,
    *,
    kernel_size: _Ints,
    strides: _Ints,
    pad: _Ints = (0,) * 6,
    pad_mode: str = "valid",
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Tensor:
    """Poolings of one and two dimensions with padding of their own become such."""
    kernel, steps = tuple(kernel_size[-3:]), tuple(strides[-3:])
    if divisor_override or pad_mode.lower() == "same":
        raise EdgeKitError("E0205", f"AvgPool3D with {pad_mode[:20]} or a divisor is not supported")
    pads = (*pad[::2], *pad[1::2]) if pad_mode.lower() == "pad" else (0,) * 6
    return _onnx.AveragePool(
        x,
        kernel_shape=kernel,
        strides=steps,
        pads=pads,
        ceil_mode=int(ceil_mode),
        count_include_pad=int(count_include_pad),
    )


def MaxPoolWithArgmaxV2(
    x: Tensor,
    *,
    kernel_size: _Ints,
    strides: _Ints,
    pads: _Ints,
    dilation: _Ints = (1, 1),
    ceil_mode: bool = False,
) -> Tensor:
    """Without the places."""
    return _torch.max_pool2d(
        x,
        kernel_size=kernel_size[-2:],
        stride=strides[-2:],
        padding=pads[-2:],
        dilation=dilation[-2:],
        ceil_mode=ceil_mode,
    )


def MaxPool3DWithArgmax(
    x: Tensor,
    *,
    ksize: _Ints,
    strides: _Ints,
    pads: _Ints,
    dilation: _Ints = (1, 1, 1),
    ceil_mode: bool = False,
) -> Tensor:
    return _torch.max_pool3d(
        x, kernel_size=ksize, stride=strides, padding=pads, dilation=dilation, ceil_mode=ceil_mode
    )


def AdaptiveAvgPool2D(x: Tensor, output_size: _Ints) -> Tensor:
    return _torch.adaptive_avg_pool2d(x, output_size=_size(x, output_size)).reshape(
        *x.shape[:-2], *_size(x, output_size)
    )


AdaptiveAvgPool2DExt = AdaptiveAvgPool2D


def AdaptiveMaxPool2D(x: Tensor, output_size: _Ints) -> Tensor:
    return _torch.adaptive_max_pool2d(x, output_size=_size(x, output_size)).reshape(
        *x.shape[:-2], *_size(x, output_size)
    )


def ResizeBilinearV2(
    x: Tensor, size: _Ints, align_corners: bool = False, half_pixel_centers: bool = False
) -> Tensor:
    return _resized(x, size, "linear", align_corners, half_pixel_centers)


def ResizeNearestNeighborV2(
    x: Tensor, size: _Ints, align_corners: bool = False, half_pixel_centers: bool = False
) -> Tensor:
    return _resized(x, size, "nearest", align_corners, half_pixel_centers)


def ResizeNearestNeighbor(x: Tensor, *, size: _Ints, align_corners: bool = False) -> Tensor:
    return _resized(x, size, "nearest", align_corners, False)


def GridSampler2D(
    x: Tensor,
    grid: Tensor,
    interpolation_mode: int = 0,
    padding_mode: int = 0,
    align_corners: bool = False,
) -> Tensor:
    modes, borders = ("linear", "nearest"), ("zeros", "border", "reflection")
    if not (0 <= interpolation_mode < len(modes) and 0 <= padding_mode < len(borders)):
        raise EdgeKitError("E0203", f"GridSampler2D in mode {interpolation_mode}, {padding_mode}")
    return _GridSample(
        x,
        grid,
        mode=modes[interpolation_mode],
        padding_mode=borders[padding_mode],
        align_corners=int(align_corners),
    )


def _window(
    x: Tensor, kernel: _Ints, strides: _Ints, mode: int | str, layout: int | str
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Window, strides and padding of two dimensions."""
    if layout not in (0, "NCHW"):
        raise EdgeKitError("E0203", f"the layout {str(layout)[:20]} is not supported", hint="export as NCHW")
    if isinstance(mode, int):
        mode = _MODES[mode] if 0 <= mode < len(_MODES) else str(mode)
    size, steps = tuple(kernel[-2:]), tuple(strides[-2:])
    if mode.lower() == "valid":
        return size, steps, (0, 0, 0, 0)
    if mode.lower() == "same":
        return size, steps, _pads_of("SAME_UPPER", None, x.shape[2:], size, steps, (1, 1))
    raise EdgeKitError("E0203", f"pooling with the padding {mode[:20]} is not supported")


def _size(x: Tensor, wanted: _Ints) -> tuple[int, ...]:
    """-1 or none keeps a size."""
    pairs = zip(x.shape[-2:], wanted, strict=True)
    return tuple(n if w in (None, -1) else w for n, w in pairs)


def _resized(x: Tensor, size: _Ints, mode: str, align_corners: bool, halves: bool) -> Tensor:
    out = list(size)
    if x.rank != 4 or len(out) != 2 or min(out) < 1 or not _prod(x.shape):
        raise EdgeKitError("E0401", f"resizing of {x.type} to {out[:8]}")
    coordinates = "align_corners" if align_corners else "half_pixel" if halves else "asymmetric"
    nearest = "round_prefer_ceil" if align_corners else "floor"
    axes = [_Axis(i + 2, n, m, m / n) for i, (n, m) in enumerate(zip(x.shape[2:], out, strict=True))]
    return _resize(x, axes, _Style(mode, coordinates, nearest))
