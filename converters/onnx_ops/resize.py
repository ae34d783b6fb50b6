"""Resize and Upsample: separable, so one axis after the other, with tables of positions and weights."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from edgekit.converters.movement import cast, repeat, repetition, take, where
from edgekit.converters.tensor import Tensor
from edgekit.errors import EdgeKitError
from edgekit.ir import Array, DType
from edgekit.ops.resample import Resample
from edgekit.ops.rounding import Round


@dataclass(frozen=True)
class Style:
    """How Resize samples, the same for all axes; names as in the specification."""

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic_a: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False
    extrapolation: float = 0.0


@dataclass(frozen=True)
class Axis:
    """One axis to resize: its sizes, the scale, and the part of it that is cut out, from 0 to 1."""

    axis: int
    size: int
    out: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)


def Resize(
    x: Tensor,
    roi: Tensor | None = None,
    scales: Tensor | None = None,
    sizes: Tensor | None = None,
    *,
    antialias: int = 0,
    axes: tuple[int, ...] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
    opset: int,
) -> Tensor:
    if opset < 11:  # the second input was the scales then
        assert roi is not None
        return Upsample(x, roi, mode=mode)
    along = [x.axis(a) for a in axes] if axes is not None else list(range(x.rank))
    style = Style(
        mode,
        coordinate_transformation_mode,
        nearest_mode,
        cubic_coeff_a,
        bool(antialias),
        bool(exclude_outside),
        extrapolation_value,
    )
    factors, targets = _sizes(x, along, scales, sizes, keep_aspect_ratio_policy)
    cuts = [(0.0, 1.0)] * len(along)
    if coordinate_transformation_mode == "tf_crop_and_resize":
        if roi is None or roi.type.size != 2 * len(along):
            raise EdgeKitError("E0401", "Resize by tf_crop_and_resize needs a roi for each axis")
        edges = roi.constant("the roi of Resize").astype(np.float64).tolist()
        cuts = list(zip(edges[: len(along)], edges[len(along) :], strict=True))
    parts = zip(along, targets, factors, cuts, strict=True)
    return resize(x, [Axis(a, x.shape[a], out, scale, roi) for a, out, scale, roi in parts], style)


def Upsample(
    x: Tensor,
    factors: Tensor | None = None,
    *,
    mode: str = "nearest",
    scales: tuple[float, ...] = (),
) -> Tensor:
    """Positions are i / scale; the nearest cell is the one before, or after where the size shrinks, as in
    ONNX Runtime: the specification of these old operators leaves it open."""
    given = (
        factors.constant("the scales of Upsample").astype(np.float64).tolist()
        if factors is not None
        else scales
    )
    if len(given) != x.rank:
        raise EdgeKitError("E0401", f"Upsample has {len(given)} scales for {x.type}")
    for axis, scale in enumerate(given):
        style = Style(mode, "asymmetric", "floor" if scale >= 1 else "ceil")
        x = resize(x, [Axis(axis, x.shape[axis], int(x.shape[axis] * scale), scale)], style)
    return x


def _sizes(
    x: Tensor, along: list[int], scales: Tensor | None, sizes: Tensor | None, policy: str
) -> tuple[list[float], list[int]]:
    """The scale and the new size of each axis."""
    old = [x.shape[a] for a in along]
    if scales is not None and scales.type.size:
        factors = scales.constant("the scales of Resize").astype(np.float64).tolist()
        if len(factors) != len(along) or min(factors, default=1) <= 0:
            raise EdgeKitError("E0401", f"Resize by {factors} does not fit {len(along)} axes")
        return factors, [int(n * f) for n, f in zip(old, factors, strict=True)]
    new = list(sizes.ints("the sizes of Resize")) if sizes is not None else []
    if len(new) != len(along) or 0 in old:
        raise EdgeKitError("E0401", f"Resize of {x.type} to {new} makes no sense")
    factors = [m / n for m, n in zip(new, old, strict=True)]
    if policy == "stretch":
        return factors, new
    scale = min(factors) if policy == "not_larger" else max(factors)
    return [scale] * len(along), [int(scale * n + 0.5) for n in old]


def resize(x: Tensor, axes: list[Axis], style: Style) -> Tensor:
    changed = [a for a in axes if a.out != a.size or abs(a.scale - 1) > 1e-9 or a.roi != (0.0, 1.0)]
    if style.mode not in ("nearest", "linear", "cubic"):
        raise EdgeKitError("E0401", f"Resize mode {style.mode} is unknown")
    for a in changed:
        x.builder.afford((a.out,))
    if any(a.out == 0 for a in changed) or style.mode == "nearest":
        return _nearest(x, changed, style)
    dtype = x.dtype
    y = x if dtype.is_float else cast(x, DType.F32)
    for a in changed:
        at = _positions(a, style)
        x.builder.afford((a.out, 2 * _reach(a, style)))
        index, weights = _filter(a, at, style)
        outside = _extrapolated(a, at, style)
        weights = np.where(outside[:, None], 0, weights)
        used = np.any(weights != 0, axis=0) | (np.arange(weights.shape[1]) == 0)
        table = y.new(np.ascontiguousarray(index[:, used]).astype(np.int32), "positions")
        y = y.apply(Resample(a.axis), table, y.like(weights[:, used]))
        y = _extrapolate(y, a, outside, style)
    if dtype.is_float:
        return y
    low, high = (int(v) for v in (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max))
    return cast(y.apply(Round()).clip(low, high), dtype)


def _nearest(x: Tensor, axes: list[Axis], style: Style) -> Tensor:
    times = [1] * x.rank  # copies of each cell: all axes of an integer scale at once
    for a in axes:
        at = _positions(a, style)
        rounding = {
            "round_prefer_floor": np.ceil(at - 0.5),
            "round_prefer_ceil": np.floor(at + 0.5),
            "floor": np.floor(at),
            "ceil": np.ceil(at),
        }
        if style.nearest not in rounding:
            raise EdgeKitError("E0401", f"nearest_mode {style.nearest} is unknown")
        index = np.clip(rounding[style.nearest], 0, a.size - 1).astype(np.int64)
        outside = _extrapolated(a, at, style)
        if not outside.any() and (copies := repetition(index, a.size)):
            times[a.axis] = copies
        else:
            x = _extrapolate(take(x, a.axis, index), a, outside, style)
    return repeat(x, times)


def _positions(a: Axis, style: Style) -> Array:
    """Where each result lies on the old axis."""
    i = np.arange(a.out, dtype=np.float64)
    width = a.scale * a.size  # may have a fraction
    match style.coordinates:
        case "half_pixel":
            return (i + 0.5) / a.scale - 0.5
        case "pytorch_half_pixel":
            return (i + 0.5) / a.scale - 0.5 if width != 1 else np.full(a.out, -0.5)
        case "half_pixel_symmetric":
            return a.size / 2 * (1 - a.out / width) + (i + 0.5) / a.scale - 0.5
        case "align_corners":
            return i * (a.size - 1) / (width - 1) if width != 1 else np.zeros(a.out)
        case "asymmetric":
            return i / a.scale
        case "tf_crop_and_resize":
            first, last = (r * (a.size - 1) for r in a.roi)
            return (
                first + i * (last - first) / (width - 1) if width != 1 else np.full(a.out, (first + last) / 2)
            )
    raise EdgeKitError("E0401", f"coordinate_transformation_mode {style.coordinates} is unknown")


def _shrink(a: Axis, style: Style) -> float:
    return min(a.scale, 1.0) if style.antialias else 1.0


def _reach(a: Axis, style: Style) -> int:
    """How many cells to each side a result is made of."""
    return ceil((1 if style.mode == "linear" else 2) / _shrink(a, style))


def _filter(a: Axis, at: Array, style: Style) -> tuple[Array, Array]:
    """The cells that each result is made of, and their weights; the edge goes on for ever."""
    shrink = _shrink(a, style)
    half = _reach(a, style)
    cells = np.ceil(at)[:, None] - half + np.arange(2 * half)
    distance = np.abs(cells - at[:, None]) * shrink
    weights = _triangle(distance) if style.mode == "linear" else _cubic(distance, style.cubic_a)
    if style.exclude_outside:
        weights = np.where((cells < 0) | (cells >= a.size), 0, weights)
    total = weights.sum(1, keepdims=True)
    if style.antialias or style.exclude_outside:
        weights = weights / np.where(total == 0, 1, total)
    return np.clip(cells, 0, a.size - 1), weights


def _triangle(d: Array) -> Array:
    return np.where(d < 1, 1 - d, 0)


def _cubic(d: Array, a: float) -> Array:
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _extrapolated(a: Axis, at: Array, style: Style) -> Array:
    """Which results lie outside of the old axis, where that matters."""
    if style.coordinates != "tf_crop_and_resize":
        return np.zeros(len(at), np.bool_)
    return (at < 0) | (at > a.size - 1)


def _extrapolate(y: Tensor, a: Axis, outside: Array, style: Style) -> Tensor:
    if not outside.any():
        return y
    mask = y.new(~outside.reshape([-1 if i == a.axis else 1 for i in range(y.rank)]), "inside")
    return where(mask, y, style.extrapolation)
