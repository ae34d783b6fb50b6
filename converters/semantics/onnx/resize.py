"""Resize and Upsample: separable, so one axis after the other, with tables of positions and weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgekit.converters.semantics.movement import cast, repeat, repetition, take, where
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.resample import Resample
from edgekit.core.ops.rounding import Round
from edgekit.core.types import Array, DType

_TIE = 1e-6


@dataclass(frozen=True)
class ResizeStyle:
    """How Resize samples, the same for all axes; names as in the specification."""

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic_a: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False
    extrapolation: float = 0.0
    # As ONNX Runtime computes positions: in float32, so that ties fall to the same cell as in that runtime.
    single: bool = False
    # As onnx's reference evaluator: the new length is size * scale, with its fraction. The specification's
    # text, ONNX Runtime and PyTorch mean the length of the result, which is an integer.
    fractional: bool = False


@dataclass(frozen=True)
class Axis:
    """One axis to resize: its sizes, the scale, and the part of it that is cut out, from 0 to 1. `at` are the
    positions of the results where a framework computes them in its own way."""

    axis: int
    size: int
    out: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)
    at: Array | None = None


def resize(x: Tensor, axes: list[Axis], style: ResizeStyle) -> Tensor:
    changed = _changed(axes, style)
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
        outside = _extrapolated(a, at, style)
        if not (style.single and style.antialias and a.out == a.size):
            y = _sampled(y, a, at, outside, style)
        y = _extrapolate(y, a, outside, style)
    if dtype.is_float:
        return y
    low, high = (int(v) for v in (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max))
    return cast(y.apply(Round()).clip(low, high), dtype)


def _sampled(y: Tensor, a: Axis, at: Array, outside: Array, style: ResizeStyle) -> Tensor:
    """At these positions; what lies outside is 0."""
    y.builder.afford((a.out, 2 * _reach(a, style)))
    index, weights = _filter(a, at, style)
    weights = np.where(outside[:, None], 0, weights)
    used = np.any(weights != 0, axis=0) | (np.arange(weights.shape[1]) == 0)
    table = y.new(np.ascontiguousarray(index[:, used]).astype(np.int32), "positions")
    return y.apply(Resample(a.axis), table, y.like(weights[:, used]))


def _changed(axes: list[Axis], style: ResizeStyle) -> list[Axis]:
    """The axes that are not a copy. A result of the same shape is one for ONNX Runtime, and with antialias,
    but for what lies outside, each axis of the same length; nor does it crop an axis whose scale is 1."""
    if style.single and all(a.out == a.size for a in axes):
        return []
    same = Axis(0, 1, 1, 1.0)
    return [
        a
        for a in axes
        if a.out != a.size
        or abs(a.scale - 1) > 1e-9
        or (a.roi != same.roi and not style.single)
        or a.at is not None
    ]


def _nearest(x: Tensor, axes: list[Axis], style: ResizeStyle) -> Tensor:
    times = [1] * x.rank  # copies of each cell: all axes of an integer scale at once
    for a in axes:
        at = _positions(a, style)
        index = np.clip(_rounded(a, at, style), 0, a.size - 1).astype(np.int64)
        outside = _extrapolated(a, at, style)
        if not outside.any() and (copies := repetition(index, a.size)):
            times[a.axis] = copies
        else:
            x = _extrapolate(take(x, a.axis, index), a, outside, style)
    return repeat(x, times)


def _rounded(a: Axis, at: Array, style: ResizeStyle) -> Array:
    """The nearest cells of positions. A tie is one for ONNX Runtime within its tolerance, since positions are
    rounded themselves."""
    floor, ceil = np.floor(at), np.ceil(at)
    tie = np.abs(at - floor - 0.5) <= (_TIE if style.single else 0)
    match style.nearest:
        case "simple":
            return floor if a.scale >= 1 else ceil
        case "floor":
            return floor
        case "ceil":
            return ceil
        case "round_prefer_floor":
            return np.where(tie, floor, np.floor(at + 0.5))
        case "round_prefer_ceil":
            return np.where(tie, ceil, np.floor(at + 0.5))
    raise EdgeKitError("E0401", f"nearest_mode {style.nearest} is unknown")


def _positions(a: Axis, style: ResizeStyle) -> Array:
    """Where each result lies on the old axis."""
    if a.at is not None:
        return a.at
    real: type[Any] = np.float32 if style.single else np.float64
    i: Array = np.arange(a.out, dtype=real)
    scale, half = real(a.scale), real(0.5)
    length = scale * real(a.size) if style.fractional else real(a.out)
    at: Array
    match style.coordinates:
        case "half_pixel":
            at = (i + half) / scale - half
        case "tf_half_pixel_for_nn":  # of opset 11 alone
            at = (i + half) / scale
        case "pytorch_half_pixel":
            at = (i + half) / scale - half if length != 1 else np.zeros(a.out)
        case "half_pixel_symmetric":
            cut = real(a.size / 2) * (1 - real(a.out) / (scale * real(a.size)))
            wide = float(cut) + (i + half).astype(np.float64) / float(scale) - 0.5  # that runtime's, too
            at = wide.astype(real)
        case "align_corners":
            at = i * real(a.size - 1) / (length - 1) if length != 1 else np.zeros(a.out)
        case "asymmetric":
            at = i / scale
        case "tf_crop_and_resize":
            first, last = (r * (a.size - 1) for r in a.roi)
            middle = np.full(a.out, (first + last) / 2)
            at = first + i * (last - first) / (length - 1) if length != 1 else middle
        case other:
            raise EdgeKitError("E0401", f"coordinate_transformation_mode {other} is unknown")
    return at


def _shrink(a: Axis, style: ResizeStyle) -> float:
    return min(a.scale, 1.0) if style.antialias else 1.0


def _reach(a: Axis, style: ResizeStyle) -> int:
    """How many cells to each side a result is made of."""
    return math.ceil((1 if style.mode == "linear" else 2) / _shrink(a, style))


def _filter(a: Axis, at: Array, style: ResizeStyle) -> tuple[Array, Array]:
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


def _extrapolated(a: Axis, at: Array, style: ResizeStyle) -> Array:
    """Which results lie outside of the old axis, where that matters."""
    if style.coordinates != "tf_crop_and_resize":
        return np.zeros(len(at), np.bool_)
    return (at < 0) | (at > a.size - 1)


def _extrapolate(y: Tensor, a: Axis, outside: Array, style: ResizeStyle) -> Tensor:
    if not outside.any():
        return y
    mask = y.new(~outside.reshape([-1 if i == a.axis else 1 for i in range(y.rank)]), "inside")
    return where(mask, y, style.extrapolation)
