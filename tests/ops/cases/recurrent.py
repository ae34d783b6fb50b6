"""Recurrent layers."""

import numpy as np
from support.op_cases import case, normal

from edgekit.ir import DType
from edgekit.ops.recurrent import Gru, Lstm, Rnn


def _layer(op, gates, size, *others, steps=3, batch=2, dtype=DType.F32, constant=(1,)):
    """A layer whose states are `size` elements; `others` are operands behind the state."""
    x, r = normal(dtype, steps, batch, gates * size), normal(dtype, gates * size, size, scale=0.3)
    return case(op, x, r, normal(dtype, batch, size), *others, ulps=16, summed=True, constant=constant)


def _lstm(size, reverse=False, batch=2, dtype=DType.F32, **shape):
    return _layer(Lstm(reverse), 4, size, normal(dtype, batch, size), batch=batch, dtype=dtype, **shape)


def _gru(size, reverse=False, reset_after=True, dtype=DType.F32, **shape):
    return _layer(Gru(reverse, reset_after), 3, size, normal(dtype, size), dtype=dtype, **shape)


CASES = (
    # Less than a block of outputs, whole blocks, a rest; weights that are known, and that are computed.
    *(_layer(Rnn(activation=a), 1, n) for a in ("tanh", "relu") for n in (3, 16, 21)),
    *(_gru(n, reset_after=after) for after in (True, False) for n in (3, 16, 21)),
    *(_lstm(n) for n in (3, 4, 21)),
    *(f(21, constant=()) for f in (_gru, _lstm)),
    *(f(5, reverse=True) for f in (_gru, _lstm)),
    _layer(Rnn(True), 1, 5),
    *(f(5, dtype=DType.F64) for f in (_gru, _lstm)),
    _layer(Rnn(), 1, 5, dtype=DType.F64),
    *(f(3, steps=1, batch=1) for f in (_gru, _lstm)),
    # No step: the state stays.
    *(f(3, steps=0) for f in (_gru, _lstm)),
    case(Rnn(), np.zeros((0, 2, 3), np.float32), normal(DType.F32, 3, 3), normal(DType.F32, 2, 3)),
)
