"""Resizing and resampling of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as _replace

from edgekit.converters.onnx_ops.images import GridSample as _GridSample
from edgekit.converters.onnx_ops.resize import Axis as _Axis
from edgekit.converters.onnx_ops.resize import Style as _Style
from edgekit.converters.onnx_ops.resize import resize as _resize
from edgekit.converters.tensor import Tensor
from edgekit.errors import EdgeKitError

_Floats = Sequence[float] | None
_Ints = Sequence[int] | None


def upsample_nearest1d(
    x: Tensor, *, output_size: _Ints = None, scale_factors: _Floats = None, scales: float | None = None
) -> Tensor:
    return _resized(x, _Style("nearest", "asymmetric", "floor"), output_size, scale_factors, [scales])


def upsample_nearest2d(
    x: Tensor,
    *,
    output_size: _Ints = None,
    scale_factors: _Floats = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Tensor:
    style = _Style("nearest", "asymmetric", "floor")
    return _resized(x, style, output_size, scale_factors, [scales_h, scales_w])


def upsample_nearest_exact2d(
    x: Tensor,
    *,
    output_size: _Ints = None,
    scale_factors: _Floats = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Tensor:
    style = _Style("nearest", "half_pixel", "round_prefer_ceil")
    return _resized(x, style, output_size, scale_factors, [scales_h, scales_w])


def upsample_linear1d(
    x: Tensor,
    *,
    output_size: _Ints = None,
    align_corners: bool,
    scale_factors: _Floats = None,
    scales: float | None = None,
) -> Tensor:
    return _resized(x, _smooth("linear", align_corners), output_size, scale_factors, [scales])


def upsample_bilinear2d(
    x: Tensor,
    *,
    output_size: _Ints = None,
    align_corners: bool,
    scale_factors: _Floats = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Tensor:
    style = _smooth("linear", align_corners)
    return _resized(x, style, output_size, scale_factors, [scales_h, scales_w])


def upsample_bicubic2d(
    x: Tensor,
    *,
    output_size: _Ints = None,
    align_corners: bool,
    scale_factors: _Floats = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Tensor:
    style = _smooth("cubic", align_corners)
    return _resized(x, style, output_size, scale_factors, [scales_h, scales_w])


def upsample_nearest3d(
    x: Tensor, *, output_size: _Ints = None, scale_factors: _Floats = None, **scales: float | None
) -> Tensor:
    style = _Style("nearest", "asymmetric", "floor")
    return _resized(x, style, output_size, scale_factors, list(scales.values()))


def upsample_trilinear3d(
    x: Tensor,
    *,
    output_size: _Ints = None,
    align_corners: bool,
    scale_factors: _Floats = None,
    **scales: float | None,
) -> Tensor:
    return _resized(x, _smooth("linear", align_corners), output_size, scale_factors, list(scales.values()))


def upsample_bilinear2d_aa(
    x: Tensor,
    *,
    output_size: _Ints = None,
    align_corners: bool,
    scale_factors: _Floats = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Tensor:
    style = _replace(_smooth("linear", align_corners), antialias=True, exclude_outside=True)
    return _resized(x, style, output_size, scale_factors, [scales_h, scales_w])


def grid_sampler(
    x: Tensor, *, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    modes, borders = ("linear", "nearest", "cubic"), ("zeros", "border", "reflection")
    if not (0 <= interpolation_mode < len(modes) and 0 <= padding_mode < len(borders)):
        raise EdgeKitError("E0401", f"grid_sampler in mode {interpolation_mode}, {padding_mode}")
    return _GridSample(
        x,
        grid,
        mode=modes[interpolation_mode],
        padding_mode=borders[padding_mode],
        align_corners=int(align_corners),
    )


def grid_sampler_2d(
    x: Tensor, *, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    return grid_sampler(
        x,
        grid=grid,
        interpolation_mode=interpolation_mode,
        padding_mode=padding_mode,
        align_corners=align_corners,
    )


def _smooth(mode: str, align_corners: bool) -> _Style:
    return _Style(mode, "align_corners" if align_corners else "half_pixel")


def _resized(
    x: Tensor, style: _Style, output_size: _Ints, factors: _Floats, scales: Sequence[float | None]
) -> Tensor:
    """Resize the dimensions behind N C; a factor that is stated decides where cells lie, not its rounding."""
    size = x.shape[2:]
    given: list[float | None] = list(factors) if factors is not None else list(scales)
    given = given if len(given) == len(size) else [None] * len(size)
    if output_size is not None:
        out = [int(n) for n in output_size]
    elif factors is not None:
        out = [int(n * f) for n, f in zip(size, factors, strict=True)]
    else:
        raise EdgeKitError("E0401", "neither a size nor a factor to resize to")
    if len(out) != len(size) or min(out, default=1) < 1 or 0 in size:
        raise EdgeKitError("E0401", f"resizing of {x.type} to {out[:8]}")
    aligned = style.coordinates == "align_corners"
    axes = [
        _Axis(i + 2, n, m, m / n if f is None or aligned or f <= 0 else f)
        for i, (n, m, f) in enumerate(zip(size, out, given, strict=True))
    ]
    return _resize(x, axes, style)
