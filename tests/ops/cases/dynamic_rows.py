"""Rows that are quantized in each run, and layers of these: equal to the bit."""

import numpy as np
from support.op_cases import case, normal, special, uniform, whole

from edgekit.core.ops.dynamic_quantize import DynamicQuantizeDense
from edgekit.core.ops.dynamic_rows import DynamicDense, QuantizeRows
from edgekit.core.types import DType

_F16, _BF16, _F32, _S4, _S8 = DType.F16, DType.BF16, DType.F32, DType.S4, DType.S8
_HALVES = np.array([[127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5], [0, 0, 0, 0, 0, 0, 0, -0.0]], np.float32)


def _dense(group, x, outputs, dtype=_S8, *, scales=_F32, lo=-np.inf, hi=np.inf):
    groups = -(-x[-1] // group)
    w = np.maximum(whole(dtype, outputs, x[-1]), -127 if dtype is _S8 else -8).astype(dtype.numpy)
    operands = (
        *(whole(_S8, *x), uniform(_F32, 0.001, 0.1, *x[:-1])),
        *(w, uniform(scales, 0.001, 0.02, outputs, groups), normal(_F32, outputs)),
    )
    return case(DynamicDense(group, lo, hi), *operands, constant=(2, 3, 4))


def _quantized(x, outputs):
    """A layer of what was quantized as a whole."""
    operands = (whole(_S8, *x), uniform(_F32, 0.001, 0.1), whole(_S8), whole(_S8, outputs, x[-1]))
    scales = (uniform(_F32, 0.001, 0.02, outputs), normal(_F32, outputs))
    return case(DynamicQuantizeDense(), *operands, *scales, constant=(3, 4, 5))


CASES = (
    *(case(QuantizeRows(), normal(_F32, *shape)) for shape in ((7,), (3, 64), (2, 3, 5), (1, 1), (0, 4))),
    case(QuantizeRows(), _HALVES),
    case(QuantizeRows(), np.array([[1e-38, -2e-38], [3e38, 1e38], [np.inf, 1], [np.nan, 1]], np.float32)),
    case(QuantizeRows(), special(_F32)),
    # Whole blocks of outputs, a rest, one output; whole groups, a shorter last one, one group.
    *(
        _dense(group, x, outputs, dtype, scales=scales)
        for dtype in (_S8, _S4)
        for group, x, outputs, scales in (
            (32, (3, 64), 32, _F16),
            (1000, (2, 172), 19, _F32),
            (32, (2, 2, 70), 35, _F16),
            (16, (1, 40), 1, _BF16),
            (3, (4, 7), 4, _F32),
            (4, (0, 8), 4, _F32),
        )
    ),
    _dense(8, (2, 24), 20, lo=-0.1, hi=0.2),
    *(_quantized(x, outputs) for x, outputs in (((3, 64), 32), ((2, 2, 70), 35), ((7,), 1), ((0, 4), 4))),
)
