"""A mean over neighbouring dimensions is a pooling over an image of one column."""

import numpy as np
import pytest

from edgekit.core.ops import Op
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.passes.means import pooled_mean
from edgekit.core.types import DType, Type

SHAPE = (2, 3, 4, 5)
X = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)


@pytest.mark.parametrize("axes", [(0,), (1,), (3,), (1, 2), (2, 3), (0, 1, 2), (0, 1, 2, 3)])
def test_the_pooling_computes_the_mean(axes: tuple[int, ...]) -> None:
    found = pooled_mean(Reduce("mean", axes), Type(DType.F32, SHAPE))
    assert found is not None
    (y,) = found.op.eval(X.reshape(found.image))
    kept = tuple(1 if axis in axes else n for axis, n in enumerate(SHAPE))
    np.testing.assert_allclose(y.reshape(kept), X.mean(axes, keepdims=True), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("op", "dtype", "shape"),
    [
        (Reduce("mean", (1, 3)), DType.F32, SHAPE),
        (Reduce("mean", ()), DType.F32, SHAPE),
        (Reduce("sum", (1, 2)), DType.F32, SHAPE),
        (Reduce("mean", (1, 2)), DType.S32, SHAPE),
        (Reduce("mean", (1, 2)), DType.F32, (2, 0, 4, 5)),
        (Pool2d("mean", (2, 2)), DType.F32, SHAPE),
    ],
)
def test_others_stay(op: Op, dtype: DType, shape: tuple[int, ...]) -> None:
    assert pooled_mean(op, Type(dtype, shape)) is None
