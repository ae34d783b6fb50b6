"""Convolutions, full layers and products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as _prod

from edgekit.converters.paddle.arguments import (
    Setting,
    Tensors,
    as_came,
    channels_first,
    ints,
    padding,
    several,
)
from edgekit.converters.semantics.aten import linear as _torch
from edgekit.converters.semantics.compose import dense as _dense
from edgekit.converters.semantics.compose import matmul as _matmul
from edgekit.converters.semantics.convolution import SlidingWindow as _Sliding
from edgekit.converters.semantics.convolution import check_rank as _check_rank
from edgekit.converters.semantics.convolution import conv as _conv
from edgekit.converters.semantics.einsum import einsum as _einsum
from edgekit.converters.semantics.movement import transposed as _transposed
from edgekit.converters.semantics.onnx.conv import ConvTranspose as _ConvTranspose
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError

_Ints = Sequence[int]


def conv2d(
    input: Tensor,
    filter: Tensor,
    bias: Tensor | None = None,
    *,
    strides: _Ints = (1, 1),
    paddings: _Ints = (0, 0),
    padding_algorithm: str = "EXPLICIT",
    dilations: _Ints = (1, 1),
    groups: int = 1,
    data_format: str = "NCHW",
) -> Tensor:
    x, last = channels_first(input, data_format)
    _check_rank(x, filter)
    pads = padding(x.shape[2:], filter.shape[2:], strides, paddings, padding_algorithm)
    # Paddle leaves holes out where it chooses the padding itself.
    holes = dilations if padding_algorithm != "SAME" else [1] * len(strides)
    return as_came(_conv(x, filter, bias, _Sliding(strides, holes, pads), groups), last)


depthwise_conv2d = conv2d


def conv3d(
    input: Tensor,
    filter: Tensor,
    bias: Tensor | None = None,
    *,
    strides: _Ints = (1, 1, 1),
    paddings: _Ints = (0, 0, 0),
    padding_algorithm: str = "EXPLICIT",
    dilations: _Ints = (1, 1, 1),
    groups: int = 1,
    data_format: str = "NCDHW",
) -> Tensor:
    return conv2d(
        input,
        filter,
        bias,
        strides=strides,
        paddings=paddings,
        padding_algorithm=padding_algorithm,
        dilations=dilations,
        groups=groups,
        data_format=data_format,
    )


def conv2d_transpose(
    input: Tensor,
    filter: Tensor,
    output_size: Setting = None,
    bias: Tensor | None = None,
    *,
    strides: _Ints = (1, 1),
    paddings: _Ints = (0, 0),
    output_padding: _Ints = (),
    padding_algorithm: str = "EXPLICIT",
    groups: int = 1,
    dilations: _Ints = (1, 1),
    data_format: str = "NCHW",
) -> Tensor:
    x, last = channels_first(input, data_format)
    _check_rank(x, filter)
    n = len(strides)
    pads = padding(x.shape[2:], filter.shape[2:], strides, paddings, padding_algorithm)
    extra = list(output_padding) or [0] * n
    wanted = ints(output_size, "the size of a transposed convolution")
    if wanted:
        least = [
            (size - 1) * s - pads[i] - pads[i + n] + (k - 1) * d + 1
            for i, (size, s, k, d) in enumerate(
                zip(x.shape[2:], strides, filter.shape[2:], dilations, strict=True)
            )
        ]
        extra = [w - m for w, m in zip(wanted, least, strict=True)]
    if any(not 0 <= e < s for e, s in zip(extra, strides, strict=True)):
        raise EdgeKitError("E0401", f"a transposed convolution to {wanted} with strides {list(strides)}")
    y = _ConvTranspose(
        x,
        filter,
        bias,
        dilations=tuple(dilations),
        group=groups,
        output_padding=tuple(extra),
        pads=tuple(pads),
        strides=tuple(strides),
    )
    return as_came(y, last)


depthwise_conv2d_transpose = conv2d_transpose


def matmul(
    x: Tensor, y: Tensor, *, transpose_x: bool = False, transpose_y: bool = False, alpha: float = 1.0
) -> Tensor:
    """`alpha` is of older programs only."""
    a, b = _transposed(x, transpose_x), _transposed(y, transpose_y)
    product = _matmul(a, b)
    return product if alpha == 1 else product * alpha


def matmul_v2(x: Tensor, y: Tensor, *, trans_x: bool = False, trans_y: bool = False) -> Tensor:
    return matmul(x, y, transpose_x=trans_x, transpose_y=trans_y)


def mul(x: Tensor, y: Tensor, *, x_num_col_dims: int = 1, y_num_col_dims: int = 1) -> Tensor:
    """Older full layers: dimensions before a place are the rows of a matrix, those behind its columns."""
    rows, columns = x.shape[:x_num_col_dims], y.shape[y_num_col_dims:]
    a = x.reshape(*rows, _prod(x.shape[x_num_col_dims:]))
    b = y.reshape(_prod(y.shape[:y_num_col_dims]), _prod(columns))
    return _matmul(a, b).reshape(*rows, *columns)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.rank == 2 and weight.data is not None and (bias is None or bias.data is not None):
        return _dense(x, weight.transpose(1, 0), bias)
    y = _matmul(x, weight)
    return y if bias is None else y + bias


def bmm(x: Tensor, y: Tensor) -> Tensor:
    return _matmul(x, y)


mv = dot = bmm


def addmm(input: Tensor, x: Tensor, y: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    return _torch.addmm(input, mat1=x, mat2=y, beta=beta, alpha=alpha)


def einsum(operands: Tensors, *, equation: str) -> Tensor:
    """Without what it keeps for training."""
    return _einsum(equation, several(operands))
