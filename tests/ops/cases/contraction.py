"""Matrix products and convolutions."""

import numpy as np
from support.op_cases import case, normal, whole

from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.types import DType, Quant

_INTEGERS = (DType.S8, DType.U8, DType.S16, DType.U16, DType.S32, DType.U32, DType.S64, DType.U64)
_FLOATS = (DType.F16, DType.BF16, DType.F32, DType.F64)
_F32 = DType.F32


def _matmul(a, b, op=None, dtype=_F32):
    return case(op or MatMul(), normal(dtype, *a), normal(dtype, *b), ulps=4, summed=True)


def _conv(op, x, w, dtype=_F32, constant=()):
    operands = normal(dtype, *x), normal(dtype, *w), normal(dtype, w[0])
    return case(op, *operands, ulps=8, summed=True, constant=constant)


def _narrow(op, x, w, dtype):
    """Integers of 32 bits with weights of fewer."""
    return case(op, whole(DType.S32, *x), whole(dtype, *w), whole(DType.S32, w[0]), constant=(1, 2))


def _bytes(op, x, w, axis=0):
    """Floats with weights of bytes, a scale for each output or one for all."""
    count = w[0] if axis == 0 else 1
    quant = Quant(tuple(0.001 * (1 + i % 7) for i in range(count)), (0,) * count, axis)
    operands = normal(_F32, *x), whole(DType.S8, *w), normal(_F32, w[0])
    return case(op, *operands, ulps=8, summed=True, constant=(1, 2), quants=(None, quant, None))


_NARROW = (
    (Dense(), (3, 5), (35, 5)),
    (Dense(), (2, 3, 20), (16, 20)),
    (Conv2d((2, 1), (1, 0, 2, 1), (1, 2)), (2, 7, 6, 3), (17, 3, 3, 3)),
    (Conv2d((1, 1), (1, 1, 1, 1), groups=8), (2, 3, 7, 8), (8, 3, 3, 1)),
    (ConvTranspose2d((5, 5), (2, 2)), (1, 2, 2, 3), (4, 2, 2, 3)),
)


