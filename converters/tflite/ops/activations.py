"""Functions of one tensor: formulas on floats, tables of 256 results on int8."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edgekit.converters.semantics.compose import log_softmax
from edgekit.converters.semantics.movement import cast, where
from edgekit.converters.semantics.onnx import activations, elementwise
from edgekit.converters.semantics.onnx.indexing import Gather
from edgekit.converters.tensor import Tensor
from edgekit.converters.tflite.layer import TfliteLayer, centred, single, times
from edgekit.core import fixed, fixed_tfl, fixed_tfl16
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Abs
from edgekit.core.ops.logic import Less, ShiftRight
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import Array, DType, Quant

Table = Callable[[Quant, Quant], Array]


def _function(
    layer: TfliteLayer, x: Tensor, real: Callable[[Tensor], Tensor], table: Table | None = None
) -> Tensor:
    """`real` of floats, `table` of int8."""
    if x.type.quant is None:
        return real(x)
    own, y = layer.quant_of(x), layer.out_quant
    if table is None or x.dtype is not DType.S8:
        raise EdgeKitError("E0204", f"this function of {x.type} with a scale is not supported")
    return layer.table(x, table(own, y))


def _clamped(layer: TfliteLayer, x: Tensor, activation: int) -> Tensor:
    if x.type.quant is None:
        return layer.activated(x, activation)
    own, y = layer.quant_of(x), layer.out_quant
    ratio = layer.ratio(own)
    if x.dtype is not DType.S8:
        return layer.rescaled(centred(x), ratio, activation)
    low, high = fixed.bounds(*layer.clamp(activation), DType.S8, y)
    return layer.table(x, fixed_tfl.rescaled(own, y, ratio).clip(low, high))


def RELU(layer: TfliteLayer, x: Tensor) -> Tensor:
    return _clamped(layer, x, 1)


def RELU_N1_TO_1(layer: TfliteLayer, x: Tensor) -> Tensor:
    return _clamped(layer, x, 2)


def RELU6(layer: TfliteLayer, x: Tensor) -> Tensor:
    return _clamped(layer, x, 3)


def RELU_0_TO_1(layer: TfliteLayer, x: Tensor) -> Tensor:
    if x.type.quant is not None:
        raise EdgeKitError("E0204", "RELU_0_TO_1 of quantized tensors is not supported")
    return x.clip(0, 1)


def LEAKY_RELU(layer: TfliteLayer, x: Tensor) -> Tensor:
    alpha = layer.options.number(0, "f")
    if x.dtype is DType.S16 and x.type.quant is not None:
        own, d = layer.quant_of(x), centred(x)
        above, below = times(d, layer.ratio(own)), times(d, layer.ratio(own, alpha))
        return layer.stored(where(d.apply(Less(), 0), below, above))
    return _function(
        layer,
        x,
        lambda x: activations.LeakyRelu(x, alpha=alpha),
        lambda own, y: fixed_tfl.leaky_relu(own, y, layer.ratio(own), layer.ratio(own, alpha)),
    )


def PRELU(layer: TfliteLayer, x: Tensor, slope: Tensor) -> Tensor:
    if x.type.quant is None:
        return activations.PRelu(x, slope)
    own, one, d = layer.quant_of(x), Quant((1.0,), (0,)), centred(x)
    above = times(d, layer.product_ratio(own, one))
    below = times(d * centred(slope), layer.product_ratio(own, layer.quant_of(slope)))
    return layer.stored(where(d.apply(Less(), 0), below, above))


def ELU(layer: TfliteLayer, x: Tensor) -> Tensor:
    return _function(layer, x, activations.Elu, fixed_tfl.elu)


def HARD_SWISH(layer: TfliteLayer, x: Tensor) -> Tensor:
    return _function(layer, x, activations.HardSwish, fixed_tfl.hard_swish)


def _interpolated(layer: TfliteLayer, x: Tensor, bits: int, most_left: int) -> Tensor:
    """LOGISTIC and TANH of int16: a table of 256 entries, with so many bits between two of them."""
    own, y = layer.quant_of(x), layer.out_quant
    if own.zero != (0,) or y.zero != (0,) or y.scale != (2.0**-15,):
        raise EdgeKitError("E0401", f"{x.type} with a scale should become int16 of 1/32768 around 0")
    multiplier, right = fixed_tfl16.table_scale(own.scale[0], most_left)
    if not 0 < multiplier < 1 << 15:
        raise EdgeKitError("E0204", f"the scale {own.scale[0]:g} of {x.type} is beyond the table's")
    rounding = 1 << right >> 1
    at = (centred(x) * multiplier + rounding).apply(ShiftRight(), right)
    distance = at.apply(Abs())
    entry = distance.apply(ShiftRight(), bits)
    between = distance - entry * (1 << bits)
    table = fixed_tfl16.sigmoid_table()
    starts, steps = table << bits, np.append(np.diff(table), 0)
    starts[255] = 0x7FFF << 10 if bits == 9 else 0xFFFF << 8
    index = entry.clip(0, 255)
    start, step = (Gather(x.new(t.astype(np.int32), "table"), index) for t in (starts, steps))
    found = start + between * step
    is_negative = at.apply(Less(), 0)
    if bits == 9:
        y16 = where(is_negative, -found + ((1 << 25) + 511), found + 512).apply(ShiftRight(), 10)
    else:
        y16 = where(is_negative, -found + ((1 << 23) + 127), found + (128 - (1 << 23))).apply(ShiftRight(), 8)
    return layer.labelled(cast(y16, DType.S16))


def LOGISTIC(layer: TfliteLayer, x: Tensor) -> Tensor:
    if x.dtype is DType.S16 and x.type.quant is not None:
        return _interpolated(layer, x, 9, 0)
    return _function(layer, x, activations.Sigmoid, fixed_tfl.logistic_table)


def TANH(layer: TfliteLayer, x: Tensor) -> Tensor:
    if x.dtype is DType.S16 and x.type.quant is not None:
        return _interpolated(layer, x, 8, 1)
    return _function(layer, x, activations.Tanh, fixed_tfl.tanh_table)


def GELU(layer: TfliteLayer, x: Tensor) -> Tensor:
    approximate = bool(layer.options.integer(0, "b"))
    return _function(
        layer,
        x,
        lambda x: activations.Gelu(x, approximate="tanh" if approximate else "none"),
        lambda own, y: fixed_tfl.gelu(own, y, approximate),
    )


def EXP(layer: TfliteLayer, x: Tensor) -> Tensor:
    return _function(layer, x, elementwise.Exp, fixed_tfl.exp_table)


def LOG(layer: TfliteLayer, x: Tensor) -> Tensor:
    return _function(layer, x, elementwise.Log, fixed_tfl.log_table)


def SQRT(layer: TfliteLayer, x: Tensor) -> Tensor:
    return _function(layer, x, elementwise.Sqrt, fixed_tfl.sqrt_table)


def NEG(layer: TfliteLayer, x: Tensor) -> Tensor:
    return _function(layer, x, elementwise.Neg, fixed_tfl.negative)


def RSQRT(layer: TfliteLayer, x: Tensor) -> Tensor:
    return _function(layer, x, lambda x: 1 / elementwise.Sqrt(x), fixed_tfl.rsqrt)


def ABS(layer: TfliteLayer, x: Tensor) -> Tensor:
    return _function(layer, x, elementwise.Abs, fixed_tfl.magnitude)


def SOFTMAX(layer: TfliteLayer, x: Tensor) -> Tensor:
    beta = layer.options.number(0, "f")
    if x.type.quant is None:
        return (x if beta == 1 else x * beta).apply(Softmax())
    own, y = layer.quant_of(x), layer.out_quant
    wide = layer.outs[0].dtype is DType.S16
    if x.dtype is not DType.S8 or not (wide or layer.outs[0].dtype is DType.S8):
        raise EdgeKitError("E0204", f"softmax of {x.type} to {layer.outs[0]} is not supported")
    steps = 1 << layer.outs[0].dtype.bits
    # Converters write 1/65535, too, and engines take what is near.
    if len(y.scale) > 1 or abs(y.scale[0] * steps - 1) > 1e-3 * wide or y.zero != (-steps // 2,):
        wanted = f"scale 1/{steps} and zero point {-steps // 2}"
        found = f"{y.scale[0]:g} and {y.zero[0]}" if len(y.scale) == 1 else f"{len(y.scale)} scales"
        raise EdgeKitError("E0401", f"the result of softmax has {wanted}, not {found}")
    if x.shape[-1] > fixed_tfl.LONGEST_SOFTMAX:  # where sums overflow in LiteRT, for data that are alike
        real = x.apply(Dequantize())
        shares = (real if beta == 1 else real * beta).apply(Softmax())
        return layer.apply(Quantize(layer.outs[0].dtype), shares)
    if beta == 1:
        return layer.apply(Softmax(wide), x)
    # The product of both, which is all that counts, as float32 does not hold it.
    scaled = Quant((float(np.float64(np.float32(beta)) * single(own)),), own.zero, None, own.rounding)
    from edgekit.converters.tflite.layer import labelled

    return layer.apply(Softmax(wide), labelled(x, scaled))


def LOG_SOFTMAX(layer: TfliteLayer, x: Tensor) -> Tensor:
    return _function(layer, x, lambda x: log_softmax(x, -1))
