"""Convolutions, products of matrices and norms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from edgekit.converters.semantics.compose import matmul, reduce
from edgekit.converters.semantics.convolution import conv, conv_transpose
from edgekit.converters.semantics.einsum import einsum
from edgekit.converters.semantics.movement import cast, transposed
from edgekit.converters.semantics.onnx import normalize
from edgekit.converters.semantics.onnx.elementwise import Sqrt
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensorflow.layouts import Layout, window
from edgekit.core.errors import EdgeKitError

_Ints = Sequence[int]


def _convolution(kind: str, arranged: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """A convolution of images, whose weights `arranged` puts into the order [outputs, inputs, H, W]."""

    def handler(
        x: Tensor,
        w: Tensor,
        *,
        strides: _Ints,
        padding: str,
        explicit_paddings: _Ints = (),
        data_format: str = "NHWC",
        dilations: _Ints = (1, 1, 1, 1),
    ) -> Tensor:
        layout = Layout(data_format, 4)
        _check_ranks(kind, x, w, 4)
        return _convolved(layout, x, arranged(w), strides, padding, explicit_paddings, dilations)

    return handler


def _depthwise(w: Tensor) -> Tensor:
    """Weights [H, W, C, M], which make M results of each channel."""
    height, width, channels, times = w.shape
    return w.transpose(2, 3, 0, 1).reshape(channels * times, 1, height, width)


Conv2D = _convolution("Conv2D", lambda w: w.transpose(3, 2, 0, 1))
DepthwiseConv2dNative = _convolution("DepthwiseConv2dNative", _depthwise)


def Conv3D(
    x: Tensor,
    w: Tensor,
    *,
    strides: _Ints,
    padding: str,
    data_format: str = "NDHWC",
    dilations: _Ints = (1, 1, 1, 1, 1),
) -> Tensor:
    layout = Layout(data_format, 5)
    _check_ranks("Conv3D", x, w, 5)
    return _convolved(layout, x, w.transpose(4, 3, 0, 1, 2), strides, padding, (), dilations)


def Conv2DBackpropInput(
    size: Tensor,
    w: Tensor,
    x: Tensor,
    *,
    strides: _Ints,
    padding: str,
    explicit_paddings: _Ints = (),
    data_format: str = "NHWC",
    dilations: _Ints = (1, 1, 1, 1),
) -> Tensor:
    """The transpose of a convolution, whose input had that size."""
    layout = Layout(data_format, 4)
    _check_ranks("Conv2DBackpropInput", x, w, 4)
    return _transposed_convolution(
        layout, size, w.transpose(2, 3, 0, 1), x, strides, padding, explicit_paddings, dilations
    )


def Conv3DBackpropInputV2(
    size: Tensor,
    w: Tensor,
    x: Tensor,
    *,
    strides: _Ints,
    padding: str,
    data_format: str = "NDHWC",
    dilations: _Ints = (1, 1, 1, 1, 1),
) -> Tensor:
    layout = Layout(data_format, 5)
    _check_ranks("Conv3DBackpropInputV2", x, w, 5)
    return _transposed_convolution(
        layout, size, w.transpose(3, 4, 0, 1, 2), x, strides, padding, (), dilations
    )


def _check_ranks(kind: str, x: Tensor, w: Tensor, rank: int) -> None:
    if x.rank != rank or w.rank != rank or 0 in w.shape:
        raise EdgeKitError("E0401", f"{kind} of {x.type} with weights {w.type}")


def _convolved(
    layout: Layout, x: Tensor, w: Tensor, strides: _Ints, padding: str, pads: _Ints, dilations: _Ints
) -> Tensor:
    """With weights [outputs, inputs, ...]."""
    x = layout.first(x)
    groups = x.shape[1] // w.shape[1]
    if not groups or x.shape[1] % w.shape[1]:
        raise EdgeKitError("E0401", f"a convolution of {x.type} with weights {w.type}")
    slide = window(layout, x.shape[2:], w.shape[2:], strides, padding, pads, dilations)
    return layout.back(conv(x, w, None, slide, groups))


def _transposed_convolution(
    layout: Layout,
    size: Tensor,
    w: Tensor,
    x: Tensor,
    strides: _Ints,
    padding: str,
    pads: _Ints,
    dilations: _Ints,
) -> Tensor:
    whole = size.ints("the size of a transposed convolution")
    area = layout.area(whole) if len(whole) == x.rank else whole
    slide = window(layout, area, w.shape[2:], strides, padding, pads, dilations)
    x = layout.first(x)
    steps = zip(area, w.shape[2:], x.shape[2:], range(len(area)), strict=True)
    for n, k, m, i in steps:
        stride, dilation, ends = slide.along(i)
        if (n + sum(ends) - (k - 1) * dilation - 1) // stride + 1 != m:
            raise EdgeKitError("E0401", f"a transposed convolution of {x.type} to {list(whole)[:8]}")
    return layout.back(conv_transpose(x, w, None, slide, area, 1))


def MatMul(a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    if a.rank != 2 or b.rank != 2:
        raise EdgeKitError("E0401", f"MatMul of {a.type} and {b.type}")
    return matmul(transposed(a, transpose_a), transposed(b, transpose_b))


def BatchMatMulV2(a: Tensor, b: Tensor, *, adj_x: bool = False, adj_y: bool = False) -> Tensor:
    if a.rank < 2 or b.rank < 2:
        raise EdgeKitError("E0401", f"BatchMatMulV2 of {a.type} and {b.type}")
    return matmul(transposed(a, adj_x), transposed(b, adj_y))


BatchMatMul = BatchMatMulV3 = BatchMatMulV2


def Einsum(*xs: Tensor, equation: str) -> Tensor:
    return einsum(equation, xs)


# Norms


def FusedBatchNormV3(
    x: Tensor,
    scale: Tensor,
    offset: Tensor,
    mean: Tensor,
    variance: Tensor,
    *,
    epsilon: float = 1e-4,
    data_format: str = "NHWC",
    is_training: bool = True,
) -> dict[str, Tensor]:
    if is_training:
        raise EdgeKitError(
            "E0205", "batch normalization in training mode is not supported", hint="export for inference"
        )
    layout = Layout(data_format, x.rank)
    factor = cast(scale, mean.dtype) / Sqrt(variance + epsilon)
    shift = cast(offset, mean.dtype) - mean * factor
    factor, shift = cast(factor, x.dtype), cast(shift, x.dtype)
    y = x * layout.channels(factor, x.rank) + layout.channels(shift, x.rank)
    return {"y": y, "batch_mean": mean, "batch_variance": variance}


FusedBatchNorm = FusedBatchNormV2 = FusedBatchNormV3


def LRN(
    x: Tensor, *, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5
) -> Tensor:
    size = 2 * depth_radius + 1
    return normalize.LRN(x.to_nchw(), size=size, alpha=alpha * size, beta=beta, bias=bias).to_nhwc()


def L2Loss(x: Tensor) -> Tensor:
    return reduce(x * x, "sum", range(x.rank), keepdims=False) * 0.5
