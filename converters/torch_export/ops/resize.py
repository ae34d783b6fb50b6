"""Resizing and resampling of images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from edgekit.converters.semantics.onnx.images import GridSample as _GridSample
from edgekit.converters.semantics.onnx.resize import Axis as _Axis
from edgekit.converters.semantics.onnx.resize import ResizeStyle as _Style
from edgekit.converters.semantics.onnx.resize import resize as _resize
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError

_Floats = Sequence[float] | None
_Ints = Sequence[int] | None
_Handler = Callable[..., Tensor]


def _nearest(n: int, style: _Style) -> _Handler:
    def handler(
        x: Tensor, *, output_size: _Ints = None, scale_factors: _Floats = None, **scales: float | None
    ) -> Tensor:
        return _resized(x, style, output_size, scale_factors, _spatial(n, scales))

    return handler


def _smooth(n: int, mode: str, antialias: bool = False) -> _Handler:
    def handler(
        x: Tensor,
        *,
        output_size: _Ints = None,
        align_corners: bool,
        scale_factors: _Floats = None,
        **scales: float | None,
    ) -> Tensor:
        where = "align_corners" if align_corners else "half_pixel"
        style = _Style(mode, where, antialias=antialias, exclude_outside=antialias)
        style = replace(style, cubic_a=-0.5) if antialias else style  # as Pillow has it
        return _resized(x, style, output_size, scale_factors, _spatial(n, scales))

    return handler


_FLOOR = _Style("nearest", "asymmetric", "floor")
upsample_nearest1d, upsample_nearest2d, upsample_nearest3d = (_nearest(n, _FLOOR) for n in (1, 2, 3))
_CENTER = _Style("nearest", "half_pixel", "floor")
upsample_nearest_exact1d, upsample_nearest_exact2d, upsample_nearest_exact3d = (
    _nearest(n, _CENTER) for n in (1, 2, 3)
)
upsample_linear1d, upsample_bilinear2d, upsample_trilinear3d = (_smooth(n, "linear") for n in (1, 2, 3))
upsample_bicubic2d = _smooth(2, "cubic")
upsample_bilinear2d_aa = _smooth(2, "linear", antialias=True)
upsample_bicubic2d_aa = _smooth(2, "cubic", antialias=True)


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


def _spatial(n: int, scales: Mapping[str, float | None]) -> list[float | None]:
    """A factor for each spatial dimension."""
    names = ["scales"] if n == 1 else [f"scales_{d}" for d in "dhw"[-n:]]
    if unknown := scales.keys() - set(names):
        raise EdgeKitError("E0401", f"{min(unknown)[:20]} is no factor of {n} dimensions")
    return [scales.get(name) for name in names]


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
    axes = [
        _axis(i + 2, n, m, f, style)
        for i, (n, m, f) in enumerate(zip(size, out, given, strict=True))
        if n != m or not _copies(style, len(size))
    ]
    return _resize(x, axes, replace(style, coordinates="half_pixel") if style.antialias else style)


def _copies(style: _Style, dimensions: int) -> bool:
    """Does PyTorch copy an axis of the same length, whatever the factor says?"""
    return style.mode == "linear" or (style == _FLOOR and dimensions == 2)


def _axis(axis: int, n: int, m: int, factor: float | None, style: _Style) -> _Axis:
    """As PyTorch computes positions, from a step in float32. With antialias, aligned corners change the step
    alone, not where it starts."""
    if style.mode == "nearest":
        step = np.float32(1 / factor if factor is not None and factor > 0 else n / m)
        half = np.float32(0 if style == _FLOOR else 0.5)
        return _Axis(axis, n, m, m / n, at=(np.arange(m, dtype=np.float32) + half) * step)
    if style.coordinates != "align_corners":
        return _Axis(axis, n, m, m / n if factor is None or factor <= 0 else factor)
    if not style.antialias:
        return _Axis(axis, n, m, m / n)
    if n == 1 or m == 1:  # the step is 0
        return _Axis(axis, n, m, 1.0, at=np.zeros(m))
    return _Axis(axis, n, m, (m - 1) / (n - 1))
