"""Reductions over dimensions, and poolings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from edgekit.converters.semantics import compose
from edgekit.converters.semantics.onnx import pool
from edgekit.converters.semantics.onnx.elementwise import Sqrt
from edgekit.converters.semantics.selected_rows import without_unused
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensorflow.layouts import Layout, window
from edgekit.core.errors import EdgeKitError

_Ints = Sequence[int]


def _reduction(kind: str) -> Callable[..., Tensor]:
    def handler(x: Tensor, axes: Tensor, *, keep_dims: bool = False) -> Tensor:
        along = axes.ints("the axes of a reduction")
        for axis in along:  # of rows that another operator selects
            x = without_unused(x, x.axis(axis), kind)
        return compose.reduce(x, kind, along, keep_dims) if along else x

    return handler


Sum = _reduction("sum")
Mean = _reduction("mean")
Max = Any = _reduction("max")
Min = All = _reduction("min")
Prod = _reduction("prod")


def EuclideanNorm(x: Tensor, axes: Tensor, *, keep_dims: bool = False) -> Tensor:
    return Sqrt(compose.reduce(x * x, "sum", axes.ints("the axes of a reduction"), keep_dims))


def MaxPool(
    x: Tensor,
    *,
    ksize: _Ints,
    strides: _Ints,
    padding: str,
    explicit_paddings: _Ints = (),
    data_format: str = "NHWC",
) -> Tensor:
    return _pooled("max", x, ksize, strides, padding, explicit_paddings, data_format)


def MaxPoolV2(
    x: Tensor, ksize: Tensor, strides: Tensor, *, padding: str, data_format: str = "NHWC"
) -> Tensor:
    size, steps = ksize.ints("the window of MaxPoolV2"), strides.ints("the strides of MaxPoolV2")
    return _pooled("max", x, size, steps, padding, (), data_format)


def AvgPool(x: Tensor, *, ksize: _Ints, strides: _Ints, padding: str, data_format: str = "NHWC") -> Tensor:
    return _pooled("mean", x, ksize, strides, padding, (), data_format)


def MaxPool3D(x: Tensor, *, ksize: _Ints, strides: _Ints, padding: str, data_format: str = "NDHWC") -> Tensor:
    return _pooled("max", x, ksize, strides, padding, (), data_format)


def AvgPool3D(x: Tensor, *, ksize: _Ints, strides: _Ints, padding: str, data_format: str = "NDHWC") -> Tensor:
    return _pooled("mean", x, ksize, strides, padding, (), data_format)


def _pooled(
    kind: str, x: Tensor, ksize: _Ints, strides: _Ints, padding: str, pads: _Ints, data_format: str
) -> Tensor:
    layout = Layout(data_format, x.rank)
    if len(ksize) != x.rank or min(ksize) < 1 or set(layout.beside(ksize)) != {1}:
        raise EdgeKitError("E0205", f"a window of {list(ksize)[:8]} is not supported")
    x, kernel = layout.first(x), layout.area(ksize)
    slide = window(layout, x.shape[2:], kernel, strides, padding, pads, (1,) * x.rank)
    steps, borders = tuple(slide.strides), tuple(slide.pads)
    if kind == "max":
        (y,) = pool.MaxPool(x, kernel_shape=kernel, strides=steps, pads=borders)
    else:
        y = pool.AveragePool(x, kernel_shape=kernel, strides=steps, pads=borders)
    return layout.back(y)
