"""Recurrent layers, whose states start from zero in every call."""

from __future__ import annotations

import numpy as np

from edgekit import fixed
from edgekit.converters import compose, recurrent
from edgekit.converters.movement import cast, part
from edgekit.converters.recurrent import Activation
from edgekit.converters.tensor import Tensor, concat
from edgekit.converters.tflite_layer import Layer, bias_or_zeros, centred, dequantized, raw, times
from edgekit.errors import EdgeKitError
from edgekit.ir import DType
from edgekit.ops.activations import Sigmoid, Tanh
from edgekit.ops.matmul import MatMul

_TANH = 4  # of the schema's fused activations
_GATES = (
    Activation("sigmoid", lambda x: x.apply(Sigmoid())),
    Activation("tanh", lambda x: x.apply(Tanh())),
    Activation("tanh", lambda x: x.apply(Tanh())),
)


def UNIDIRECTIONAL_SEQUENCE_LSTM(layer: Layer, x: Tensor, *others: Tensor | None) -> Tensor:
    """Operands come in fours, for the gates i, f, c, o: weights of the input, of the state, peepholes
    (three), biases; then a projection, the states, and a normalization. Without an input gate it is 1 - f."""
    o = layer.options
    found = [None if t is None else dequantized(t) for t in [*others, *(None,) * (23 - len(others))]]
    if not x.dtype.is_float:
        raise EdgeKitError("E0204", f"UNIDIRECTIONAL_SEQUENCE_LSTM of {x.type} is not supported")
    if o.integer(0, "b") != _TANH or o.number(1, "f") or found[15] is not None or any(found[19:]):
        raise EdgeKitError(
            "E0205",
            "UNIDIRECTIONAL_SEQUENCE_LSTM is supported with tanh, without clipping or projection",
        )
    w, r = (_gates("weights", *found[i : i + 4]) for i in (0, 4))
    biases = _gates("biases", *found[11:15])
    h, c, (p_i, p_f, p_o) = found[17], found[18], found[8:11]
    if h is None or c is None:
        raise EdgeKitError("E0401", "UNIDIRECTIONAL_SEQUENCE_LSTM without states")
    peepholes = None
    if p_f is not None and p_o is not None:
        peepholes = concat([-p_f if p_i is None else p_i, p_o, p_f], 0)
    if not o.integer(3, "b"):
        x = x.transpose(1, 0, 2)
    plain = recurrent.Layer(
        x, w, r, biases, biases.like(np.zeros(biases.shape)), h, c, peepholes, activations=_GATES
    )
    y, _, _ = recurrent.lstm(plain, input_forget=False)
    return y if o.integer(3, "b") else y.transpose(1, 0, 2)


def _gates(what: str, i: Tensor | None, f: Tensor | None, c: Tensor | None, o: Tensor | None) -> Tensor:
    """The gates i, o, f, c one behind the other. 1 - sigmoid(f) = sigmoid(-f)."""
    if f is None or c is None or o is None:
        raise EdgeKitError("E0401", f"the {what} of a gate are left out")
    return concat([-f if i is None else i, o, f, c], 0)


def SVDF(
    layer: Layer, x: Tensor, features: Tensor, taps: Tensor, bias: Tensor | None, state: Tensor
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
        b = bias_or_zeros(x, bias, units)
        return layer.activated(_summed(memory * taps, units) + b, activation)
    for t in (x, features, taps, state):
        layer.quant_of(t)
    s_x, s_f, s_t, s_s = (np.float32(layer.quant_of(t).scale[0]) for t in (x, features, taps, state))
    dots = centred(x).apply(MatMul((), (1, 0)), cast(raw(features), DType.S32))
    now = times(dots, np.float64(s_x * s_f / s_s)).clip(*fixed.int_range(DType.S16))
    memory = _pushed(cast(raw(state), DType.S32).reshape(*shape), now)
    sums = _summed(memory * cast(raw(taps), DType.S32), units) + bias_or_zeros(x, bias, units)
    # Quantized, the fused activation is what the range of the result leaves: TFLite does not clamp at zero.
    return layer.rescaled(sums, np.float64(s_s * s_t / np.float32(layer.out_quant.scale[0])))


def _pushed(memory: Tensor, now: Tensor) -> Tensor:
    """The oldest step goes, the newest comes."""
    older = part(memory, 2, 1, memory.shape[2] - 1)
    return concat([older, now.reshape(*now.shape, 1)], 2)


def _summed(products: Tensor, units: int) -> Tensor:
    batch, count, steps = products.shape
    return compose.reduce(products.reshape(batch, units, count // units * steps), "sum", [2], keepdims=False)
