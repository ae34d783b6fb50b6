"""Poolings, and images of other sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod as _prod

import numpy as np

from edgekit.converters.openvino.attributes import Ints as _Ints
from edgekit.converters.openvino.attributes import padding as _padding
from edgekit.converters.semantics.aten import pool as _torch
from edgekit.converters.semantics.movement import cast as _cast
from edgekit.converters.semantics.movement import pad as _pad
from edgekit.converters.semantics.onnx import pool as _onnx
from edgekit.converters.semantics.onnx.images import GridSample as _GridSample
from edgekit.converters.semantics.onnx.resize import Axis as _Axis
from edgekit.converters.semantics.onnx.resize import ResizeStyle as _Style
from edgekit.converters.semantics.onnx.resize import resize as _resize
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

_ROUNDINGS = {"floor": 0, "ceil": 1, "ceil_torch": 1}


def MaxPool(
    x: Tensor,
    *,
    kernel: _Ints,
    strides: _Ints,
    pads_begin: _Ints,
    pads_end: _Ints,
    dilations: _Ints = (),
    auto_pad: str = "explicit",
    rounding_type: str = "floor",
    axis: int = 0,
    index_element_type: DType = DType.S64,
    outputs: int = 1,
) -> tuple[Tensor, ...]:
    """The second result, since operator set 8, is where each maximum is: in the whole tensor, or in what lies
    from an axis on."""
    made = _onnx.MaxPool(
        x,
        kernel_shape=tuple(kernel),
        strides=tuple(strides),
        pads=(*pads_begin, *pads_end),
        dilations=tuple(dilations) or None,
        auto_pad=_padding(auto_pad),
        ceil_mode=_rounds_up(x, kernel, strides, (*pads_begin, *pads_end), rounding_type),
        outputs=outputs,
    )
    if outputs == 1:
        return made
    y, places = made
    outer = x.shape[: x.axis(axis)]
    starts = np.arange(_prod(outer)) * _prod(x.shape[len(outer) :])
    places = places - places.like(starts.reshape(*outer, *(1,) * (x.rank - len(outer))))
    return y, _cast(places, index_element_type)


def AvgPool(
    x: Tensor,
    *,
    kernel: _Ints,
    strides: _Ints,
    pads_begin: _Ints,
    pads_end: _Ints,
    exclude_pad: bool,
    auto_pad: str = "explicit",
    rounding_type: str = "floor",
) -> Tensor:
    return _onnx.AveragePool(
        x,
        kernel_shape=tuple(kernel),
        strides=tuple(strides),
        pads=(*pads_begin, *pads_end),
        auto_pad=_padding(auto_pad),
        ceil_mode=_rounds_up(x, kernel, strides, (*pads_begin, *pads_end), rounding_type),
        count_include_pad=int(not exclude_pad),
    )


def AdaptiveAvgPool(x: Tensor, size: Tensor) -> Tensor:
    return _adaptive(x, size, (_torch.adaptive_avg_pool1d, _torch.adaptive_avg_pool2d))


def AdaptiveMaxPool(x: Tensor, size: Tensor, *, index_element_type: DType = DType.S64) -> Tensor:
    """Without the places of the maxima."""
    return _adaptive(x, size, (_torch.adaptive_max_pool1d, _torch.adaptive_max_pool2d))


def Interpolate(
    x: Tensor,
    first: Tensor,
    second: Tensor | None = None,
    third: Tensor | None = None,
    *,
    mode: str,
    shape_calculation_mode: str = "sizes",
    coordinate_transformation_mode: str = "half_pixel",
    nearest_mode: str = "round_prefer_floor",
    antialias: bool = False,
    pads_begin: _Ints = (),
    pads_end: _Ints = (),
    cube_coeff: float = -0.75,
    axes: _Ints = (),
    align_corners: bool = True,
    opset: int,
) -> Tensor:
    """Sizes or scales are one operand since operator set 11, and one each before; the first set has sizes,
    and axes as an attribute."""
    x = _bordered(x, pads_begin, pads_end)
    if opset < 4:
        coordinates = "align_corners" if align_corners else "asymmetric"
        return _interpolated(
            x, _axes_to(x, axes, first), _style(mode, coordinates, "simple", antialias, -0.75)
        )
    sizes, scales, along = (first, first, second) if opset >= 11 else (first, second, third)
    chosen = range(x.rank) if along is None else along.ints("the axes of Interpolate")
    style = _style(mode, coordinate_transformation_mode, nearest_mode, antialias, cube_coeff)
    if shape_calculation_mode == "sizes":
        return _interpolated(x, _axes_to(x, chosen, sizes), style)
    assert scales is not None, "the operator has scales"
    return _interpolated(x, _axes_by(x, chosen, scales), style)


def GridSample(x: Tensor, grid: Tensor, *, align_corners: bool, mode: str, padding_mode: str) -> Tensor:
    return _GridSample(x, grid, align_corners=int(align_corners), mode=mode, padding_mode=padding_mode)


def _rounds_up(x: Tensor, kernel: _Ints, strides: _Ints, pads: _Ints, rounding: str) -> int:
    """Does a pooling round the size of its result up, as ONNX says it? There a window that would begin in the
    padding is left out; one kind of OpenVINO's keeps it."""
    if rounding not in _ROUNDINGS:
        raise EdgeKitError("E0401", f"rounding by {rounding[:20]!r}")
    for i, (n, k, s) in enumerate(zip(x.shape[2:], kernel, strides, strict=True)):
        before, after = pads[i], pads[i + len(kernel)]
        last = -(-(n + before + after - k) // s) * s
        if rounding == "ceil" and last >= n + before:
            raise EdgeKitError("E0205", "a pooling whose last window begins in the padding is not supported")
    return _ROUNDINGS[rounding]


def _adaptive(x: Tensor, size: Tensor, pools: Sequence[Callable[..., Tensor]]) -> Tensor:
    wanted = size.ints("the size of an adaptive pooling")
    if not 1 <= len(wanted) <= len(pools) or x.rank != len(wanted) + 2:
        raise EdgeKitError("E0205", f"adaptive pooling of {x.type} to {list(wanted)[:8]}")
    return pools[len(wanted) - 1](x, output_size=wanted)


def _bordered(x: Tensor, before: _Ints, after: _Ints) -> Tensor:
    """Zeros around x."""
    begins, ends = (tuple(p) + (0,) * (x.rank - len(p)) for p in (before, after))
    return _pad(x, begins, ends, "constant")


def _style(mode: str, coordinates: str, nearest: str, antialias: bool, cubic: float) -> _Style:
    if antialias:
        raise EdgeKitError("E0205", "Interpolate with antialias by another mode than Pillow's")
    match mode:
        case "nearest" | "cubic":
            return _Style(mode, coordinates, nearest, cubic)
        case "linear" | "linear_onnx":
            return _Style("linear", coordinates, nearest, exclude_outside=mode == "linear")
        case "bilinear_pillow" | "bicubic_pillow":  # with antialias in any case
            kind = "linear" if mode == "bilinear_pillow" else "cubic"
            return _Style(kind, "half_pixel", nearest, -0.5, antialias=True, exclude_outside=True)
    raise EdgeKitError("E0205", f"Interpolate by {mode[:20]} is not supported")


def _axes_to(x: Tensor, axes: Sequence[int], sizes: Tensor) -> list[_Axis]:
    """Axes that get these lengths."""
    wanted = sizes.ints("the sizes of Interpolate")
    _check_count(axes, wanted)
    pairs = zip((x.axis(a) for a in axes), wanted, strict=True)
    return [_Axis(a, x.shape[a], n, n / max(x.shape[a], 1)) for a, n in pairs]


def _axes_by(x: Tensor, axes: Sequence[int], scales: Tensor) -> list[_Axis]:
    """Axes that grow by these factors."""
    factors = scales.constant("the scales of Interpolate").astype(np.float64).reshape(-1).tolist()
    _check_count(axes, factors)
    pairs = [(x.axis(a), f) for a, f in zip(axes, factors, strict=True)]
    return [_Axis(a, x.shape[a], int(x.shape[a] * f + 1e-6), f) for a, f in pairs]


def _interpolated(x: Tensor, axes: list[_Axis], style: _Style) -> Tensor:
    if not all(a.size and 0 < a.out < 1 << 31 and a.scale > 0 for a in axes):
        raise EdgeKitError("E0401", f"Interpolate of {x.type} to {[a.out for a in axes][:8]}")
    return _resize(x, axes, style)


def _check_count(axes: Sequence[int], given: Sequence[float]) -> None:
    if len(axes) != len(given):
        raise EdgeKitError("E0401", f"{len(given)} sizes for {len(axes)} axes")
