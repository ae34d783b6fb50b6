"""Fast Fourier transforms: all radices, all types, numbers that overflow."""

import numpy as np
from support.op_cases import case, normal, whole

from edgekit.core.ops.fft import Fft, IrfftMerge, RfftSplit
from edgekit.core.types import DType

_POINTS = (2, 3, 4, 5, 8, 15, 36, 50, 120)
_INTEGERS = (DType.S16, DType.S32)


def _ends(dtype: DType, n: int) -> np.ndarray:
    info = np.iinfo(dtype.numpy)
    return np.random.default_rng(n).choice([info.min, info.max], n).astype(dtype.numpy)


CASES = (
    *(case(Fft(n, bool(i % 2)), whole(d, 2 * n)) for i, n in enumerate(_POINTS) for d in _INTEGERS),
    *(
        case(Fft(n, inverse), _ends(d, 2 * n))
        for n in (60, 64)
        for inverse in (False, True)
        for d in _INTEGERS
    ),
    *(case(Fft(n, bool(i % 2)), normal(DType.F32, 2 * n)) for i, n in enumerate(_POINTS)),
    # Rows, fewer elements than there is room for, none at all.
    *(case(Fft(20), whole(DType.S16, 2, 3, n)) for n in (0, 1, 25, 40)),
    case(Fft(20), whole(DType.S16, 0, 7)),
    *(case(op, whole(d, 3, n)) for op in (RfftSplit(), IrfftMerge()) for d in _INTEGERS for n in (6, 8, 62)),
    *(case(op, _ends(d, 122)) for op in (RfftSplit(), IrfftMerge()) for d in _INTEGERS),
    *(case(op, normal(DType.F32, 2, 32)) for op in (RfftSplit(), IrfftMerge())),
    *(case(op, whole(DType.S16, 0, 6)) for op in (RfftSplit(), IrfftMerge())),
)
