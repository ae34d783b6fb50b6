"""Non-maximum suppression: ties, no area, overlaps right at the limit, hostile numbers; and NonZero."""

import numpy as np
from support.op_cases import case, special, whole

from edgekit.core.ops.non_max_suppression import NonMaxSuppression
from edgekit.core.ops.non_zero import NonZero
from edgekit.core.types import DType

_F32 = np.float32


def _boxes(rng, batch, n, centered=False):
    """Boxes on a grid, so that some overlap right at a limit; some are points or lines."""
    first, size = rng.integers(0, 6, (batch, n, 2)), rng.integers(0, 5, (batch, n, 2))
    if centered:
        return np.concatenate([first, size], -1).astype(_F32)
    corners = np.concatenate([first, first + size], -1)
    turned = rng.random((batch, n)) < 0.3  # the corners come in any order
    return np.where(turned[..., None], corners[..., [2, 1, 0, 3]], corners).astype(_F32)


def _suppress(batch, classes, n, per_class, total=0, dtype=_F32, limit=0.5, least=0.25, seed=0, **fields):
    rng = np.random.default_rng([batch, classes, n, seed])
    shape = (batch, n, classes) if fields.get("classes_last") else (batch, classes, n)
    # Few different scores: many are equal.
    scores = rng.integers(0, 9, shape) if dtype is not _F32 else rng.integers(0, 9, shape) / 8
    groups = batch if fields.get("agnostic") else batch * (classes - fields.get("background", 0))
    op = NonMaxSuppression(per_class, total or groups * per_class, ranked=bool(total), **fields)
    boxes = _boxes(rng, batch, n, fields.get("centered", False))
    return case(op, boxes, scores.astype(dtype), np.array(limit, _F32), np.array(least, dtype))


def _hostile(limit=0.5, least=0.25, **fields):
    """Boxes and scores of NaN, infinities and the largest numbers."""
    rng = np.random.default_rng(3)
    values = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 3.4e38, -3.4e38, 1e-45], _F32)
    boxes, scores = rng.choice(values, (2, 30, 4)), rng.choice(values, (2, 2, 30))
    op = NonMaxSuppression(20, 80, **fields)
    return case(op, boxes, scores, np.array(limit, _F32), np.array(least, _F32))


CASES = (
    *(_suppress(*sizes, centered=c) for sizes in ((1, 1, 40, 40), (2, 3, 33, 7)) for c in (False, True)),
    *(_suppress(1, 2, 24, 24, limit=limit, seed=9) for limit in (0.0, 0.25, 1.0, -1.0, np.nan)),
    *(_suppress(1, 2, 24, 24, limit=limit, limit_drops=True, seed=9) for limit in (0.0, 0.25, 0.5, np.nan)),
    *(_suppress(1, 2, 24, 24, least=least) for least in (0.0, 1.0, np.inf, -np.inf, np.nan)),
    *(_suppress(1, 2, 24, 24, least=least, least_counts=True) for least in (0.5, 1.0, 2.0, -np.inf)),
    # The best of all classes.
    *(
        _suppress(1, 5, 30, 10, total=total, classes_last=True, least_counts=True)
        for total in (1, 12, 49, 50)
    ),
    _suppress(2, 5, 30, 10, total=20),
    _suppress(1, 5, 30, 10, total=20, classes_last=True, background=1),
    _suppress(1, 5, 30, 10, total=20, background=2),
    *(_suppress(2, 5, 30, 10, agnostic=True, classes_last=last, background=1) for last in (False, True)),
    _suppress(3, 4, 30, 10, total=15, agnostic=True),
    *(
        _suppress(1, 5, 30, 10, total=total, dtype=dtype, least=3, least_counts=True, classes_last=True)
        for dtype in (np.int8, np.uint8)
        for total in (20, 50)
    ),
    _suppress(2, 3, 30, 10, dtype=np.uint8, least=3, agnostic=True),
    *(
        _suppress(1, 2, 30, n, limit=1.0, decay=decay, limit_drops=True)
        for n in (30, 10)
        for decay in (-1.0, -8.0)
    ),
    _suppress(1, 3, 30, 10, total=12, limit=0.3, decay=-2.0, limit_drops=True),
    _suppress(1, 1, 1, 1),
    _suppress(1, 1, 1, 1, least=2.0),
    _hostile(),
    _hostile(least=-np.inf, least_counts=True),
    _hostile(centered=True, limit=0.0),
    _hostile(decay=-0.5, limit_drops=True, least=-1.0),
    *(case(NonZero(), whole(d, 4, 5, low=0, high=2)) for d in (DType.BOOL, DType.S8, DType.U16, DType.S64)),
    *(case(NonZero(), special(d)) for d in (DType.F16, DType.BF16, DType.F32, DType.F64)),
    *(case(NonZero(), whole(DType.BOOL, *shape)) for shape in ((1,), (40,), (2, 1, 3, 2, 1, 2))),
    *(case(NonZero(), np.full((3, 4), value)) for value in (False, True)),
)
