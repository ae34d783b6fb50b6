"""Bytes with and without a sign."""

import numpy as np
from support.op_cases import case, whole

from edgekit.core.ops.flip_sign import FlipSign
from edgekit.core.types import DType, Quant

_PIXELS = Quant((1.0,), (0,))
_SIGNED = Quant((1.0,), (-128,))

CASES = (
    case(FlipSign(), np.arange(256, dtype=np.uint8)),
    case(FlipSign(), np.arange(-128, 128).astype(np.int8)),
    *(case(FlipSign(), whole(dtype, 4, 50)) for dtype in (DType.U16, DType.S16)),
    case(FlipSign(), whole(DType.U8, 2, 3, 5), quants=[_PIXELS], result=_SIGNED),
    case(FlipSign(), whole(DType.S8, 2, 3, 5), quants=[_SIGNED], result=_PIXELS),
    case(FlipSign(), np.zeros((0, 3), np.uint8)),
    case(FlipSign(), np.uint8(7).reshape(())),
)
