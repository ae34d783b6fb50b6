"""Images at positions known at run time, and determinants."""

import numpy as np
from support.op_cases import case, normal, uniform

from edgekit.core.ops.det import Det
from edgekit.core.ops.grid_sample import GridSample
from edgekit.core.types import DType

_OUTSIDE = np.array([[[0, 1e30], [-1e30, 0], [np.inf, -np.inf], [-1, 1], [1, -1]]], np.float32)

CASES = (
    *(
        case(GridSample(mode, padding, align), *images, ulps=8, summed=True)
        for mode in ("nearest", "linear", "cubic")
        for padding in ("zeros", "border", "reflection")
        for align in (False, True)
        for images in (
            (normal(DType.F32, 2, 4, 5, 3), uniform(DType.F32, -3, 3, 2, 6, 7, 2)),
            (normal(DType.F32, 1, 4, 3, 2, 2), uniform(DType.F32, -2, 2, 1, 9, 3)),
            (normal(DType.F32, 1, 1, 4), uniform(DType.F32, -2, 2, 1, 5, 1)),
        )
    ),
    *(case(GridSample(padding=p), normal(DType.F32, 1, 4, 5, 3), _OUTSIDE) for p in ("zeros", "border")),
    *(
        case(GridSample("cubic"), normal(d, 1, 4, 5, 3), uniform(grid, -2, 2, 1, 9, 2), ulps=8, summed=True)
        for d, grid in ((DType.F16, DType.F32), (DType.BF16, DType.F32), (DType.F64, DType.F64))
    ),
    *(
        case(Det(), normal(d, 2, n, n), ulps=60, summed=True)
        for d in (DType.F32, DType.F64)
        for n in (1, 2, 5)
    ),
    case(Det(), normal(DType.F16, 3, 3), ulps=2, summed=True),
    case(Det(), np.zeros((2, 3, 3), np.float32)),
)
