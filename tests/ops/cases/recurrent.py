"""Recurrent layers."""

from dataclasses import replace

import numpy as np
from support.op_cases import case, normal, whole

from edgekit.core.ops.dynamic_quantize import DynamicQuantizeLstm
from edgekit.core.ops.lstm_s8 import LstmS8
from edgekit.core.ops.recurrent import Gru, Lstm, Rnn
from edgekit.core.types import DType, Quant


def _layer(op, gates, size, *others, steps=3, batch=2, dtype=DType.F32, constant=(1,)):
    """A layer whose states are `size` elements; `others` are operands behind the state."""
    x, r = normal(dtype, steps, batch, gates * size), normal(dtype, gates * size, size, scale=0.3)
    return case(op, x, r, normal(dtype, batch, size), *others, ulps=16, summed=True, constant=constant)


def _lstm(size, reverse=False, batch=2, dtype=DType.F32, **shape):
    return _layer(Lstm(reverse), 4, size, normal(dtype, batch, size), batch=batch, dtype=dtype, **shape)


def _gru(size, reverse=False, reset_after=True, dtype=DType.F32, **shape):
    return _layer(Gru(reverse, reset_after), 3, size, normal(dtype, size), dtype=dtype, **shape)


def _dynamic(size, reverse=False, steps=3, batch=2):
    rng = np.random.default_rng([size, batch])
    r, zero = (
        rng.integers(-128, 128, shape).astype(kind)
        for shape, kind in (((4 * size, size), np.int8), (4 * size, np.int32))
    )
    scale = (rng.random(4 * size) * 0.003 + 1e-4).astype(np.float32)
    x, h, c = (
        normal(DType.F32, *shape) for shape in ((steps, batch, 4 * size), (batch, size), (batch, size))
    )
    return case(
        DynamicQuantizeLstm(reverse), x, r, scale, zero // 16, h, c, ulps=16, summed=True, constant=(1, 2, 3)
    )


