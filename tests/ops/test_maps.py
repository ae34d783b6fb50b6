"""Elementwise operators over many elements compute block by block, and give what they give at once."""

import numpy as np
import pytest

from edgekit.core.ops import Op, _map
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.logic import Less, Where
from edgekit.core.types import Array, DType

RNG = np.random.default_rng(1)
X, Y = RNG.normal(size=(2, 5, 7)).astype(np.float32)
ONE = np.float32(0.5).reshape(())


@pytest.mark.parametrize(
    ("op", "ins"),
    [
        (Add(), (X, Y)),
        (Add(), (X, ONE)),
        (Less(), (X, Y)),
        (Where(), (X < Y, X, ONE.reshape(1, 1))),
        (Add(), (X.astype(np.float16), Y.astype(np.float16))),
        (Cast(DType.S8), (X * 9,)),
    ],
)
@pytest.mark.parametrize("block", [1, 8, 34])
def test_blocks_are_parts_of_the_whole(
    op: Op, ins: tuple[Array, ...], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (expected,) = op.eval(*ins)
    monkeypatch.setattr(_map, "_BLOCK", block)
    (y,) = op.eval(*ins)
    assert (y.dtype, y.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(y, expected)
