"""Convolutions and poolings over one, two and three dimensions, with channels last or first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

from edgekit.converters.keras.ops.activations import Named, _activated
from edgekit.converters.keras.ops.layers import _checked
from edgekit.converters.keras.weights import Weights
from edgekit.converters.semantics.compose import reduce
from edgekit.converters.semantics.convolution import SlidingWindow, conv, conv_transpose, pads_of
from edgekit.converters.semantics.movement import cast, where
from edgekit.converters.semantics.onnx import pool
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError

Ints = int | tuple[int, ...]
_LAST, _FIRST = "channels_last", "channels_first"


def Conv2D(
    x: Tensor,
    *,
    weights: Weights,
    filters: int,
    kernel_size: Ints,
    strides: Ints = 1,
    padding: str = "valid",
    data_format: str = _LAST,
    dilation_rate: Ints = 1,
    groups: int = 1,
    activation: Named = "linear",
    use_bias: bool = True,
) -> Tensor:
    kernel, *bias = _checked(weights, 2 if use_bias else 1)
    w = _weights(kernel)
    if w.shape[0] != filters:
        raise EdgeKitError("E0401", f"weights {kernel.type} do not make {filters} channels")
    cells = _to_first(x, data_format)
    slide = _sliding(cells, w, strides, padding, dilation_rate)
    y = conv(cells, w, bias[0] if bias else None, slide, groups)
    return _activated(_from_first(y, data_format), activation)


Conv1D = Conv3D = Conv2D


def DepthwiseConv2D(
    x: Tensor,
    *,
    weights: Weights,
    kernel_size: Ints,
    strides: Ints = 1,
    padding: str = "valid",
    depth_multiplier: int = 1,
    data_format: str = _LAST,
    dilation_rate: Ints = 1,
    activation: Named = "linear",
    use_bias: bool = True,
    filters: int = 0,
    groups: int = 1,
    rank: int = 2,
) -> Tensor:
    kernel, *bias = _checked(weights, 2 if use_bias else 1)
    cells = _to_first(x, data_format)
    y = _depthwise(cells, kernel, bias[0] if bias else None, strides, padding, dilation_rate)
    return _activated(_from_first(y, data_format), activation)


DepthwiseConv1D = DepthwiseConv2D


def SeparableConv2D(
    x: Tensor,
    *,
    weights: Weights,
    filters: int,
    kernel_size: Ints,
    strides: Ints = 1,
    padding: str = "valid",
    data_format: str = _LAST,
    dilation_rate: Ints = 1,
    depth_multiplier: int = 1,
    activation: Named = "linear",
    use_bias: bool = True,
    groups: int = 1,
    rank: int = 2,
) -> Tensor:
    """A convolution of each channel, then one over channels."""
    depthwise, pointwise, *bias = _checked(weights, 3 if use_bias else 2)
    cells = _depthwise(_to_first(x, data_format), depthwise, None, strides, padding, dilation_rate)
    w = _weights(pointwise)
    y = conv(cells, w, bias[0] if bias else None, _sliding(cells, w, 1, "valid", 1), 1)
    return _activated(_from_first(y, data_format), activation)


SeparableConv1D = SeparableConv2D


def Conv2DTranspose(
    x: Tensor,
    *,
    weights: Weights,
    filters: int,
    kernel_size: Ints,
    strides: Ints = 1,
    padding: str = "valid",
    output_padding: Ints | None = None,
    data_format: str = _LAST,
    dilation_rate: Ints = 1,
    activation: Named = "linear",
    use_bias: bool = True,
    groups: int = 1,
) -> Tensor:
    """The size of the result is the stride times that of x, and with `valid` what windows reach beyond."""
    kernel, *bias = _checked(weights, 2 if use_bias else 1)
    if padding not in ("valid", "same") or groups != 1 or output_padding is not None:
        message = f"Conv2DTranspose: {padding}, {groups} groups, padding of the output {output_padding}"
        raise EdgeKitError("E0203", f"{message} is not supported")
    cells = _to_first(x, data_format)
    n = cells.rank - 2
    # [h, w, O, I] to [O, I, h, w].
    w = kernel.transpose(n, n + 1, *range(n))
    steps, holes = _each(strides, n), _each(dilation_rate, n)
    reach = [max((k - 1) * d + 1 - s, 0) for k, s, d in zip(w.shape[2:], steps, holes, strict=True)]
    is_same = padding == "same"
    size = [m * s + (0 if is_same else r) for m, s, r in zip(cells.shape[2:], steps, reach, strict=True)]
    before = [r // 2 if is_same else 0 for r in reach]
    slide = SlidingWindow(steps, holes, (*before, *before))
    y = conv_transpose(cells, w, bias[0] if bias else None, slide, size, groups)
    return _activated(_from_first(y, data_format), activation)


Conv1DTranspose = Conv3DTranspose = Conv2DTranspose


def _pooling(is_max: bool) -> Callable[..., Tensor]:
    """A handler of poolings; a mean does not count what is padded."""

    def handler(
        x: Tensor,
        *,
        pool_size: Ints,
        strides: Ints | None = None,
        padding: str = "valid",
        data_format: str = _LAST,
    ) -> Tensor:
        cells = _to_first(x, data_format)
        n = cells.rank - 2
        kernel = _each(pool_size, n)
        kind: Callable[..., Tensor] = partial(_first, pool.MaxPool) if is_max else pool.AveragePool
        y = kind(
            cells,
            kernel_shape=kernel,
            strides=kernel if strides is None else _each(strides, n),
            auto_pad=_auto_pad(padding),
        )
        return _from_first(y, data_format)

    return handler


MaxPooling1D = MaxPooling2D = MaxPooling3D = _pooling(True)
AveragePooling1D = AveragePooling2D = AveragePooling3D = _pooling(False)


def GlobalAveragePooling1D(
    x: Tensor, *, data_format: str = _LAST, keepdims: bool = False, mask: Tensor | None = None
) -> Tensor:
    """Of the steps that count."""
    axis = 1 if _is_last(data_format) else 2
    if mask is None:
        return reduce(x, "mean", [axis], keepdims)
    mask = mask.reshape(*(n if i in (0, axis) else 1 for i, n in enumerate(x.shape)))
    total = reduce(where(mask, x, 0), "sum", [axis], keepdims)
    return total / reduce(cast(mask, x.dtype), "sum", [axis], keepdims)


def _global(kind: str) -> Callable[..., Tensor]:
    def handler(x: Tensor, *, data_format: str = _LAST, keepdims: bool = False) -> Tensor:
        axes = range(1, x.rank - 1) if _is_last(data_format) else range(2, x.rank)
        return reduce(x, kind, axes, keepdims)

    return handler


GlobalAveragePooling2D = GlobalAveragePooling3D = _global("mean")
GlobalMaxPooling1D = GlobalMaxPooling2D = GlobalMaxPooling3D = _global("max")


def _first(handler: Callable[..., tuple[Tensor, ...]], x: Tensor, **settings: object) -> Tensor:
    return handler(x, **settings)[0]


def _depthwise(
    x: Tensor, kernel: Tensor, b: Tensor | None, strides: Ints, padding: str, dilations: Ints
) -> Tensor:
    """By a kernel [h, w, channels, results of each]."""
    n = x.rank - 2
    channels = kernel.shape[n]
    w = kernel.transpose(n, n + 1, *range(n))
    w = w.reshape(prod(w.shape[:2]), 1, *w.shape[2:])
    return conv(x, w, b, _sliding(x, w, strides, padding, dilations), channels)


def _weights(kernel: Tensor) -> Tensor:
    """From [h, w, I, O] to [O, I, h, w]."""
    n = kernel.rank - 2
    return kernel.transpose(n + 1, n, *range(n))


def _sliding(x: Tensor, w: Tensor, strides: Ints, padding: str, dilations: Ints) -> SlidingWindow:
    n = x.rank - 2
    steps, holes, kernel = _each(strides, n), _each(dilations, n), w.shape[2:]
    if padding == "causal" and n == 1:
        return SlidingWindow(steps, holes, ((kernel[0] - 1) * holes[0], 0))
    return SlidingWindow(steps, holes, pads_of(_auto_pad(padding), None, x.shape[2:], kernel, steps, holes))


def _auto_pad(padding: str) -> str:
    names = {"valid": "VALID", "same": "SAME_UPPER"}
    if padding not in names:
        raise EdgeKitError("E0203", f"padding {padding} is not supported")
    return names[padding]


def _to_first(x: Tensor, data_format: str) -> Tensor:
    return x.to_nchw() if _is_last(data_format) else x


def _from_first(y: Tensor, data_format: str) -> Tensor:
    return y.to_nhwc() if _is_last(data_format) else y


def _is_last(data_format: str) -> bool:
    if data_format not in (_LAST, _FIRST):
        raise EdgeKitError("E0401", f"data_format {data_format} is unknown")
    return data_format == _LAST


def _each(values: Ints, n: int) -> tuple[int, ...]:
    found = (values,) * n if isinstance(values, int) else values
    if len(found) != n or min(found) < 1:
        raise EdgeKitError("E0401", f"{list(found)[:8]} is for another count of dimensions than {n}")
    return found
