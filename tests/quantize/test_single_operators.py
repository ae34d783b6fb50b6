"""How near the integers of single operators are to the reals: as near as 8 bits are, on plain numbers."""

from collections.abc import Sequence

import numpy as np
import pytest

from edgekit.core import fixed
from edgekit.core.fixed import activation_quant
from edgekit.core.ops import Op
from edgekit.core.ops.activations import PRelu
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.resample import Resample
from edgekit.core.types import Array, DType, Quant, Type, type_of
from edgekit.quantize.measure import real, sqnr

RANDOM = np.random.default_rng(7)
N = 96


def numbers(*shape: int, spread: float = 1.0, mean: float = 0.0) -> Array:
    return RANDOM.normal(mean, spread, shape).astype(np.float32)


# Bilinear interpolation to twice the size.
_PLACES = (np.arange(2 * N) + 0.5) / 2 - 0.5
_FIRST = np.floor(_PLACES).astype(np.int32)
INDEX = np.stack([_FIRST, _FIRST + 1], axis=1).clip(0, N - 1).astype(np.int32)
WEIGHTS = np.stack([1 - (_PLACES - _FIRST), _PLACES - _FIRST], axis=1).astype(np.float32)

OPERATORS: dict[str, tuple[Op, int, Sequence[Array]]] = {  # and how many operands are quantized
    "matmul": (MatMul(), 2, [numbers(4, 65, N, mean=0.3), numbers(4, N, 65)]),
    "layer_norm": (LayerNorm(1e-5), 1, [numbers(65, N, spread=1.7), numbers(N, mean=1.0), numbers(N)]),
    "rms_norm": (RmsNorm(1e-5), 1, [numbers(65, N, spread=1.7), numbers(N, mean=1.0)]),
    "long_norm": (LayerNorm(1e-5), 1, [numbers(65, 1024), numbers(1024, mean=2.0), numbers(1024)]),
    "resample": (Resample(1), 1, [numbers(3, N, 8), INDEX, WEIGHTS]),
    "sum": (Reduce("sum", (0, 2)), 1, [numbers(9, 65, 9)]),
    "mean": (Reduce("mean", (0, 2)), 1, [numbers(9, 65, 9)]),
    "prelu": (PRelu(), 1, [numbers(65, N), numbers(N, spread=0.3)]),
}  # fmt: skip


def integers(x: Array, quant: Quant) -> Array:
    """The nearest int8."""
    nearest: Array = np.clip(np.rint(x / quant.scale[0]) + quant.zero[0], -128, 127)
    return nearest.astype(np.int8)


@pytest.mark.parametrize("name", OPERATORS)
def test_integers_are_the_nearest_or_beside_them(name: str) -> None:
    op, count, operands = OPERATORS[name]
    args, exact = list(operands), [x.astype(np.float64) if x.dtype.kind == "f" else x for x in operands]
    types = [type_of(x) for x in operands]
    for i in range(count):
        quant = activation_quant(float(args[i].min()), float(args[i].max()))
        args[i] = integers(args[i], quant)
        types[i] = Type(DType.S8, args[i].shape, quant)
        exact[i] = real(args[i], types[i])
    (truth,) = op.eval(*exact)
    quant = activation_quant(float(truth.min()), float(truth.max()))
    out = Type(DType.S8, truth.shape, quant)
    (found,) = op.integer(args, types, [out])
    nearest = integers(truth, quant)
    assert np.abs(found.astype(int) - nearest).max() <= 1
    assert (found != nearest).mean() < 0.02
    assert sqnr([truth], [real(found, out)]) > 35


def test_roots_are_right_to_27_bits() -> None:
    v = np.concatenate([np.arange(1, 1 << 16), (2.0 ** RANDOM.uniform(0, 46, 100_000)).astype(np.int64)])
    powers = 1 << np.arange(1, 62, dtype=np.int64)
    v = np.concatenate([v, powers - 1, powers, powers + 1])
    root, shift = fixed.reciprocal_root(v)
    assert ((root > 0) & (root < 1 << 31)).all()
    assert np.abs(root / 2.0**shift * np.sqrt(v.astype(np.float64)) - 1).max() < 2.0**-27


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 255, 256, 257, 1025, 4097, 16384])
def test_normalized_numbers_have_16_bits(n: int, centre: bool) -> None:
    u = np.full((3, n), -255, np.int64)
    u[0, 1:] = 0  # all that the row has is in one number
    u[1, 0] = 0
    z = fixed.normalized(u, 0, fixed.norm_digits(n, centre=centre), centre=centre)
    assert np.abs(z).max() < 1 << 15


def test_filters_leave_what_is_even() -> None:
    weights = RANDOM.uniform(0, 1, (500, 7))
    weights /= weights.sum(axis=1, keepdims=True)
    found, digits = fixed.filter_weights(weights)
    assert (found.sum(axis=1) == 1 << digits).all()
    assert np.abs(found).max() < 1 << 15