CASES = (
    *(_matmul((5, 7), (7, 3), dtype=d) for d in _FLOATS),
    *(case(MatMul(), whole(d, 3, 4), whole(d, 4, 20)) for d in _INTEGERS),
    # Whole blocks of columns, a rest, one column, one row, nothing to add up, nothing at all.
    _matmul((2, 9), (9, 32)),
    _matmul((2, 9), (9, 37)),
    _matmul((4, 40), (40, 1)),
    _matmul((1, 40), (40, 20)),
    _matmul((3, 0), (0, 4)),
    _matmul((0, 3), (3, 4)),
    # Many matrices: each its own, one for all, and dimensions in between.
    _matmul((2, 3, 4, 5), (2, 3, 5, 6)),
    _matmul((2, 3, 4, 5), (5, 6)),
    _matmul((4, 5), (2, 3, 5, 6)),
    _matmul((2, 1, 4, 5), (1, 3, 5, 6)),
    _matmul((2, 1, 2, 1, 2, 1, 2, 1, 2, 3), (1, 2, 1, 2, 1, 2, 1, 2, 3, 2)),
    # Operands read in another order: dot products of rows, columns of a, and neither dense.
    _matmul((3, 35), (4, 35), MatMul((), (1, 0))),
    _matmul((35, 3), (35, 4), MatMul((1, 0), ())),
    _matmul((35, 3), (4, 35), MatMul((1, 0), (1, 0))),
    _matmul((2, 6, 3, 17), (2, 6, 3, 17), MatMul((0, 2, 1, 3), (0, 2, 3, 1))),
    _matmul((2, 6, 3, 4), (2, 4, 3, 17), MatMul((0, 2, 1, 3), (0, 2, 1, 3))),
    _matmul((35, 3), (20, 35), MatMul((1, 0), (1, 0))),
    *(_conv(Dense(), (3, 5), (4, 5), d) for d in _FLOATS),
    *(_conv(Dense(), (2, 3, 20), (n, 20), constant=c) for n in (1, 16, 35) for c in ((), (1,), (1, 2))),
    _conv(Dense(lo=-1, hi=0.5), (5, 20), (20, 20)),
    *(_conv(Conv2d(), (1, 5, 6, 3), (4, 3, 2, 3), d) for d in _FLOATS),
    _conv(Conv2d((2, 1), (1, 0, 2, 1), (1, 2)), (2, 7, 6, 3), (17, 3, 3, 3)),
    _conv(Conv2d(groups=2, lo=0, hi=6), (1, 4, 4, 6), (40, 3, 3, 3)),
    _conv(Conv2d(groups=2), (1, 4, 4, 6), (40, 3, 3, 3), constant=(1, 2)),
    _conv(Conv2d((1, 2), (1, 1, 1, 1), groups=18), (2, 5, 6, 18), (18, 3, 3, 1)),
    _conv(Conv2d((2, 1), (1, 1, 0, 0), (2, 1), groups=3, lo=-1, hi=1), (1, 6, 5, 3), (21, 2, 3, 1)),
    # On GPUs: quads of outputs in twos, the last of which has fewer; and channels one by one.
    _conv(Conv2d(lo=0), (1, 3, 3, 8), (14, 1, 1, 8)),
    _conv(Conv2d((1, 1), (1, 1, 1, 1), groups=2), (2, 2, 3, 8), (16, 3, 3, 4)),
    _conv(Conv2d((2, 2), (0, 1, 1, 1)), (1, 6, 5, 1), (14, 4, 3, 1)),
    # Windows of 3 by 3 as polynomials: for each number of outputs at a time, and more channels than there is
    # memory for.
    _conv(Conv2d((1, 1), (1, 1, 1, 1), lo=0), (2, 7, 5, 8), (32, 3, 3, 8)),
    _conv(Conv2d((1, 1), (0, 2, 2, 0)), (1, 8, 8, 36), (16, 3, 3, 36)),
    # Depthwise, several pixels of a row at a time, with and without a rest.
    _conv(Conv2d((1, 1), (1, 1, 1, 1), groups=8), (2, 3, 7, 8), (8, 3, 3, 1)),
    _conv(Conv2d((2, 2), (0, 0, 1, 1), (2, 1), groups=4, lo=0, hi=6), (1, 6, 9, 4), (4, 2, 3, 1)),
    _conv(Conv2d((1, 3), groups=4), (1, 6, 17, 4), (4, 2, 5, 1)),
    *(
        case(Conv2d(pads=(1, 1, 1, 1)), whole(d, 1, 4, 4, 3), whole(d, 5, 3, 3, 3), whole(d, 5))
        for d in (DType.S32, DType.S64)
    ),
    *(_bytes(op, x, w) for op, x, w in _NARROW),
    _bytes(Dense(lo=-1, hi=0.5), (5, 20), (37, 20), axis=None),
    _bytes(Conv2d(groups=2, lo=0, hi=6), (1, 4, 4, 6), (40, 3, 3, 3)),
    _bytes(ConvTranspose2d((5, 4), groups=2, lo=0, hi=6), (1, 4, 4, 6), (40, 2, 1, 3)),
    *(_narrow(op, x, w, d) for op, x, w in _NARROW for d in (DType.S8, DType.S16)),
    *(_conv(ConvTranspose2d((8, 9), (2, 3)), (1, 4, 3, 3), (4, 2, 3, 3), d) for d in _FLOATS),
    _conv(ConvTranspose2d((6, 7), (2, 1), (1, 1), (1, 2)), (2, 3, 5, 3), (17, 3, 3, 3)),
    _conv(ConvTranspose2d((5, 4), groups=2, lo=0, hi=6), (1, 4, 4, 6), (40, 2, 1, 3), constant=(1,)),
    _conv(ConvTranspose2d((5, 5), (2, 2)), (1, 2, 2, 3), (16, 2, 2, 3)),
    _conv(ConvTranspose2d((4, 4), (2, 2)), (1, 4, 0, 4), (4, 2, 2, 4)),  # an image without columns
    # Larger than all windows reach, which leaves the bias; and the far corner of it.
    _conv(ConvTranspose2d((9, 9), (3, 3)), (1, 2, 2, 2), (3, 2, 2, 2)),
    _conv(ConvTranspose2d((3, 3), (2, 2), (-1, 2)), (1, 3, 3, 2), (3, 3, 3, 2)),
    case(
        ConvTranspose2d((5, 5), (2, 2)), *(whole(DType.S32, *s) for s in ((1, 2, 2, 3), (4, 2, 2, 3), (4,)))
    ),
    case(Conv2d(), np.zeros((0, 4, 4, 2), np.float32), normal(_F32, 3, 2, 2, 2), normal(_F32, 3)),
)
