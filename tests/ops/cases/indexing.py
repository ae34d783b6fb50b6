"""Elements by index, cumulative sums, extremes, the largest k, filters."""

import numpy as np
from support.op_cases import case, normal, special, whole

from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.gather import Gather, GatherND
from edgekit.core.ops.rank import ArgExtreme, TopK
from edgekit.core.ops.resample import Resample
from edgekit.core.ops.scatter import Scatter, ScatterND
from edgekit.core.types import DType

_TYPES = (
    DType.BOOL,
    DType.S4,
    DType.U8,
    DType.F8E4M3FN,
    DType.F16,
    DType.BF16,
    DType.S32,
    DType.S64,
    DType.F64,
)
_NUMBERS = (DType.S8, DType.U8, DType.S32, DType.U32, DType.S64, DType.F16, DType.BF16, DType.F32, DType.F64)


def _any(d: DType, *shape: int) -> np.ndarray:
    return normal(d, *shape, scale=20) if d.is_float else whole(d, *shape)


def _index(*shape: int, size: int, dtype: type = np.int64) -> np.ndarray:
    """Indices from both sides, and some that are outside: those are clamped."""
    return np.random.default_rng(len(shape)).integers(-size - 2, size + 2, shape).astype(dtype)


def _table(*rows: tuple[float, ...], dtype: DType = DType.S32) -> np.ndarray:
    return np.array(rows).astype(dtype.numpy)


CASES = (
    *(case(Gather(0), _any(d, 5, 3), _index(4, 1, size=5)) for d in _TYPES),
    case(Gather(1), normal(DType.F32, 2, 5, 3), _index(1, 7, 1, size=5, dtype=np.int32)),
    case(Gather(1), normal(DType.F32, 2, 5, 3), _index(1, 7, 1, size=5, dtype=np.int32), constant=[1]),
    case(Gather(1), normal(DType.F32, 2, 5, 3), _index(2, 4, 3, size=5)),
    case(Gather(2), normal(DType.F32, 1, 5, 3), _index(2, 1, 4, size=3)),
    case(Gather(0), normal(DType.F32, 3, 1), _index(2, 5, size=3)),
    case(Gather(4), normal(DType.F32, 2, 2, 2, 2, 3, 2, 2, 2), _index(2, 2, 2, 2, 2, 2, 2, 2, size=3)),
    case(Gather(0), normal(DType.F32, 3, 2), _index(0, 2, size=3)),
    *(case(GatherND(), _any(d, 3, 4, 5), _index(6, 2, size=3)) for d in (DType.F32, DType.F16, DType.U8)),
    case(GatherND(), normal(DType.F32, 3, 4), _index(2, 2, 2, size=3, dtype=np.int32)),
    case(GatherND(1), normal(DType.F32, 2, 3, 4), _index(2, 2, 1, size=3)),
    case(GatherND(2), normal(DType.F32, 2, 3, 4, 5), _index(2, 3, 2, size=4)),
    *(
        case(Scatter(1, how), _any(d, 3, 5), _index(2, 4, size=5), _any(d, 2, 4))
        for how in ("none", "add", "mul", "max", "min")
        for d in _NUMBERS
    ),
    *(case(Scatter(0), _any(d, 5, 3), _index(2, 3, size=5), _any(d, 2, 3)) for d in _TYPES),
    *(case(Scatter(1), _any(d, 2, 5, 3), _index(1, 4, 1, size=5), _any(d, 2, 4, 3)) for d in _TYPES),
    case(Scatter(2), normal(DType.F32, 1, 2, 6, 4), np.array([[[[3]]]]), normal(DType.F32, 1, 2, 1, 4)),
    case(
        Scatter(1),
        normal(DType.F32, 3, 5),
        _index(1, 2, size=5, dtype=np.int32),
        normal(DType.F32, 3, 2),
        constant=[1],
    ),
    case(Scatter(1), normal(DType.F32, 3, 5), _index(1, 2, size=5), normal(DType.F32, 2, 2)),  # of two rows
    case(Scatter(1, "add"), normal(DType.F32, 2, 4, 3), _index(2, 2, 1, size=4), normal(DType.F32, 2, 2, 3)),
    *(
        case(ScatterND(how), normal(DType.F32, 4, 3, 2), _index(5, 1, size=4), normal(DType.F32, 5, 3, 2))
        for how in ("none", "add", "mul", "max", "min")
    ),
    case(
        ScatterND(), normal(DType.F32, 4, 3), _index(2, 3, 2, size=4, dtype=np.int32), normal(DType.F32, 2, 3)
    ),
    *(
        case(Cumulative(kind, axis, exclusive, reverse), normal(DType.F32, 3, 4, 5))
        for kind in ("sum", "prod")
        for axis in range(3)
        for exclusive in (False, True)
        for reverse in (False, True)
    ),
    *(case(Cumulative(kind, 0), _any(d, 12, 2)) for kind in ("sum", "prod") for d in _NUMBERS),
    *(
        case(ArgExtreme(axis, largest, last), normal(DType.F32, 3, 4, 5).round())
        for axis in range(3)
        for largest in (False, True)
        for last in (False, True)
    ),
    *(case(ArgExtreme(0), _any(d, 9, 2)) for d in _NUMBERS),
    case(ArgExtreme(0), special(DType.F32)),
    *(
        case(TopK(axis, 3, largest), normal(DType.F32, 3, 4, 5).round())
        for axis in range(3)
        for largest in (False, True)
    ),
    *(case(TopK(1, 4), _any(d, 2, 9)) for d in _NUMBERS),
    case(TopK(0, 0), normal(DType.F32, 3)),
    *(
        case(
            Resample(axis),
            normal(d, 4, 5, 35),
            _table((0, 1), (1, 3), (3, 3)),
            _table((0.5, 0.5), (0.25, 0.75), (1, 0), dtype=d),
            constant=[1, 2],
        )
        for axis in range(3)
        for d in (DType.F16, DType.F32, DType.F64)
    ),
    case(
        Resample(1),
        normal(DType.F32, 2, 3, 16),
        _table((0, 1), (1, 2)),
        _table((0.5, 0.5), (1, 0), dtype=DType.F32),
        constant=[1, 2],
    ),
)
