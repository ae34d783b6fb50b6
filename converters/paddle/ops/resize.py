"""Resizing and resampling of images."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.converters.paddle.arguments import Setting, as_came, channels_first, ints
from edgekit.converters.semantics.onnx.images import GridSample as _GridSample
from edgekit.converters.semantics.onnx.resize import Axis as _Axis
from edgekit.converters.semantics.onnx.resize import ResizeStyle as _Style
from edgekit.converters.semantics.onnx.resize import resize as _resize
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError


def nearest_interp(
    x: Tensor,
    out_size: Setting = None,
    size: Setting = None,
    factors: Tensor | None = None,
    *,
    data_format: str = "",
    data_layout: str = "NCHW",
    out_d: Setting = 0,
    out_h: Setting = 0,
    out_w: Setting = 0,
    scale: Setting = None,
    interp_method: str = "bilinear",
    align_corners: bool = True,
    align_mode: int = 1,
) -> Tensor:
    """Of any kind. A size in tensors comes before factors, and these before a size in numbers."""
    images, last = channels_first(x, data_format or data_layout)
    sizes = images.shape[2:]
    # Since the second version factors say where cells lie, even if sizes are rounded.
    exact = not isinstance(scale, int | float)
    scales = _factors(scale if factors is None else factors, len(sizes))
    out = ints(size, "a size") or ints(out_size, "a size")
    if not out and scales:
        out = [int(n * f) for n, f in zip(sizes, scales, strict=True)]
    out = out or [ints(n, "a size")[0] for n in (out_d, out_h, out_w)[3 - len(sizes) :]]
    if len(out) != len(sizes) or min(out, default=1) < 1 or 0 in sizes:
        raise EdgeKitError("E0401", f"resizing of {images.type} to {out[:8]}")
    style = _style(interp_method, align_corners, align_mode)
    shares = (
        scales if exact and scales and not align_corners else [m / n for n, m in zip(sizes, out, strict=True)]
    )
    axes = [_Axis(i + 2, n, m, f) for i, (n, m, f) in enumerate(zip(sizes, out, shares, strict=True))]
    return as_came(_resize(images, axes, style), last)


bilinear_interp = bicubic_interp = linear_interp = trilinear_interp = nearest_interp
nearest_interp_v2 = bilinear_interp_v2 = bicubic_interp_v2 = nearest_interp
linear_interp_v2 = trilinear_interp_v2 = nearest_interp


def grid_sample(
    x: Tensor,
    grid: Tensor,
    *,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Tensor:
    modes = {"bilinear": "linear", "nearest": "nearest"}
    if mode not in modes:
        raise EdgeKitError("E0203", f"grid_sample in mode {mode[:20]} is not supported")
    return _GridSample(x, grid, mode=modes[mode], padding_mode=padding_mode, align_corners=int(align_corners))


grid_sampler = grid_sample


def _factors(given: Setting, n: int) -> Sequence[float]:
    """A factor for each dimension; none, or 0, is no factor."""
    if given is None:
        return []
    if isinstance(given, Tensor):
        given = given.constant("the factors of a resizing").reshape(-1).tolist()
    values = [float(given)] if isinstance(given, int | float) else [float(f) for f in given]
    if not values or min(values) <= 0:
        return []
    return values * n if len(values) == 1 else values


def _style(method: str, align_corners: bool, align_mode: int) -> _Style:
    if method == "nearest":
        return (
            _Style("nearest", "align_corners", "round_prefer_ceil")
            if align_corners
            else _Style("nearest", "asymmetric", "floor")
        )
    modes = {"bilinear": "linear", "linear": "linear", "trilinear": "linear", "bicubic": "cubic"}
    if method not in modes:
        raise EdgeKitError("E0203", f"interpolation {method[:20]} is not supported")
    if align_corners:
        return _Style(modes[method], "align_corners")
    halves = method == "bicubic" or align_mode == 0
    return _Style(modes[method], "half_pixel" if halves else "asymmetric")
