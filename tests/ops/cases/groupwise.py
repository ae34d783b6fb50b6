"""Layers and tables whose weights have a scale for each group."""

import numpy as np
from support.op_cases import case, normal, uniform, whole

from edgekit.core.ops.groupwise import DenseGroupwise, GatherGroupwise
from edgekit.core.types import DType

_F16, _BF16, _F32, _S4, _S8 = DType.F16, DType.BF16, DType.F32, DType.S4, DType.S8


def _groups(group, outputs, inputs, dtype, scales, zeros):
    """Integers, scales, and zero points where there are any."""
    count = -(-inputs // group)
    yield whole(dtype, outputs, inputs)
    yield uniform(scales, 0.001, 0.02, outputs, count)
    if zeros:
        yield whole(dtype, outputs, count)


def _dense(group, x, outputs, dtype=_S4, *, of=_F32, scales=_F32, zeros=False, lo=-np.inf, hi=np.inf):
    w, scale, *zero = _groups(group, outputs, x[-1], dtype, scales, zeros)
    operands = normal(of, *x), w, scale, normal(of, outputs), *zero
    constant = (1, 2, 3, 4) if zeros else (1, 2, 3)
    return case(DenseGroupwise(group, lo, hi), *operands, ulps=16, summed=True, constant=constant)


def _gather(group, rows, n, index, dtype=_S4, *, of=_F32, scales=_F32, zeros=False):
    w, scale, *zero = _groups(group, rows, n, dtype, scales, zeros)
    constant = (0, 2, 3) if zeros else (0, 2)
    return case(GatherGroupwise(group, of), w, np.asarray(index), scale, *zero, constant=constant)


CASES = (
    # Whole blocks of outputs, a rest, one output; whole groups, a shorter last one, one group, one weight.
    *(
        _dense(group, x, outputs, dtype, zeros=zeros)
        for group, x, outputs in (
            (16, (3, 64), 32),
            (32, (2, 2, 70), 35),
            (128, (1, 40), 1),
            (1, (2, 5), 17),
            (3, (0, 7), 4),
        )
        for dtype in (_S4, _S8)
        for zeros in (False, True)
    ),
    *(
        _dense(16, (2, 33), 18, dtype, of=of, scales=scales, zeros=True)
        for dtype in (_S4, _S8)
        for of, scales in ((_F32, _F16), (_F32, _BF16), (_F16, _F16), (_BF16, _F32))
    ),
    _dense(32, (2, 64), 20, lo=-0.1, hi=0.2),
    *(
        _gather(group, rows, n, index, dtype, zeros=zeros)
        for group, rows, n, index in (
            (16, 5, 32, np.array([[0, 4, -1], [2, -5, 3]])),
            (32, 3, 33, np.array([7, -9, 1], np.int32)),
            (1, 2, 3, np.array(1)),
            (4, 2, 6, np.zeros((0, 2), np.int64)),
        )
        for dtype in (_S4, _S8)
        for zeros in (False, True)
    ),
    *(
        _gather(16, 4, 21, np.array([3, 0]), dtype, of=of, scales=scales, zeros=True)
        for dtype in (_S4, _S8)
        for of, scales in ((_F32, _F16), (_F32, _BF16), (_F16, _F16), (_BF16, _F32))
    ),
)
