"""Poolings, wrapped in transposes to NHWC, which a pass removes again.

One dimension becomes two, three are pooled one after the other.
"""

from __future__ import annotations

from math import prod

import numpy as np

from edgekit.converters.semantics.movement import pad
from edgekit.converters.semantics.onnx import pool as shared
from edgekit.converters.semantics.onnx.pool import Ints, _global, _power, _root
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.scatter import Scatter


def MaxPool(
    x: Tensor,
    *,
    kernel_shape: tuple[int, ...],
    strides: Ints = None,
    pads: Ints = None,
    dilations: Ints = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    storage_order: int = 0,
    outputs: int = 1,
) -> tuple[Tensor, ...]:
    return shared.MaxPool(
        x,
        kernel_shape=kernel_shape,
        strides=strides,
        pads=pads,
        dilations=dilations,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
        storage_order=storage_order,
        outputs=outputs,
    )


def AveragePool(
    x: Tensor,
    *,
    kernel_shape: tuple[int, ...],
    strides: Ints = None,
    pads: Ints = None,
    dilations: Ints = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
) -> Tensor:
    return shared.AveragePool(
        x,
        kernel_shape=kernel_shape,
        strides=strides,
        pads=pads,
        dilations=dilations,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
    )


def LpPool(
    x: Tensor,
    *,
    kernel_shape: tuple[int, ...],
    p: int = 2,
    strides: Ints = None,
    pads: Ints = None,
    dilations: Ints = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
) -> Tensor:
    return shared.LpPool(
        x,
        kernel_shape=kernel_shape,
        p=p,
        strides=strides,
        pads=pads,
        dilations=dilations,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )


def MaxUnpool(
    x: Tensor,
    places: Tensor,
    output_shape: Tensor | None = None,
    *,
    kernel_shape: tuple[int, ...],
    strides: Ints = None,
    pads: Ints = None,
) -> Tensor:
    """The places are those in the smallest result that the window allows; more is added at the end."""
    n = x.rank - 2
    strides, pads = strides or (1,) * n, pads or (0,) * (2 * n)
    size = [
        (d - 1) * s - begin - end + k
        for d, s, begin, end, k in zip(x.shape[2:], strides, pads[:n], pads[n:], kernel_shape, strict=True)
    ]
    shape = (*x.shape[:2], *size)
    nothing = x.like(np.zeros(prod(shape)))
    y = nothing.apply(Scatter(0), places.reshape(x.type.size), x.reshape(x.type.size)).reshape(*shape)
    wanted = shape if output_shape is None else output_shape.ints("the output shape of MaxUnpool")
    return pad(y, (0,) * x.rank, [b - a for a, b in zip(shape, wanted, strict=True)], "constant")


def GlobalMaxPool(x: Tensor) -> Tensor:
    return _global(x, "max")


def GlobalLpPool(x: Tensor, *, p: int = 2) -> Tensor:
    return _root(_global(_power(x, p), "sum"), p)
