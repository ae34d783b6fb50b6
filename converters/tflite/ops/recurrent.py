"""Recurrent layers, whose states last from run to run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgekit.converters.semantics import compose
from edgekit.converters.semantics.movement import cast, part
from edgekit.converters.tensor import Tensor, concat
from edgekit.converters.tflite import lstm, lstm_s8
from edgekit.converters.tflite.layer import (
    TfliteLayer,
    bias_or_zeros,
    centred,
    dequantized,
    labelled,
    raw,
    times,
)
from edgekit.core import fixed
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.types import DType, Quant


def UNIDIRECTIONAL_SEQUENCE_LSTM(layer: TfliteLayer, x: Tensor, *others: Tensor | None) -> Tensor:
    """A sequence, in order; the states last from run to run."""
    found = lstm.operands(layer.options, x, others)
    if not x.dtype.is_float and x.dtype is not DType.S8:
        raise EdgeKitError("E0204", f"UNIDIRECTIONAL_SEQUENCE_LSTM of {x.type} is not supported")
    y, h, c = lstm.floats(found) if x.dtype.is_float else lstm_s8.integers(layer, found)
    for state, content in zip(others[17:19], (h, c), strict=True):
        assert state is not None, "checked where operands are read"
        layer.write(state, content)
    return layer.labelled(y if found.major else y.transpose(1, 0, 2))


def SVDF(
    layer: TfliteLayer, x: Tensor, features: Tensor, taps: Tensor, bias: Tensor | None, state: Tensor
) -> Tensor:
    """Features of x go into a memory with one step a tap; results are sums over steps and ranks."""
    rank, activation = layer.options.integer(0), layer.options.integer(1, "b")
    count, steps = taps.shape
    if (
        rank < 1
        or count % rank
        or features.rank != 2
        or x.rank != 2
        or state.type.size != x.shape[0] * count * steps
    ):
        raise EdgeKitError("E0401", f"SVDF of {x.type} with {features.type}, {taps.type} and rank {rank}")
    units = count // rank
    shape = (x.shape[0], count, steps)
    if x.dtype.is_float:
        features, taps = dequantized(features), dequantized(taps)
        now = x.apply(MatMul((), (1, 0)), features)
        memory = _pushed(state.reshape(*shape), now)
        layer.write(state, memory)
        b = bias_or_zeros(x, bias, units)
        return layer.activated(_summed(memory * taps, units) + b, activation)
    for t in (x, features, taps, state):
        layer.quant_of(t)
    s_x, s_f, s_t, s_s = (np.float32(layer.quant_of(t).scale[0]) for t in (x, features, taps, state))
    now = _features(x, features, s_x * s_f / s_s, state.dtype, layer.quant_of(state).zero[0])
    memory = _pushed(state.reshape(*shape), labelled(now, state.type.quant))
    layer.write(state, memory)
    products = centred(labelled(memory, state.type.quant)) * cast(raw(taps), DType.S32)
    sums = _summed(products, units) + bias_or_zeros(x, bias, units)
    # Quantized, the fused activation is what the range of the result leaves: TFLite does not clamp at zero.
    return layer.rescaled(sums, np.float64(s_s * s_t / np.float32(layer.out_quant.scale[0])))


def _features(x: Tensor, features: Tensor, ratio: np.float32, dtype: DType, zero: int) -> Tensor:
    """The features of x, as the state has them; its zero point is 0 unless it is int8."""
    quant, one = x.type.quant, Quant((1.0,), (0,), None, "tflm")
    if quant is None or features.data is None or dtype is not DType.S16 or zero or not ratio > 0:
        dots = centred(x).apply(MatMul((), (1, 0)), cast(raw(features), DType.S32))
        now = times(dots, np.float64(ratio))
        return cast((now + zero if zero else now).clip(*fixed.int_range(dtype)), dtype)
    # TFLite has the ratio in float32, a dense layer in float64: it goes into the scale of the weights.
    operands = (
        labelled(x, replace(one, zero=quant.zero)),
        labelled(features, replace(one, scale=(float(ratio),))),
        x.new(np.zeros(features.shape[0], np.int32)),
    )
    (name,) = x.builder.add(Dense(dtype=dtype), *(t.name for t in operands), quant=one)
    return raw(Tensor(x.builder, name))


def _pushed(memory: Tensor, now: Tensor) -> Tensor:
    """The oldest step goes, the newest comes."""
    older = part(memory, 2, 1, memory.shape[2] - 1)
    return concat([older, now.reshape(*now.shape, 1)], 2)


def _summed(products: Tensor, units: int) -> Tensor:
    batch, count, steps = products.shape
    return compose.reduce(products.reshape(batch, units, count // units * steps), "sum", [2], keepdims=False)
