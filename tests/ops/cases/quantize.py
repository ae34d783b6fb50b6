"""Between reals and integers, by rule E and by TFLite's."""

import numpy as np
from support.op_cases import case, normal, special, whole

from edgekit.ir import DType, Quant
from edgekit.ops.quantize import Dequantize, Quantize, Requantize

_RULES = ("E", "tfl")
_HALVES = (np.arange(-300, 300) / 2).astype(np.float32)  # ties, and what is beyond the range
_BYTES = np.arange(-128, 128).astype(np.int8)


def _quant(scale: float, zero: int, rounding: str = "E") -> Quant:
    return Quant((scale,), (zero,), None, rounding)


CASES = (
    *(
        case(Quantize(), _HALVES, result=_quant(1.0, zero, rule))
        for rule in _RULES
        for zero in (0, -128, 127)
    ),
    *(case(Quantize(), normal(DType.F32, 6, 50), result=_quant(0.037, 5, rule)) for rule in _RULES),
    *(case(Quantize(), special(DType.F32), result=_quant(0.25, -3, rule)) for rule in _RULES),
    case(Quantize(DType.S16), normal(DType.F32, 6, 50), result=_quant(0.0001, 0)),
    *(case(Dequantize(), _BYTES, quants=[_quant(0.1, zero)]) for zero in (0, -128, 127)),
    case(Dequantize(), whole(DType.S16, 6, 50), quants=[_quant(0.0001, 0)]),
    *(
        case(Requantize(), _BYTES, quants=[_quant(0.11, 7)], result=_quant(scale, -9, rule))
        for rule in _RULES
        for scale in (0.05, 0.11, 0.3, 7.0)
    ),
)
