"""Elementwise arithmetic of numbers and of quantized tensors; comparisons and logic; selection."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from edgekit.converters.semantics.movement import cast, where
from edgekit.converters.semantics.onnx import elementwise
from edgekit.converters.tensor import Tensor
from edgekit.converters.tflite.layer import TfliteLayer, centred, is_plain, labelled, raw, single, times
from edgekit.core import fixed
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import Op, arithmetic, logic
from edgekit.core.ops.quantize import Dequantize
from edgekit.core.types import DType


def ADD(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    return _sum(layer, a, b, arithmetic.Add())


def SUB(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    return _sum(layer, a, b, arithmetic.Sub())


def _sum(layer: TfliteLayer, a: Tensor, b: Tensor, op: arithmetic.Add | arithmetic.Sub) -> Tensor:
    activation = layer.options.integer(0, "b")
    if is_plain([a, b]):
        return layer.activated(layer.apply(op, a, b), activation)
    first, second, y = layer.quant_of(a), layer.quant_of(b), layer.out_quant
    if a.dtype is DType.S8:
        return layer.activated(layer.apply(op, a, b), activation)
    # Two bytes: both operands go to twice the larger scale with 15 more bits.
    twice = 2 * max(single(first), single(second))
    ratios = np.asarray([single(first) / twice, single(second) / twice, twice / ((1 << 15) * single(y))])
    wide = [times(centred(x) * (1 << 15), ratio) for x, ratio in zip((a, b), ratios[:2], strict=True)]
    return layer.rescaled(wide[0].apply(op, wide[1]), ratios[2], activation)


def MUL(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    activation = layer.options.integer(0, "b")
    if is_plain([a, b]) or a.dtype is DType.S8:
        if not is_plain([a, b]):
            for x in (a, b):
                layer.quant_of(x)
        return layer.activated(layer.apply(arithmetic.Mul(), a, b), activation)
    ratio = layer.product_ratio(layer.quant_of(a), layer.quant_of(b))
    return layer.rescaled(centred(a) * centred(b), ratio, activation)


def DIV(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    _numbers("DIV", a, b)
    return layer.activated(a / b, layer.options.integer(0, "b"))


def _numbers(kind: str, *xs: Tensor) -> None:
    if not is_plain(xs):
        raise EdgeKitError("E0204", f"{kind} of quantized tensors is not supported")


def ADD_N(layer: TfliteLayer, *xs: Tensor) -> Tensor:
    _numbers("ADD_N", *xs)
    return reduce(Tensor.__add__, xs)


def FLOOR_DIV(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    _numbers("FLOOR_DIV", a, b)
    if a.dtype.is_float:
        return elementwise.Floor(a / b)
    return (a - a.apply(arithmetic.Mod(), b)) / b


def FLOOR_MOD(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    _numbers("FLOOR_MOD", a, b)
    return a.apply(arithmetic.Mod(), b)


def POW(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    _numbers("POW", a, b)
    return elementwise.Pow(a, b)


def SQUARED_DIFFERENCE(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    if is_plain([a, b]):
        d = a - b
        return d * d
    # Both operands at twice the larger scale with 7 more bits, so that the square has 32.
    first, second = layer.quant_of(a), layer.quant_of(b)
    twice = 2 * max(single(first), single(second))
    wide = [
        times(centred(x) * (1 << 7), single(q) / twice) for x, q in zip((a, b), (first, second), strict=True)
    ]
    d = wide[0] - wide[1]
    return layer.rescaled(d * d, twice * twice / ((1 << 14) * single(layer.out_quant)))


def MAXIMUM(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    return raw(a).max(raw(b))


def MINIMUM(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    return raw(a).min(raw(b))


# Comparisons


def _comparable(x: Tensor) -> Tensor:
    """A quantized tensor in a scale that all have."""
    if x.type.quant is None:
        return x
    scale = float(np.float32(x.type.quant.scale[0]))
    if scale >= 1:
        raise EdgeKitError("E0204", f"a comparison of tensors with scale {scale} is not supported")
    return times(centred(x) * (1 << 8), scale)


def _compared(op: Op, a: Tensor, b: Tensor) -> Tensor:
    return _comparable(a).apply(op, _comparable(b))


def LESS(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    return _compared(logic.Less(), a, b)


def LESS_EQUAL(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    return _compared(logic.LessOrEqual(), a, b)


def GREATER(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    return _compared(logic.Less(), b, a)


def GREATER_EQUAL(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    return _compared(logic.LessOrEqual(), b, a)


def EQUAL(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    return _compared(logic.Equal(), a, b)


def NOT_EQUAL(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    return _compared(logic.Equal(), a, b).apply(logic.Not())


def LOGICAL_AND(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.And(), b)


def LOGICAL_OR(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    return a.apply(logic.Or(), b)


def LOGICAL_NOT(layer: TfliteLayer, x: Tensor) -> Tensor:
    return x.apply(logic.Not())


def SELECT(layer: TfliteLayer, condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    if condition.rank == 1 and yes.rank > 1:  # one decision a row
        condition = condition.reshape(condition.shape[0], *(1,) * (yes.rank - 1))
    return where(condition, raw(yes), raw(no))


def SELECT_V2(layer: TfliteLayer, condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    return where(condition, raw(yes), raw(no))


# Conversions


def CAST(layer: TfliteLayer, x: Tensor) -> Tensor:
    return cast(raw(x), layer.outs[0].dtype)


def QUANTIZE(layer: TfliteLayer, x: Tensor) -> Tensor:
    from edgekit.core.ops.quantize import Quantize, Requantize

    y = layer.out_quant
    if x.dtype.is_float:
        return layer.apply(Quantize(layer.outs[0].dtype), x)
    own = layer.quant_of(x)
    ratio = single(own) / single(y)
    if x.dtype is DType.S8 and layer.outs[0].dtype is DType.S8:
        return layer.apply(Requantize(), x)
    if x.dtype.bytes == layer.outs[0].dtype.bytes == 1 and ratio == 1:
        shift = y.zero[0] - own.zero[0]
        if abs(shift) == 128:  # the same bits but the first, which wraps
            wide = cast(raw(x), DType.S32) + shift
            low, high = fixed.int_range(layer.outs[0].dtype)
            return labelled(cast(wide.clip(low, high), layer.outs[0].dtype), y)
    return layer.rescaled(centred(x), ratio)


def DEQUANTIZE(layer: TfliteLayer, x: Tensor) -> Tensor:
    if x.dtype is DType.F16:
        return cast(x, DType.F32)
    if x.data is not None:
        from edgekit.converters.tflite.layer import dequantized

        return dequantized(x)
    layer.quant_of(x)
    return x.apply(Dequantize())


# Functions of one number, as floats


def _unary(apply: Callable[[Tensor], Tensor]) -> Callable[[TfliteLayer, Tensor], Tensor]:
    def handler(layer: TfliteLayer, x: Tensor) -> Tensor:
        _numbers("this function", x)
        return apply(x)

    return handler


FLOOR = _unary(elementwise.Floor)
CEIL = _unary(elementwise.Ceil)
ROUND = _unary(elementwise.Round)
SIN = _unary(elementwise.Sin)
COS = _unary(elementwise.Cos)
SQUARE = _unary(lambda x: x * x)
SIGN = _unary(elementwise.Sign)
