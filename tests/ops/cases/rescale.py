"""TFLite's multiplication by a real factor, and functions given as tables."""

import numpy as np
from support.op_cases import case, whole

from edgekit.core.ops.lookup import Lookup
from edgekit.core.ops.rescale import InverseSqrt, InverseSqrtExponent, Rescale, RescaleOnce
from edgekit.core.types import Array, DType

_MULTIPLIER = whole(DType.S32, 40, low=1 << 30, high=(1 << 31) - 1)
_ANY = whole(DType.S32, 9, 40)
# A shift to the left must leave room: the factor is below 1 for any sum, up to 2^16 for small ones.
_DOWN = whole(DType.S32, 40, low=-31, high=0)
_UP = whole(DType.S32, 40, low=-8, high=16)
_SMALL = whole(DType.S32, 9, 40, low=-16000, high=16000)
_ROOTS = np.concatenate([np.arange(70), 2 ** np.arange(31), 2 ** np.arange(31) - 1, [(1 << 31) - 1]]).astype(
    np.int32
)


def _table() -> Array:
    return np.random.default_rng(7).integers(-128, 128, 256).astype(np.int8)


CASES = (
    *(case(op, _ANY, _MULTIPLIER, _DOWN) for op in (Rescale(), RescaleOnce())),
    *(case(op, _SMALL, _MULTIPLIER, _UP) for op in (Rescale(), RescaleOnce())),
    case(Rescale(), _ANY, 0, 0),
    # Exponents that no file should have, yet damaged ones do.
    *(case(op, _SMALL, _MULTIPLIER, whole(DType.S32, 40)) for op in (Rescale(), RescaleOnce())),
    *(case(op, _ROOTS) for op in (InverseSqrt(), InverseSqrtExponent())),
    case(Lookup(), whole(DType.S8, 6, 50), _table()),
    case(Lookup(), whole(DType.S8, 6, 50), _table(), constant=(1,)),
)
