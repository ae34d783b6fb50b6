"""Layers with what follows them in one operator, as optimizers of TensorFlow and TensorFlow.js write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from edgekit.converters.frontend import handlers
from edgekit.converters.semantics.onnx.activations import PRelu
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensorflow import ops
from edgekit.converters.tensorflow.ops.elementwise import BiasAdd
from edgekit.converters.tensorflow.ops.layers import Conv2D, DepthwiseConv2dNative, FusedBatchNormV3, MatMul
from edgekit.core.errors import EdgeKitError

_Ints = Sequence[int]
_ACTIVATIONS = ("Elu", "Relu", "Relu6", "Sigmoid", "Tanh")


def _convolution(layer: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def handler(
        x: Tensor,
        w: Tensor,
        *others: Tensor,
        strides: _Ints,
        padding: str,
        explicit_paddings: _Ints = (),
        data_format: str = "NHWC",
        dilations: _Ints = (1, 1, 1, 1),
        fused_ops: Sequence[str] = (),
        epsilon: float = 1e-4,
        leakyrelu_alpha: float = 0.2,
    ) -> Tensor:
        y = layer(
            x,
            w,
            strides=strides,
            padding=padding,
            explicit_paddings=explicit_paddings,
            data_format=data_format,
            dilations=dilations,
        )
        return _followed(y, others, fused_ops, data_format, epsilon, leakyrelu_alpha)

    return handler


FusedConv2D = _convolution(Conv2D)
FusedDepthwiseConv2dNative = _convolution(DepthwiseConv2dNative)


def FusedMatMul(
    a: Tensor,
    b: Tensor,
    *others: Tensor,
    transpose_a: bool = False,
    transpose_b: bool = False,
    fused_ops: Sequence[str] = (),
    epsilon: float = 1e-4,
    leakyrelu_alpha: float = 0.2,
) -> Tensor:
    y = MatMul(a, b, transpose_a=transpose_a, transpose_b=transpose_b)
    return _followed(y, others, fused_ops, "NHWC", epsilon, leakyrelu_alpha)


def Prelu(x: Tensor, slope: Tensor) -> Tensor:
    return PRelu(x, slope)


def _followed(
    y: Tensor, others: Sequence[Tensor], kinds: Sequence[str], layout: str, epsilon: float, slope: float
) -> Tensor:
    """What the operators of these names make of a layer, with their operands in order."""
    given = iter(others)
    for kind in kinds:
        if kind == "BiasAdd":
            y = BiasAdd(y, _next(given), data_format=layout)
        elif kind == "FusedBatchNorm":
            norm = [_next(given) for _ in range(4)]
            y = FusedBatchNormV3(y, *norm, epsilon=epsilon, data_format=layout, is_training=False)["y"]
        elif kind == "Prelu":
            y = PRelu(y, _next(given))
        elif kind == "LeakyRelu":
            y = handlers(ops)[kind](y, alpha=slope)
        elif kind in _ACTIVATIONS:
            y = handlers(ops)[kind](y)
        else:
            raise EdgeKitError("E0203", f"a layer followed by {kind[:40]} is not supported")
    if next(given, None) is not None:
        raise EdgeKitError("E0401", "a layer has more operands than what follows it takes")
    return y


def _next(given: Iterator[Tensor]) -> Tensor:
    found = next(given, None)
    if found is None:
        raise EdgeKitError("E0401", "what follows a layer has too few operands")
    return found
