"""Convolutions, products of matrices, attention and norms."""

from __future__ import annotations

from collections.abc import Callable
from math import prod as _prod

import numpy as np

from edgekit.converters.openvino.attributes import Ints as _Ints
from edgekit.converters.openvino.attributes import padding as _padding
from edgekit.converters.semantics.aten import normalize as _torch
from edgekit.converters.semantics.attention import Mask as _Mask
from edgekit.converters.semantics.attention import attend as _attend
from edgekit.converters.semantics.attention import causal as _causal
from edgekit.converters.semantics.compose import dense as _dense
from edgekit.converters.semantics.compose import matmul as _matmul
from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.compose import standardize as _standardize
from edgekit.converters.semantics.convolution import SlidingWindow as _Sliding
from edgekit.converters.semantics.convolution import conv as _conv
from edgekit.converters.semantics.convolution import sliding as _sliding
from edgekit.converters.semantics.einsum import einsum as _einsum
from edgekit.converters.semantics.movement import expand as _expand
from edgekit.converters.semantics.movement import transposed as _transposed
from edgekit.converters.semantics.onnx.conv import ConvTranspose as _ConvTranspose
from edgekit.converters.semantics.onnx.normalize import LRN as _LRN
from edgekit.converters.semantics.onnx.normalize import GroupNormalization as _GroupNormalization
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensor import scalar as _scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Sqrt as _Sqrt
from edgekit.core.types import DType

# Of a transposed convolution the side that gets more of an odd padding is the other one.
_SWAPPED = {"same_upper": "SAME_LOWER", "same_lower": "SAME_UPPER"}


def _convolutions(is_grouped: bool) -> Callable[..., Tensor]:
    """A handler. Weights of groups are [groups, outputs of each, inputs of each, ...]."""

    def handler(
        x: Tensor,
        w: Tensor,
        *,
        strides: _Ints,
        dilations: _Ints,
        pads_begin: _Ints,
        pads_end: _Ints,
        auto_pad: str = "explicit",
    ) -> Tensor:
        groups, w = _joined(w) if is_grouped else (1, w)
        slide = _sliding(x, w, _padding(auto_pad), dilations, (*pads_begin, *pads_end), strides)
        return _conv(x, w, None, slide, groups)

    return handler


def _transposed_convolutions(is_grouped: bool) -> Callable[..., Tensor]:
    """A handler. Weights are [inputs, outputs, ...], or [groups, inputs of each, outputs of each, ...].
    A size of the result that is given takes the place of padding, unless the file states that, too."""

    def handler(
        x: Tensor,
        w: Tensor,
        size: Tensor | None = None,
        *,
        strides: _Ints,
        dilations: _Ints,
        pads_begin: _Ints,
        pads_end: _Ints,
        auto_pad: str = "explicit",
        output_padding: _Ints = (),
    ) -> Tensor:
        groups, w = _joined(w) if is_grouped else (1, w)
        slide = _Sliding(strides, dilations, (*pads_begin, *pads_end))
        return _transposed_conv(x, w, size, groups, slide, auto_pad, output_padding)

    return handler


def _joined(w: Tensor) -> tuple[int, Tensor]:
    """The number of groups, and their weights as those of one layer."""
    groups, first, *rest = w.shape
    return groups, w.reshape(groups * first, *rest)


Convolution, GroupConvolution = map(_convolutions, (False, True))
ConvolutionBackpropData, GroupConvolutionBackpropData = map(_transposed_convolutions, (False, True))


def MatMul(a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    a = _transposed(a, transpose_a)
    if transpose_b and a.rank > 1 and b.rank == 2 and b.data is not None and b.dtype.is_float:
        return _dense(a, b)
    return _matmul(a, _transposed(b, transpose_b))


def Einsum(*xs: Tensor, equation: str) -> Tensor:
    return _einsum(equation, xs)


def ScaledDotProductAttention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    scale: Tensor | None = None,
    *,
    causal: bool = False,
) -> Tensor:
    """A mask of bools says which keys count, one of numbers is added to scores."""
    factor = q.shape[-1] ** -0.5 if scale is None else float(_scalar(scale, "the scale of attention"))
    lead, queries, keys = q.shape[:-2], q.shape[-2], k.shape[-2]
    q, k, v = (x.reshape(1, _prod(x.shape[:-2]), *x.shape[-2:]) for x in (q, k, v))
    if q.shape[1] != k.shape[1]:
        raise EdgeKitError("E0205", f"attention of {q.type} to {k.type} is not supported")
    if causal:
        at = q.new(np.arange(queries, dtype=np.int64).reshape(1, queries))
        seen = _Mask(allowed=_causal(at, q.new(np.arange(keys, dtype=np.int64))))
    elif mask is None or (mask.rank == 0 and mask.data is not None and not mask.data):
        seen = _Mask()
    else:
        wide = _expand(mask, (*lead, queries, keys)) if mask.rank != 2 and lead else mask
        wide = wide.reshape(1, *((_prod(lead), queries, keys) if wide is not mask else (1, *mask.shape)))
        seen = _Mask(allowed=wide) if mask.dtype is DType.BOOL else _Mask(bias=wide)
    return _attend(q, k, v, factor, seen).reshape(*lead, queries, v.shape[-1])


