"""Resize and Upsample: separable, so one axis after the other, with tables of positions and weights."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.onnx.resize import Axis, ResizeStyle, resize
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError

_SIMPLE = "simple"  # the cell before, or after where the size shrinks


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
    reference: bool,
) -> Tensor:
    if opset < 11:  # the second input was the scales then
        assert roi is not None
        return Upsample(x, roi, mode=mode)
    along = [x.axis(a) for a in axes] if axes is not None else list(range(x.rank))
    style = ResizeStyle(
        mode,
        coordinate_transformation_mode,
        nearest_mode,
        cubic_coeff_a,
        bool(antialias),
        bool(exclude_outside),
        extrapolation_value,
        single=not reference,
        fractional=reference,
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
    """Positions are i / scale, and the nearest cell is as in ONNX Runtime: the specification of these old
    operators leaves it open."""
    given = (
        factors.constant("the scales of Upsample").astype(np.float64).tolist()
        if factors is not None
        else scales
    )
    if len(given) != x.rank:
        raise EdgeKitError("E0401", f"Upsample has {len(given)} scales for {x.type}")
    if min(given, default=1) <= 0:
        raise EdgeKitError("E0401", f"Upsample by {list(given)[:8]} makes no sense")
    axes = [Axis(a, n, _scaled(n, f), f) for a, (n, f) in enumerate(zip(x.shape, given, strict=True))]
    return resize(x, axes, ResizeStyle(mode, "asymmetric", _SIMPLE, single=True))


def _sizes(
    x: Tensor, along: list[int], scales: Tensor | None, sizes: Tensor | None, policy: str
) -> tuple[list[float], list[int]]:
    """The scale and the new size of each axis."""
    old = [x.shape[a] for a in along]
    if scales is not None and scales.type.size:
        factors = scales.constant("the scales of Resize").astype(np.float64).tolist()
        if len(factors) != len(along) or min(factors, default=1) <= 0:
            raise EdgeKitError("E0401", f"Resize by {factors} does not fit {len(along)} axes")
        return factors, [_scaled(n, f) for n, f in zip(old, factors, strict=True)]
    new = list(sizes.ints("the sizes of Resize")) if sizes is not None else []
    if len(new) != len(along) or 0 in old:
        raise EdgeKitError("E0401", f"Resize of {x.type} to {new} makes no sense")
    factors = [m / n for m, n in zip(new, old, strict=True)]
    if policy == "stretch":
        return factors, new
    scale = min(factors) if policy == "not_larger" else max(factors)
    return [scale] * len(along), [int(scale * n + 0.5) for n in old]


def _scaled(size: int, scale: float) -> int:
    """The length of a result, from a product in float32 as in onnx's shape inference: 10 * 0.7 is 7."""
    length = np.float32(size) * np.float32(scale)
    if not 0 <= length < 2**31:
        raise EdgeKitError("E0401", f"Resize of {size} cells by {scale:g} makes no sense")
    return int(length)
