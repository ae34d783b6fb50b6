"""Convolutions, full layers, products of matrices, norms and recurrent layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from edgekit.converters.semantics.aten import normalize as _torch
from edgekit.converters.semantics.aten import recurrent as _recurrent
from edgekit.converters.semantics.compose import dense as _dense
from edgekit.converters.semantics.compose import matmul as _matmul
from edgekit.converters.semantics.convolution import SlidingWindow as _Sliding
from edgekit.converters.semantics.convolution import check_rank as _check_rank
from edgekit.converters.semantics.convolution import conv as _conv
from edgekit.converters.semantics.convolution import halves as _halves
from edgekit.converters.semantics.convolution import pads_of as _pads_of
from edgekit.converters.semantics.movement import part as _part
from edgekit.converters.semantics.movement import transposed as _transposed
from edgekit.converters.semantics.onnx.conv import ConvTranspose as _ConvTranspose
from edgekit.converters.semantics.onnx.normalize import LRN as _LRN
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError

_Ints = Sequence[int]


def Conv2D(
    x: Tensor,
    w: Tensor,
    *,
    pad_mode: str = "valid",
    pad_list: _Ints = (0, 0, 0, 0),
    stride: _Ints = (1, 1),
    dilation: _Ints = (1, 1),
    group: int = 1,
    format: str = "NCHW",
) -> Tensor:
    _check_layout(format)
    _check_rank(x, w)
    strides, holes = _area(stride), _area(dilation)
    pads = _padding(pad_mode, pad_list, x.shape[2:], w.shape[2:], strides, holes)
    return _conv(x, w, None, _Sliding(strides, holes, pads), group)


def Conv2DTranspose(
    x: Tensor,
    w: Tensor,
    input_size: _Ints,
    *,
    pad_mode: str = "valid",
    pad_list: _Ints = (0, 0, 0, 0),
    stride: _Ints = (1, 1),
    dilation: _Ints = (1, 1),
    group: int = 1,
    format: str = "NCHW",
) -> Tensor:
    """The gradient of a convolution, whose input had `input_size`."""
    _check_layout(format)
    _check_rank(x, w)
    strides, holes, size = _area(stride), _area(dilation), list(input_size)[2:]
    if pad_mode.lower() == "same":
        reach = [
            s * (n - 1) + (k - 1) * d + 1
            for s, n, k, d in zip(strides, x.shape[2:], w.shape[2:], holes, strict=True)
        ]
        totals = [max(r - n, 0) for r, n in zip(reach, size, strict=True)]
        pads = _halves(totals, more_at_end=True)
    else:
        pads = _padding(pad_mode, pad_list, size, w.shape[2:], strides, holes)
    least = [
        s * (n - 1) + (k - 1) * d + 1 - pads[i] - pads[i + 2]
        for i, (s, n, k, d) in enumerate(zip(strides, x.shape[2:], w.shape[2:], holes, strict=True))
    ]
    extra = tuple(n - m for n, m in zip(size, least, strict=True))
    if min(extra) < 0:
        raise EdgeKitError("E0401", f"a transposed convolution of {x.type} to {size[:8]}")
    return _ConvTranspose(
        x, w, dilations=holes, group=group, output_padding=extra, pads=pads, strides=strides
    )


Conv2DBackpropInput = Conv2DTranspose


def BiasAdd(x: Tensor, bias: Tensor, data_format: int | str = 0) -> Tensor:
    _check_layout(data_format)
    return x + bias.reshape(bias.type.size, *(1,) * (x.rank - 2))


def MatMul(x: Tensor, y: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    a = _transposed(x, transpose_a)
    if transpose_b and y.rank == 2 and y.data is not None and y.dtype.is_float:
        return _dense(a, y)
    return _matmul(a, _transposed(y, transpose_b))


BatchMatMul = MatMulExt = BatchMatMulExt = MatMul


def Dense(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    if w.data is not None and (b is None or b.data is not None):
        return _dense(x, w, b)
    y = _matmul(x, _transposed(w))
    return y if b is None else y + b


def BatchNorm(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    is_training: bool = False,
    epsilon: float = 1e-5,
    momentum: float = 0.1,
    data_format: int | str = 0,
) -> Tensor:
    """Without what only training reads; so are those below."""
    _check_layout(data_format)
    if is_training:
        hint = "call set_train(False) before export"
        raise EdgeKitError("E0205", "batch normalization in training mode is not supported", hint=hint)
    return _torch.batch_norm(x, weight=scale, bias=bias, running_mean=mean, running_var=variance, eps=epsilon)


BatchNormExt = BatchNorm


def LayerNorm(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    begin_norm_axis: int = 1,
    begin_params_axis: int = 1,
    epsilon: float = 1e-7,
) -> Tensor:
    shape = x.shape[x.axis(begin_norm_axis) :]
    return _torch.layer_norm(
        x, normalized_shape=shape, weight=gamma.reshape(*shape), bias=beta.reshape(*shape), eps=epsilon
    )


def LayerNormExt(
    x: Tensor,
    normalized_shape: _Ints,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    return _torch.layer_norm(x, normalized_shape=normalized_shape, weight=weight, bias=bias, eps=eps)


def GroupNorm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    return _torch.group_norm(x, num_groups=num_groups, weight=weight, bias=bias, eps=eps)


def LRN(
    x: Tensor,
    *,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
) -> Tensor:
    size = 2 * depth_radius + 1
    return _LRN(x, size=size, alpha=alpha * size, beta=beta, bias=bias)


def Dropout(x: Tensor, *, keep_prob: float = 0.5) -> Tensor:
    if keep_prob != 1:
        hint = "call set_train(False) before export"
        raise EdgeKitError("E0205", "dropout in training mode is not supported", hint=hint)
    return x


def LSTM(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    w: Tensor,
    *,
    input_size: int,
    hidden_size: int,
    num_layers: int = 1,
    has_bias: bool = True,
    bidirectional: bool = False,
    dropout: float = 0.0,
    proj_size: int = 0,
) -> tuple[Tensor, ...]:
    """All weights lie in one tensor, with one bias or two; the first dimension of x is time."""
    rows, count = 4 * hidden_size, 2 if bidirectional else 1
    biases = 0 if not has_bias else w.type.size // count // rows - input_size - hidden_size
    if num_layers != 1 or proj_size or w.type.size != count * rows * (input_size + hidden_size + biases):
        raise EdgeKitError("E0205", f"LSTM with weights {w.type} in {num_layers} layers is not supported")
    blocks = _blocks(
        w.reshape(w.type.size), [rows * input_size, rows * hidden_size, *[rows] * biases] * count
    )
    params: list[Tensor] = []
    for _ in range(count):
        params += (next(blocks).reshape(rows, input_size), next(blocks).reshape(rows, hidden_size))
        given = [next(blocks) for _ in range(biases)]
        params += [*given, *[x.like(np.zeros(rows))] * (2 - biases)]
    return _recurrent.lstm(
        x,
        hx=[h, c],
        params=params,
        has_biases=True,
        num_layers=1,
        dropout=0.0,
        train=False,
        bidirectional=bidirectional,
        batch_first=False,
    )


def _blocks(flat: Tensor, sizes: _Ints) -> Iterator[Tensor]:
    """Parts of a tensor, one behind the other."""
    at = 0
    for size in sizes:
        yield _part(flat, 0, at, size)
        at += size


def _padding(
    mode: str, pads: _Ints, size: _Ints, kernel: _Ints, strides: _Ints, holes: _Ints
) -> tuple[int, ...]:
    """Begins, then ends; the file has top, bottom, left, right."""
    match mode.lower():
        case "valid":
            return (0, 0, 0, 0)
        case "same":
            return _pads_of("SAME_UPPER", None, size, kernel, strides, holes)
        case "pad" if len(pads) == 4:
            top, bottom, left, right = pads
            return top, left, bottom, right
    raise EdgeKitError("E0401", f"padding {mode[:20]} {list(pads)[:8]}")


def _area(values: _Ints) -> tuple[int, ...]:
    """A setting of height and width, which may stand behind those of batch and channels."""
    if len(values) not in (2, 4):
        raise EdgeKitError("E0401", f"{list(values)[:8]} is for another count of dimensions than 2")
    return tuple(values[-2:])


def _check_layout(layout: int | str) -> None:
    if layout not in (0, "NCHW", "DefaultFormat"):
        raise EdgeKitError("E0203", f"the layout {str(layout)[:20]} is not supported", hint="export as NCHW")