def BatchNormInference(
    a: Tensor, b: Tensor, c: Tensor, mean: Tensor, variance: Tensor, *, epsilon: float, opset: int
) -> Tensor:
    """The data came third until it came first, in operator set 5."""
    x, scale, offset = (a, b, c) if opset >= 5 else (c, a, b)
    return _torch.batch_norm(
        x, weight=scale, bias=offset, running_mean=mean, running_var=variance, eps=epsilon
    )


def GroupNormalization(x: Tensor, scale: Tensor, bias: Tensor, *, num_groups: int, epsilon: float) -> Tensor:
    return _GroupNormalization(x, scale, bias, num_groups=num_groups, epsilon=epsilon)


def MVN(
    x: Tensor,
    given: Tensor | None = None,
    *,
    eps: float,
    normalize_variance: bool = True,
    eps_mode: str = "inside_sqrt",
    across_channels: bool = False,
    reduction_axes: _Ints = (),
) -> Tensor:
    """Mean 0, and variance 1 if that is wanted. Axes are an operand since operator set 6."""
    axes = given.ints("the axes of MVN") if given is not None else reduction_axes
    axes = axes or range(1 if across_channels else 2, x.rank)
    if not normalize_variance:
        return x - _reduce(x, "mean", axes)
    if eps_mode.lower() == "inside_sqrt":
        return _standardize(x, axes, eps)[0]
    d = x - _reduce(x, "mean", axes)
    return d / (_reduce(d * d, "mean", axes).apply(_Sqrt()) + eps)


def NormalizeL2(x: Tensor, given: Tensor, *, eps: float, eps_mode: str) -> Tensor:
    """x by its length along some axes; without axes each element by its own."""
    axes = given.ints("the axes of NormalizeL2")
    square = _reduce(x * x, "sum", axes) if axes else x * x
    square = square.max(eps) if eps_mode == "max" else square + eps
    return x / square.apply(_Sqrt())


def LRN(x: Tensor, given: Tensor, *, alpha: float, beta: float, bias: float, size: int) -> Tensor:
    if tuple(x.axis(a) for a in given.ints("the axes of LRN")) != (1,):
        raise EdgeKitError("E0205", "LRN along other axes than channels is not supported")
    return _LRN(x, size=size, alpha=alpha, beta=beta, bias=bias)


def GRN(x: Tensor, *, bias: float) -> Tensor:
    return x / (_reduce(x * x, "sum", [1]) + bias).apply(_Sqrt())


def _transposed_conv(
    x: Tensor,
    w: Tensor,
    size: Tensor | None,
    groups: int,
    slide: _Sliding,
    auto_pad: str,
    output_padding: _Ints,
) -> Tensor:
    way = _SWAPPED.get(auto_pad.lower()) or _padding(auto_pad)
    extra = tuple(output_padding) or (0,) * (x.rank - 2)
    shape = None if size is None else size.ints("the size of a transposed convolution")
    if shape is not None and way == "NOTSET":
        along = [slide.along(i) for i in range(x.rank - 2)]
        least = [
            stride * (n - 1) + (k - 1) * dilation + 1 - sum(pads)
            for n, k, (stride, dilation, pads) in zip(x.shape[2:], w.shape[2:], along, strict=True)
        ]
        extra, shape = tuple(m - n for m, n in zip(shape, least, strict=True)), None
        if min(extra, default=0) < 0:
            raise EdgeKitError("E0205", f"a transposed convolution of {x.type} that cuts its result")
    return _ConvTranspose(
        x,
        w,
        auto_pad=way,
        dilations=tuple(slide.dilations),
        group=groups,
        output_padding=extra,
        output_shape=shape,
        pads=tuple(slide.pads) if way == "NOTSET" else None,
        strides=tuple(slide.strides),
    )
