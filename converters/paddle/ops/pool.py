"""Poolings with windows, over the whole image, and to a given size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edgekit.converters.paddle.arguments import Setting, as_came, channels_first, ints, padding
from edgekit.converters.semantics.aten import pool as _torch
from edgekit.converters.semantics.movement import cast as _cast
from edgekit.converters.semantics.onnx import pool as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

_Ints = Sequence[int]


def pool2d(
    x: Tensor,
    kernel_size: Setting = None,
    *,
    ksize: Setting = None,
    strides: _Ints = (1, 1),
    paddings: _Ints = (0, 0),
    ceil_mode: bool = False,
    exclusive: bool = True,
    data_format: str = "NCHW",
    pooling_type: str = "max",
    global_pooling: bool = False,
    adaptive: bool = False,
    padding_algorithm: str = "EXPLICIT",
) -> Tensor:
    """`exclusive` leaves padding out of means."""
    if pooling_type not in ("max", "avg"):
        raise EdgeKitError("E0203", f"pooling by {pooling_type[:20]} is not supported")
    images, last = channels_first(x, data_format)
    size = images.shape[2:]
    kernel = list(size) if global_pooling else ints(kernel_size if ksize is None else ksize, "a window")
    kernel = kernel * len(size) if len(kernel) == 1 else kernel
    if len(kernel) != len(size) or len(strides) != len(size):
        raise EdgeKitError("E0401", f"pooling of {images.type} with a window of {kernel[:8]}")
    if adaptive:
        return as_came(_adaptive(images, kernel, pooling_type), last)
    if global_pooling:
        strides, paddings, padding_algorithm, ceil_mode = kernel, (0,) * len(size), "EXPLICIT", False
    pads = _window(size, kernel, strides, paddings, padding_algorithm, ceil_mode)
    settings: dict[str, Any] = {
        "kernel_shape": tuple(kernel),
        "strides": tuple(strides),
        "pads": pads,
        "ceil_mode": int(ceil_mode),
    }
    if pooling_type == "max":
        y = _onnx.MaxPool(images, **settings)[0]
    else:
        y = _onnx.AveragePool(images, count_include_pad=int(not exclusive), **settings)
    return as_came(y, last)


def pool3d(
    x: Tensor,
    kernel_size: Setting = None,
    *,
    ksize: Setting = None,
    strides: _Ints = (1, 1, 1),
    paddings: _Ints = (0, 0, 0),
    ceil_mode: bool = False,
    exclusive: bool = True,
    data_format: str = "NCDHW",
    pooling_type: str = "max",
    global_pooling: bool = False,
    adaptive: bool = False,
    padding_algorithm: str = "EXPLICIT",
) -> Tensor:
    return pool2d(
        x,
        kernel_size,
        ksize=ksize,
        strides=strides,
        paddings=paddings,
        ceil_mode=ceil_mode,
        exclusive=exclusive,
        data_format=data_format,
        pooling_type=pooling_type,
        global_pooling=global_pooling,
        adaptive=adaptive,
        padding_algorithm=padding_algorithm,
    )


def max_pool2d_with_index(
    x: Tensor,
    *,
    kernel_size: Setting = None,
    ksize: Setting = None,
    strides: _Ints = (1, 1),
    paddings: _Ints = (0, 0),
    global_pooling: bool = False,
    adaptive: bool = False,
    ceil_mode: bool = False,
) -> tuple[Tensor, ...]:
    """The places of the maxima, within one channel, are there for windows of a fixed size."""
    kernel = (
        list(x.shape[2:]) if global_pooling else ints(kernel_size if ksize is None else ksize, "a window")
    )
    if adaptive:
        return (_adaptive(x, kernel, "max"),)
    if global_pooling:
        strides, paddings = kernel, (0,) * len(kernel)
    y, places = _torch.max_pool2d_with_indices(
        x, kernel_size=kernel, stride=strides, padding=paddings, ceil_mode=ceil_mode
    )
    return y, _cast(places, DType.S32)


def _window(
    size: _Ints, kernel: _Ints, strides: _Ints, paddings: _Ints, algorithm: str, ceil_mode: bool
) -> tuple[int, ...]:
    """The padding: begins, then ends. Where sizes are rounded up, the last window may reach over the end."""
    n = len(size)
    if min(kernel, default=1) < 1 or min(strides, default=1) < 1:
        raise EdgeKitError("E0401", f"a window of {list(kernel)} with strides {list(strides)}")
    pads = padding(size, kernel, strides, paddings, algorithm)
    for i, (cells, k, s) in enumerate(zip(size, kernel, strides, strict=True)):
        if ceil_mode and -(-(cells + pads[i] + pads[i + n] - k) // s) * s >= cells + pads[i]:
            raise EdgeKitError("E0205", f"the last window, {k} with stride {s} on {cells} cells, is empty")
    return pads


def _adaptive(x: Tensor, out: _Ints, kind: str) -> Tensor:
    if len(out) == 3 and kind == "avg":
        return _torch.adaptive_avg_pool3d(x, output_size=out)
    if len(out) != 2:
        raise EdgeKitError("E0205", f"adaptive pooling of {x.type} to {list(out)[:8]}")
    pool = _torch.adaptive_avg_pool2d if kind == "avg" else _torch.adaptive_max_pool2d
    y = pool(x, output_size=out)
    return y.reshape(*x.shape[:2], *out)
