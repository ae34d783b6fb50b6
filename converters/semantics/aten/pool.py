"""Poolings with windows, and adaptive ones, whose windows follow from the size of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod as _prod
from typing import Any

import numpy as np

from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.movement import part
from edgekit.converters.semantics.onnx import pool as _onnx
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.errors import EdgeKitError

_Ints = Sequence[int]


_MAX_PARTS = 4096


def _max_pools(n: int) -> Callable[..., Tensor]:
    def handler(
        x: Tensor,
        *,
        kernel_size: _Ints,
        stride: _Ints = (),
        padding: _Ints = (0,),
        dilation: _Ints = (1,),
        ceil_mode: bool = False,
    ) -> Tensor:
        return _max_pool(x, n, kernel_size, stride, padding, dilation, ceil_mode)

    return handler


max_pool1d, max_pool2d, max_pool3d = map(_max_pools, (1, 2, 3))


def max_pool2d_with_indices(
    x: Tensor,
    *,
    kernel_size: _Ints,
    stride: _Ints = (),
    padding: _Ints = (0,),
    dilation: _Ints = (1,),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The second result counts cells of one image; nothing is left of it where nothing reads it."""
    y = _max_pool(x, 2, kernel_size, stride, padding, dilation, ceil_mode)
    images = x if x.rank == 4 else x.reshape(1, *x.shape)
    n, channels, height, width = images.shape
    _, places = _onnx.MaxPool(
        images, outputs=2, **_settings(2, kernel_size, stride, padding, dilation, ceil_mode)
    )
    starts = places.like(np.arange(n * channels).reshape(n, channels, 1, 1) * height * width)
    return y, (places - starts).reshape(*y.shape)


def _adaptive_pools(n: int, kind: str) -> Callable[..., Tensor]:
    """Those of maxima have no places of the maxima."""
    return lambda x, *, output_size: _adaptive(x, n, output_size, kind)


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (
    _adaptive_pools(n, "mean") for n in (1, 2, 3)
)


adaptive_max_pool1d, adaptive_max_pool2d = (_adaptive_pools(n, "max") for n in (1, 2))


def _max_pool(
    x: Tensor, n: int, kernel: _Ints, stride: _Ints, padding: _Ints, dilation: _Ints, ceil_mode: bool
) -> Tensor:
    if x.rank == n + 1:
        y = _max_pool(x.reshape(1, *x.shape), n, kernel, stride, padding, dilation, ceil_mode)
        return y.reshape(*y.shape[1:])
    return _onnx.MaxPool(x, **_settings(n, kernel, stride, padding, dilation, ceil_mode))[0]


def _avg_pool(
    x: Tensor,
    n: int,
    kernel: _Ints,
    stride: _Ints,
    padding: _Ints,
    ceil_mode: bool,
    counts: bool,
    divisor: int | None,
) -> Tensor:
    if x.rank == n + 1:
        y = _avg_pool(x.reshape(1, *x.shape), n, kernel, stride, padding, ceil_mode, counts, divisor)
        return y.reshape(*y.shape[1:])
    settings = _settings(n, kernel, stride, padding, (1,), ceil_mode)
    if divisor is None:
        return _onnx.AveragePool(x, count_include_pad=int(counts), **settings)
    # A mean that counts every cell of the window, in whatever place, is the sum by another number.
    if ceil_mode:
        raise EdgeKitError("E0205", "a pooling with a divisor of its own that rounds up is not supported")
    y = _onnx.AveragePool(x, count_include_pad=1, **settings)
    return y * (_prod(_each(kernel, n)) / divisor)


def _settings(
    n: int, kernel: _Ints, stride: _Ints, padding: _Ints, dilation: _Ints, ceil_mode: bool
) -> dict[str, Any]:
    """The attributes of a pooling as ONNX has them."""
    pads = _each(padding, n)
    return {
        "kernel_shape": _each(kernel, n),
        "strides": _each(stride or kernel, n),
        "pads": (*pads, *pads),
        "dilations": _each(dilation, n),
        "ceil_mode": int(ceil_mode),
    }


def _adaptive(x: Tensor, n: int, output_size: _Ints, kind: str) -> Tensor:
    """Cell i covers floor(i size / out) to ceil((i + 1) size / out)."""
    axes = list(range(x.rank - n, x.rank))
    size, out = x.shape[x.rank - n :], _each(output_size, n)
    if min(out) < 1 or 0 in size:
        raise EdgeKitError("E0401", f"pooling of {x.type} to {list(output_size)[:8]}")
    if all(o == 1 for o in out):
        return _reduce(x, kind, axes)
    if not any(s % o for s, o in zip(size, out, strict=True)):
        kernel = [s // o for s, o in zip(size, out, strict=True)]
        if kind == "max":
            return _max_pool(x, n, kernel, (), (0,), (1,), False)
        return _avg_pool(x, n, kernel, (), (0,), False, True, None)
    for axis, cells in zip(axes, out, strict=True):
        x = _cells(x, axis, cells, kind)
    return x


def _cells(x: Tensor, axis: int, out: int, kind: str) -> Tensor:
    """One dimension in cells that may overlap: a mean of means over whole rows is a mean."""
    n = x.shape[axis]
    if n == out:
        return x
    if out > _MAX_PARTS:
        raise EdgeKitError("E0205", f"adaptive pooling to {out} cells is not supported")
    starts = [i * n // out for i in range(out)]
    ends = [-(-(i + 1) * n // out) for i in range(out)]
    parts = [part(x, axis, a, b - a) for a, b in zip(starts, ends, strict=True)]
    return concat([_reduce(p, kind, [axis]) for p in parts], axis)


def _each(values: _Ints, n: int) -> tuple[int, ...]:
    values = tuple(values)
    if len(values) not in (1, n):
        raise EdgeKitError("E0401", f"{list(values)[:8]} is for another count of dimensions than {n}")
    return values * n if len(values) == 1 else values
