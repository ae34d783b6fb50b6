"""Poolings, wrapped in transposes to NHWC, which a pass removes again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from edgekit.converters.semantics.compose import reduce
from edgekit.converters.semantics.convolution import pads_of
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Abs, Pow
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.pool2d import ArgMaxPool2d, Pool2d

Ints = tuple[int, ...] | None


@dataclass(frozen=True)
class _Axis:
    """The window along one spatial dimension. `counted` are the padding cells that a mean may count."""

    size: int
    stride: int
    dilation: int
    pads: tuple[int, int]
    counted: tuple[int, int]
    out: int = field(default=1, compare=False)  # the length of the result


def _window(
    x: Tensor,
    kernel: Sequence[int],
    strides: Ints,
    pads: Ints,
    dilations: Ints,
    auto_pad: str,
    ceil_mode: int,
) -> list[_Axis]:
    """The windows with the padding at the end that `ceil_mode` asks for."""
    size = x.shape[2:]
    n = len(size)
    if not n or len(kernel) != n or sum(k > 1 for k in kernel) > 3:
        raise EdgeKitError("E0205", f"pooling of {x.type} with a window of {len(kernel)} dimensions")
    strides, dilations = strides or (1,) * n, dilations or (1,) * n
    if min((*kernel, *strides, *dilations), default=1) < 1 or not len(strides) == len(dilations) == n:
        raise EdgeKitError(
            "E0401", f"a window {list(kernel)} with strides {list(strides)} and dilations {list(dilations)}"
        )
    given = pads_of(auto_pad, pads, size, kernel, strides, dilations)
    if len(given) != 2 * n:
        raise EdgeKitError("E0401", f"pads {list(given)[:8]} should be two for each of {n} dimensions")
    axes = []
    for i in range(n):
        begin, end = given[i], given[i + n]
        reach = (kernel[i] - 1) * dilations[i] + 1
        steps = size[i] + begin + end - reach
        # A window that reaches beyond the end is one by C's division, as ONNX's shape inference has it.
        out = (-(-steps // strides[i]) if ceil_mode or steps < 0 else steps // strides[i]) + 1
        if out < 0:
            message = f"a window of {reach} does not fit into {size[i] + begin + end} padded cells"
            raise EdgeKitError("E0401", message)
        if ceil_mode and (out - 1) * strides[i] >= size[i] + begin:
            out -= 1  # the last window would start in the padding
        last = max((out - 1) * strides[i] + reach - size[i] - begin, 0)
        axes.append(_Axis(kernel[i], strides[i], dilations[i], (begin, last), (begin, end), out))
    return axes


_NONE = _Axis(1, 1, 1, (0, 0), (0, 0))


def _op(kind: str, h: _Axis, w: _Axis, counts: bool = False) -> Pool2d:
    return Pool2d(
        kind,
        (h.size, w.size),
        (h.stride, w.stride),
        (h.pads[0], w.pads[0], h.pads[1], w.pads[1]),
        (h.dilation, w.dilation),
        (h.counted[0], w.counted[0], h.counted[1], w.counted[1]) if counts else (0, 0, 0, 0),
    )


def _applied(x: Tensor, op: Pool2d) -> Tensor:
    return x.apply(op.fitted(*x.shape[1:3]))


def _pool(x: Tensor, kind: str, axes: Sequence[_Axis], counts: bool = False) -> Tensor:
    """Pool an N C ... tensor."""
    if not all(a.out for a in axes):
        return x.new(np.zeros((*x.shape[:2], *(a.out for a in axes)), x.dtype.numpy))
    if len(axes) > 3:
        return _pool_idle(x, kind, axes, counts)
    match axes:
        case [w]:
            flat = x.reshape(*x.shape[:2], 1, x.shape[2])
            y = _pool(flat, kind, [_NONE, w], counts)
            return y.reshape(*y.shape[:2], y.shape[3])
        case [h, w]:
            return _applied(x.to_nhwc(), _op(kind, h, w, counts)).to_nchw()
        case _:
            # A maximum of maxima, a sum of sums, and a mean of means of equal counts are what they should be.
            d, h, w = axes
            n, depth, height, width, channels = (cells := x.to_nhwc()).shape
            planes = cells.reshape(n * depth, height, width, channels)
            planes = _applied(planes, _op(kind, h, w, counts))
            height, width = planes.shape[1:3]
            planes = planes.reshape(n, depth, height * width, channels)
            y = _applied(planes, _op(kind, d, _NONE, counts))
            return y.reshape(n, y.shape[1], height, width, channels).to_nchw()


def _pool_idle(x: Tensor, kind: str, axes: Sequence[_Axis], counts: bool) -> Tensor:
    """JAX has windows over all dimensions: where one is a cell, the dimension is as good as a channel."""
    idle = [i + 2 for i, axis in enumerate(axes) if axis == _NONE]
    moving = [i + 2 for i, axis in enumerate(axes) if axis != _NONE]
    if len(moving) > 3:
        raise EdgeKitError("E0205", f"pooling of {x.type} over {len(moving)} dimensions")
    order = (0, 1, *idle, *moving)
    apart = x.transpose(*order)
    n, channels, *shape = apart.shape
    images = apart.reshape(n, channels * prod(shape[: len(idle)]), *shape[len(idle) :])
    y = _pool(images, kind, [axes[i - 2] for i in moving], counts) if moving else images
    y = y.reshape(n, channels, *shape[: len(idle)], *y.shape[2:])
    return y.transpose(*(order.index(i) for i in range(x.rank)))


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
    axes = _window(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    y = _pool(x, "max", axes)
    return (y,) if outputs == 1 else (y, _places(x, axes, storage_order))


def _places(x: Tensor, axes: Sequence[_Axis], storage_order: int) -> Tensor:
    """The second result of MaxPool: where in x each maximum is, as an index into x laid out flat."""
    if len(axes) > 3:
        raise EdgeKitError("E0205", "MaxPool with indices is supported over one to three dimensions")
    d, h, w = [_NONE, _NONE, *axes][-3:]
    n, channels, *size = x.shape
    if not all(a.out for a in axes):
        return x.new(np.zeros((n, channels, *(a.out for a in axes)), np.int64))
    depth, height, width = [1, 1, *size][-3:]
    steps = (1, depth, depth * height) if storage_order else (height * width, width, 1)
    # The first maximum of each plane, with the planes as channels; then the first plane that has the maximum.
    planes = x.reshape(n * channels, depth, height, width)
    within = _argmax(planes, h, w, (depth * height * width, steps[1], steps[2], steps[0]))
    *_, height, width = within.shape
    if d != _NONE:
        highest = _pool(planes, "max", [h, w]).reshape(n * channels, 1, depth, height * width)
        plane = _argmax(highest, d, _NONE, (0, 1, 0, 0))
        within = within.apply(Gather(1), plane.reshape(n * channels, plane.shape[2], height, width))
    return within.reshape(n, channels, *within.shape[4 - len(size) :])


def _argmax(x: Tensor, h: _Axis, w: _Axis, steps: tuple[int, int, int, int]) -> Tensor:
    """Where in windows over N C H W the first maxima are: the index of each times `steps` of n, h, w, c."""
    pool = _op("max", h, w)
    op = ArgMaxPool2d(pool.size, steps, pool.strides, pool.pads, pool.dilations)
    return x.to_nhwc().apply(op.fitted(*x.shape[2:])).to_nchw()


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
    axes = _window(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    return _pool(x, "mean", axes, bool(count_include_pad))


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
    axes = _window(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    return _root(_pool(_power(x, p), "sum", axes), p)


def GlobalAveragePool(x: Tensor) -> Tensor:
    return _global(x, "mean")


def _global(x: Tensor, kind: str) -> Tensor:
    return reduce(x.to_nhwc(), kind, range(1, x.rank - 1)).to_nchw()


def _power(x: Tensor, p: int) -> Tensor:
    return x * x if p == 2 else x.apply(Abs()).apply(Pow(), p)


def _root(x: Tensor, p: int) -> Tensor:
    return x.apply(Pow(), 1 / p)
