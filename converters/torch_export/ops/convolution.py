"""Convolutions and transposed ones."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.converters.semantics import convolution as _shared
from edgekit.converters.semantics.convolution import SlidingWindow, check_rank, pads_of
from edgekit.converters.semantics.onnx.conv import ConvTranspose as _ConvTranspose
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError

_Ints = Sequence[int]


def convolution(
    x: Tensor,
    *,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = (1,),
    padding: _Ints | str = (0,),
    dilation: _Ints = (1,),
    transposed: bool = False,
    output_padding: _Ints = (0,),
    groups: int = 1,
) -> Tensor:
    n = weight.rank - 2
    if x.rank == n + 1:  # without a batch
        y = convolution(
            x.reshape(1, *x.shape),
            weight=weight,
            bias=bias,
            stride=stride,
            padding=padding,
            dilation=dilation,
            transposed=transposed,
            output_padding=output_padding,
            groups=groups,
        )
        return y.reshape(*y.shape[1:])
    check_rank(x, weight)
    strides, dilations = _each(stride, n), _each(dilation, n)
    if isinstance(padding, str):
        kinds = {"valid": "VALID", "same": "SAME_UPPER"}
        if padding not in kinds:
            raise EdgeKitError("E0401", f"padding {padding} is unknown")
        pads = pads_of(kinds[padding], None, x.shape[2:], weight.shape[2:], strides, dilations)
    else:
        pads = (*_each(padding, n), *_each(padding, n))
    if transposed:
        extra = _each(output_padding, n)
        return _ConvTranspose(
            x,
            weight,
            bias,
            dilations=dilations,
            group=groups,
            output_padding=extra,
            pads=pads,
            strides=strides,
        )
    return _shared.conv(x, weight, bias, SlidingWindow(strides, dilations, pads), groups)


def conv1d(
    x: Tensor,
    *,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = (1,),
    padding: _Ints | str = (0,),
    dilation: _Ints = (1,),
    groups: int = 1,
) -> Tensor:
    return convolution(
        x, weight=weight, bias=bias, stride=stride, padding=padding, dilation=dilation, groups=groups
    )


conv2d = conv3d = conv1d


def conv_transpose1d(
    x: Tensor,
    *,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = (1,),
    padding: _Ints = (0,),
    output_padding: _Ints = (0,),
    groups: int = 1,
    dilation: _Ints = (1,),
) -> Tensor:
    return convolution(
        x,
        weight=weight,
        bias=bias,
        stride=stride,
        padding=padding,
        dilation=dilation,
        transposed=True,
        output_padding=output_padding,
        groups=groups,
    )


conv_transpose2d = conv_transpose3d = conv_transpose1d


def _each(values: _Ints, n: int) -> tuple[int, ...]:
    """One number for each dimension, where one may stand for all."""
    values = tuple(values)
    if len(values) not in (1, n):
        raise EdgeKitError("E0401", f"{list(values)[:8]} is for another count of dimensions than {n}")
    return values * n if len(values) == 1 else values
