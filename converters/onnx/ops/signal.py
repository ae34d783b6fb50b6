"""Fourier transforms: products with a constant matrix of sines and cosines."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.compose import dense
from edgekit.converters.semantics.movement import pad, part
from edgekit.converters.tensor import Tensor, concat, scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.types import Array


def DFT(
    x: Tensor,
    length: Tensor | None = None,
    along: Tensor | None = None,
    *,
    axis: int = 1,
    inverse: int = 0,
    onesided: int = 0,
    opset: int,
) -> Tensor:
    if opset >= 20:
        axis = -2 if along is None else int(scalar(along, "the axis of DFT"))
    axis = x.axis(axis)
    if axis == x.rank - 1 or x.shape[-1] not in (1, 2):
        raise EdgeKitError(
            "E0401", f"DFT over axis {axis} of {x.type}: the last holds real and imaginary part"
        )
    n, real_result = x.shape[axis], bool(inverse and onesided)
    size = (
        int(scalar(length, "the length of DFT")) if length is not None else 2 * (n - 1) if real_result else n
    )
    if size < 1 or (real_result and x.shape[-1] == 1):
        raise EdgeKitError("E0401", f"DFT of length {size} over {x.type} makes no sense")
    x.builder.afford((2 * size, 2 * n))
    order = [i for i in range(x.rank - 1) if i != axis]
    rows = x.transpose(*order, x.rank - 1, axis)
    if real_result:
        parts = rows.reshape(*rows.shape[:-2], 2 * n)
        y = dense(parts, x.like(_inverse_real(n, size))).reshape(*rows.shape[:-2], 1, size)
    else:
        y = _transform(rows, size, size // 2 + 1 if onesided else size, bool(inverse))
    return y.transpose(*range(axis), x.rank - 1, *range(axis, x.rank - 2), x.rank - 2)


def _transform(x: Tensor, size: int, count: int, inverse: bool) -> Tensor:
    """`count` frequencies of each row; real and imaginary parts are rows. Cosines are even and sines odd, so
    samples k and size - k are added and subtracted first: half the products, exact zeros at symmetry."""
    n = x.shape[-1]
    x = pad(x, (0,) * x.rank, (*(0,) * (x.rank - 1), size - n), "constant")
    pairs = (size - 1) // 2
    up, down = part(x, x.rank - 1, 1, pairs), part(x, x.rank - 1, size - 1, pairs, -1)
    middle = [part(x, x.rank - 1, size // 2, 1)] if size % 2 == 0 else []
    even, odd = concat([part(x, x.rank - 1, 0, 1), up + down, *middle], -1), up - down
    cosine, sine = _circle(count, size // 2 + 1, size)
    scale = 1 / size if inverse else 1
    p = dense(even, x.like(cosine * scale))
    q = dense(odd, x.like(sine[:, 1 : pairs + 1] * (-scale if inverse else scale)))
    if x.shape[-2] == 1:
        return concat([p, -q], -2)
    (p_real, p_imaginary), (q_real, q_imaginary) = (
        [part(r, r.rank - 2, i, 1) for i in (0, 1)] for r in (p, q)
    )
    return concat([p_real + q_imaginary, p_imaginary - q_real], -2)


def STFT(
    x: Tensor,
    step: Tensor,
    window: Tensor | None = None,
    length: Tensor | None = None,
    *,
    onesided: int = 1,
) -> Tensor:
    """Frames of the signal, windowed and transformed: a convolution with the windowed matrix."""
    batch, steps, parts = x.shape
    stride = int(scalar(step, "the step of STFT"))
    size = int(scalar(length, "the frame length of STFT")) if length is not None else steps
    if window is not None:
        size = window.type.size
    x.builder.afford((2 * size, 2 * size))
    filters = _filters(size, parts, bool(onesided))[:, None]
    if window is not None:
        filters = filters * window.constant("the window of STFT").astype(np.float64)[:, None]
    op = Conv2d(strides=(1, stride))
    y = x.reshape(batch, 1, steps, parts).apply(op, x.like(filters), x.like(np.zeros(len(filters))))
    return y.reshape(batch, y.shape[2], len(filters) // 2, 2)


def _filters(size: int, parts: int, onesided: bool) -> Array:
    """[2 result, size, parts]: the real and imaginary part of each frequency in turn, from samples of that
    many numbers."""
    count = size // 2 + 1 if onesided else size
    cosine, sine = _circle(count, size, size)
    # [result part, sample part, frequency, sample]
    matrix = np.array([[cosine, sine], [-sine, cosine]])[:, :parts]
    return matrix.transpose(2, 0, 3, 1).reshape(2 * count, size, parts)


def _inverse_real(n: int, size: int) -> Array:
    """The matrix from the first half of a spectrum, first its real and then its imaginary parts, to the real
    signal: the other half mirrors it."""
    cosine, sine = _circle(size, n, size)
    k = np.arange(n)
    weight = np.where((k == 0) | (2 * k == size), 1, 2) * (k <= size // 2) / size
    # The imaginary parts of the ends do not count: sines vanish there.
    return np.concatenate([cosine * weight, -sine * weight], axis=1)


def _circle(rows: int, columns: int, size: int) -> tuple[Array, Array]:
    """Cosines and sines of 2 pi row column / size, exact for large products, too."""
    turns = np.outer(np.arange(rows), np.arange(columns)) % size / size
    return np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)