def _lstm_s8(
    gates=4,
    peeps=False,
    norms=False,
    outputs=0,
    bits=4,
    clips=False,
    steps=3,
    batch=2,
    inputs=5,
    size=4,
    most=9000,
    **how,
):
    """Gates that are open, shut and between, cells that reach their bounds."""
    rng = np.random.default_rng([gates, peeps, norms, outputs, bits, clips, steps, batch, inputs, size])

    def some(dtype, *shape, most=None):
        most = np.iinfo(dtype).max if most is None else most
        return rng.integers(-most - 1, most + 1, shape).astype(dtype)

    def factors(count, exponent):
        return tuple((int(rng.integers(1 << 30, 1 << 31)), exponent) for _ in range(count))

    n = outputs or size
    op = LstmS8(
        *(factors(gates, -1), factors(gates, -2), factors(3 * peeps, -13)),
        *(factors(gates * norms, -1), (3, 2, 1, 400)[: gates * norms]),
        *(factors(1, -22)[0], 3, factors(1, -2)[0] if outputs else (0, 0), -5, bits),
        *(20000 if clips else 0, 100 if clips else 0),
    )
    operands = (
        *(some(np.int8, steps, batch, inputs), some(np.int8, gates * size, inputs)),
        *(some(np.int32, gates * size, most=most), some(np.int8, gates * size, n)),
        *(some(np.int32, gates * size, most=most), some(np.int16, 3 * peeps, size)),
        *(some(np.int16, gates * norms, size, most=9000), some(np.int32, gates * norms, size, most=9000)),
        *(some(np.int8, outputs, size), some(np.int32, outputs, most=most and most // 10)),
        *(some(np.int8, batch, n), some(np.int16, batch, size)),
    )
    return case(op, *operands, **{"constant": range(1, 10), **how})


def _integers(op, gates, size, steps=3, batch=2, bits=0, zero=-3, x_scale=2.0**-11, y_scale=0.01, bias=1.0):
    """Sums within the table and outside of it, states that reach their bounds."""
    rows, scales = gates * size, 0.002 + 0.01 * np.arange(gates * size) / (gates * size)
    r, x = whole(DType.S8, rows, size, low=-127), whole(DType.S16, steps, batch, rows)
    narrow, wide = Quant((y_scale,), (zero,)), Quant((2.0 ** (bits - 15),), (0,))
    byte, cells = whole(DType.S8, batch, size), whole(DType.S16, batch, size)
    states, quants = {
        Rnn: ([byte], [narrow]),
        Gru: ([cells], [wide]),
        Lstm: ([byte, cells], [narrow, wide]),
    }[type(op)]
    weights = Quant(tuple(scales), (0,) * rows, 0)
    others = [normal(DType.F32, size, scale=bias)] if isinstance(op, Gru) else []
    return case(
        *(op, x, r, *states, *others),
        constant=(1, 3) if others else (1,),
        quants=(Quant((x_scale,), (0,)), weights, *quants, *(None for _ in others)),
        result=(narrow, *quants),
    )


CASES = (
    *(_dynamic(n, reverse) for n, reverse in ((1, False), (5, True), (16, False), (37, False))),
    _dynamic(8, batch=1, steps=1),
    _dynamic(4, steps=0),
    *(_integers(Lstm(), 4, n, bits=bits) for n, bits in ((3, 0), (16, 2), (21, 5), (8, 15))),
    _integers(Lstm(True), 4, 5, steps=4, batch=1, zero=17),
    _integers(Lstm(), 4, 40, y_scale=1 / 128, zero=0, x_scale=2.0**-14),
    *(
        _integers(Gru(reset_after=a), 3, n, bits=b)
        for a in (True, False)
        for n, b in ((3, 0), (21, 4), (16, 15))
    ),
    *(_integers(Gru(True, a), 3, 5, steps=4, batch=1, zero=17) for a in (True, False)),
    _integers(Gru(), 3, 40, y_scale=1 / 128, zero=127, x_scale=2.0**-14, bias=30.0),
    *(_integers(Rnn(activation=a), 1, n, zero=z) for a in ("tanh", "relu") for n, z in ((3, -128), (21, 5))),
    *(_integers(Rnn(True, a), 1, 40, x_scale=2.0**-15) for a in ("tanh", "relu")),
    _lstm_s8(),
    _lstm_s8(constant=()),
    _lstm_s8(outputs=5, most=None, constant=()),  # biases that leave no room
    _lstm_s8(gates=3),
    _lstm_s8(peeps=True),
    _lstm_s8(norms=True),
    _lstm_s8(gates=3, peeps=True, norms=True, outputs=5, steps=2, size=21),
    _lstm_s8(norms=True, inputs=1, size=1),
    _lstm_s8(outputs=3),
    _lstm_s8(gates=3, peeps=True, outputs=6, clips=True, bits=0),
    *(_lstm_s8(bits=bits, steps=2, size=40) for bits in range(7)),
    _lstm_s8(clips=True, steps=1, batch=1, inputs=1, size=1),
    replace(_lstm_s8(), operands=tuple(map(np.zeros_like, _lstm_s8().operands))),  # gates of 0
    _lstm_s8(steps=0),
    # Less than a block of outputs, whole blocks, a rest; weights that are known, and that are computed.
    *(_layer(Rnn(activation=a), 1, n) for a in ("tanh", "relu") for n in (3, 16, 21)),
    *(_gru(n, reset_after=after) for after in (True, False) for n in (3, 16, 21)),
    *(_lstm(n) for n in (3, 4, 21)),
    *(f(21, constant=()) for f in (_gru, _lstm)),
    *(f(5, reverse=True) for f in (_gru, _lstm)),
    _layer(Rnn(True), 1, 5),
    *(f(n, dtype=DType.F64) for f in (_gru, _lstm) for n in (5, 33)),
    _layer(Rnn(), 1, 5, dtype=DType.F64),
    *(f(3, steps=1, batch=1) for f in (_gru, _lstm)),
    # No step: the state stays.
    *(f(3, steps=0) for f in (_gru, _lstm)),
    case(Rnn(), np.zeros((0, 2, 3), np.float32), normal(DType.F32, 3, 3), normal(DType.F32, 2, 3)),
)
