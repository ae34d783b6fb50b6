"""Activations and arithmetic, element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as _fold

from edgekit.converters.ncnn.file import Layer as _Layer
from edgekit.converters.ncnn.file import Weights as _Weights
from edgekit.converters.semantics.aten import arithmetic as _torch
from edgekit.converters.semantics.movement import cast as _cast
from edgekit.converters.semantics.onnx import activations as _onnx
from edgekit.converters.semantics.onnx import elementwise as _math
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.logic import Less as _Less

_LARGEST = 3.4028234663852886e38
_UNARY: Sequence[Callable[[Tensor], Tensor]] = (
    *(_math.Abs, _math.Neg, _math.Floor, _math.Ceil, _torch.square, _math.Sqrt, _torch.rsqrt, _math.Exp),
    *(_math.Log, _math.Sin, _math.Cos, _math.Tan, _math.Asin, _math.Acos, _math.Atan, _math.Reciprocal),
    *(_onnx.Tanh, _torch.log10, _math.Round, _torch.trunc),
)
_BINARY: Sequence[Callable[[Tensor, Tensor], Tensor]] = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a.max(b),
    lambda a, b: a.min(b),
    _math.Pow,
    lambda a, b: b - a,
    lambda a, b: b / a,
    lambda a, b: _math.Pow(b, a),
)


def _function(apply: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def handler(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
        return apply(x)

    return handler


AbsVal, TanH, Sigmoid = map(_function, (_math.Abs, _onnx.Tanh, _onnx.Sigmoid))
Mish, Softplus, BNLL, Erf = map(_function, (_onnx.Mish, _onnx.Softplus, _onnx.Softplus, _math.Erf))
Swish = _function(_onnx.Swish)
Noop = _function(lambda x: x)


def ReLU(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    slope = layer.number(0)
    return _onnx.LeakyRelu(x, alpha=slope) if slope else _onnx.Relu(x)


def PReLU(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    slope = x.new(weights.plain(layer.integer(0)))
    return _onnx.PRelu(x, slope.reshape(slope.type.size, *(1,) * (x.rank - 1)))


def ELU(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return _onnx.Elu(x, alpha=layer.number(0, 0.1))


def CELU(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return _onnx.Celu(x, alpha=layer.number(0, 1.0))


def SELU(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return _onnx.Selu(x, alpha=layer.number(0, 1.67326324), gamma=layer.number(1, 1.050700987))


def GELU(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return _onnx.Gelu(x, approximate="tanh" if layer.integer(0) else "none")


def HardSigmoid(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return _onnx.HardSigmoid(x, alpha=layer.number(0, 0.2), beta=layer.number(1, 0.5))


def HardSwish(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return x * HardSigmoid(builder, layer, weights, x)


def Clip(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return x.clip(layer.number(0, -_LARGEST), layer.number(1, _LARGEST))


def Threshold(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return _cast(x.like(layer.number(0)).apply(_Less(), x), x.dtype)


def Dropout(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    scale = layer.number(0, 1.0)
    return x if scale == 1 else x * scale


def Power(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    y = x * layer.number(1, 1.0) + layer.number(2)
    return _math.Pow(y, y.like(layer.number(0, 1.0)))


def Exp(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    """base ** (shift + scale x), where a base of -1 is e."""
    y = x * layer.number(1, 1.0) + layer.number(2)
    base = layer.number(0, -1.0)
    return _math.Exp(y) if base == -1 else _math.Pow(y.like(base), y)


def UnaryOp(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    kind = layer.integer(0)
    if not 0 <= kind < len(_UNARY):
        raise EdgeKitError("E0203", f"UnaryOp of the kind {kind} is not supported")
    return _UNARY[kind](x)


def BinaryOp(
    builder: Builder, layer: _Layer, weights: _Weights, a: Tensor, b: Tensor | None = None
) -> Tensor:
    kind = layer.integer(0)
    if not 0 <= kind < len(_BINARY):
        raise EdgeKitError("E0203", f"BinaryOp of the kind {kind} is not supported")
    if layer.integer(1) or b is None:
        return _BINARY[kind](a, a.like(layer.number(2)))
    return _BINARY[kind](_wide(a, b), _wide(b, a))


def Eltwise(builder: Builder, layer: _Layer, weights: _Weights, *xs: Tensor) -> Tensor:
    kind, shares = layer.integer(0), layer.numbers(1)
    if kind == 1 and shares:
        xs = tuple(x * share for x, share in zip(xs, shares, strict=True))
    if kind not in (0, 1, 2):
        raise EdgeKitError("E0203", f"Eltwise of the kind {kind} is not supported")
    return _fold((lambda a, b: a * b, lambda a, b: a + b, lambda a, b: a.max(b))[kind], xs)


def _wide(x: Tensor, other: Tensor) -> Tensor:
    """x with as many dimensions as the other blob. New ones are the last, but a line that does not fit the
    first dimension is one of the last."""
    missing = other.rank - x.rank
    if missing <= 0:
        return x
    if x.rank == 1 and x.shape[0] != other.shape[0]:
        return x.reshape(*(1,) * missing, *x.shape)
    return x.reshape(*x.shape, *(1,) * missing)
