"""Fourier transforms of real numbers by the operators of the core, whose complex numbers are pairs."""

from __future__ import annotations

from edgekit.converters.semantics.movement import pad
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.fft import Fft, IrfftMerge, RfftSplit

_LEAST = 4  # points of a transform


def spectrum(x: Tensor, points: int) -> Tensor:
    """[..., points / 2 + 1, 2] of the last dimension, cut off or filled up with zeros."""
    _check(x, points)
    y = _resized(x, x.rank - 1, points).apply(Fft(points // 2)).apply(RfftSplit())
    return y.reshape(*y.shape[:-1], points // 2 + 1, 2)


def signal(z: Tensor, points: int) -> Tensor:
    """[..., points], whose spectrum the last two dimensions begin with."""
    _check(z, points)
    z = _resized(z, z.rank - 2, points // 2 + 1)
    y = z.reshape(*z.shape[:-2], points + 2).apply(IrfftMerge()).apply(Fft(points // 2, inverse=True))
    return y * (1 / points)


def _check(x: Tensor, points: int) -> None:
    if points < _LEAST or points % 2:
        message = f"a transform of {x.type} with {points} points is not supported"
        raise EdgeKitError("E0203", message, hint="an even number of 4 or more points")


def _resized(x: Tensor, axis: int, size: int) -> Tensor:
    after = [0] * x.rank
    after[axis] = size - x.shape[axis]
    return pad(x, [0] * x.rank, after, "constant")
