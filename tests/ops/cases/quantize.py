"""Between reals and integers, by rule E and by TFLite's."""

import numpy as np
from support.op_cases import case, normal, special, whole

from edgekit.core.ops.dynamic_quantize import DynamicQuantize
from edgekit.core.ops.quantize import Dequantize, Quantize, Requantize
from edgekit.core.types import DType, Quant

_RULES = ("E", "tfl")
_HALVES = (np.arange(-300, 300) / 2).astype(np.float32)  # ties, and what is beyond the range
_BYTES = np.arange(-128, 128).astype(np.int8)


def _quant(scale: float, zero: int, rounding: str = "E") -> Quant:
    return Quant((scale,), (zero,), None, rounding)


_WIDE = np.float32([-3e38, 3e38, 1.0, 0.0])  # the range is infinite

CASES = (
    *(case(DynamicQuantize(), normal(DType.F32, *shape)) for shape in ((1,), (3, 7), (2, 5, 33), (0, 4))),
    *(case(DynamicQuantize(), np.float32(x)) for x in ([0, 0], [2, 3, 7], [-5, -1], _WIDE)),
    case(DynamicQuantize(), special(DType.F32)),
    case(DynamicQuantize(), np.float32([1e-44, -1e-44, 0.0])),
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
