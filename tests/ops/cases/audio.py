"""Audio front ends: windows, scales, energies, filter banks."""

from typing import Any

import numpy as np
from support.op_cases import case, whole

from edgekit.core.ops.audio import FftAutoScale, SpectrumEnergy, Window
from edgekit.core.ops.filter_bank import FilterBank, FilterBankLog, Pcan, RoundedSqrt, SpectralSubtraction
from edgekit.core.types import DType

_WINDOW = whole(DType.S16, 30)
_POWERS = [2**k + d for k in range(64) for d in (-1, 0, 1)] + [2**64 - 1, 65535**2 + 65535, 65535**2 + 65536]
_LARGE = np.array([*_POWERS, *(int(v) for v in whole(DType.U64, 300))], np.uint64)
_WORDS = np.concatenate([np.array([v for v in _POWERS if v < 2**32], np.uint32), whole(DType.U32, 300)])
_SMOOTH: dict[str, Any] = {
    "smoothing": 655,
    "one_minus_smoothing": 15729,
    "alternate_smoothing": 1966,
    "alternate_one_minus_smoothing": 14418,
    "smoothing_bits": 10,
    "min_signal_remaining": 819,
    "bits": 14,
}


def _scaled(*x: int) -> np.ndarray:
    return np.array(x, np.int16)


CASES = (
    *(case(Window(), whole(DType.S16, 2, 30), _WINDOW, shift) for shift in (0, 12, 31, 32, -1)),
    case(Window(), whole(DType.S16, 30), _WINDOW, 12, constant=(1, 2)),
    *(case(FftAutoScale(), whole(DType.S16, 50, low=-n, high=n)) for n in (1, 2, 255, 256, 16384, 32767)),
    # What comes after a sample of -32768 decides.
    *(case(FftAutoScale(), _scaled(*x)) for x in ((0, 0), (5, -32768), (-32768, 3), (-32768, -3, -2))),
    *(case(FftAutoScale(), _scaled(*x)) for x in ((9, -32768, -32768, -1), (-32768, 7, -9, 100), ())),
    *(case(SpectrumEnergy(*ends), whole(DType.S16, 40)) for ends in ((0, 20), (3, 17), (4, 4))),
    case(SpectrumEnergy(0, 2), _scaled(-32768, -32768, 32767, -32768)),
    case(
        FilterBank((0, 4, 9, 3), (0, 4, 9, 0), (4, 5, 6, 0)),
        whole(DType.U32, 15),
        whole(DType.S16, 15, low=0),
        whole(DType.S16, 16),
    ),
    case(
        FilterBank((2, 40), (1, 0), (3, 0)),
        whole(DType.U32, 5),
        whole(DType.S16, 4),
        whole(DType.S16, 5),
        constant=(1, 2),
    ),
    case(RoundedSqrt(), _LARGE),
    *(
        case(SpectralSubtraction(**_SMOOTH, clamping=clamping), _WORDS >> by, np.roll(_WORDS, 7))
        for clamping in (False, True)
        for by in (0, 12)
    ),
    *(case(Pcan(shift), _WORDS, np.roll(_WORDS, 5), whole(DType.S16, 125)) for shift in (0, 6, 40)),
    *(case(FilterBankLog(scale, bits), _WORDS) for scale, bits in ((1600, 3), (65536, 0), (2**31 - 1, 31))),
)
