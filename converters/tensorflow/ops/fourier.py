"""Fourier transforms (tf.signal), and what leads from real numbers to complex ones and back."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics import fourier
from edgekit.converters.semantics.movement import expand, part
from edgekit.converters.tensor import Tensor, concat, scalar
from edgekit.converters.tensorflow.complex_numbers import ComplexTensor
from edgekit.core.ops.arithmetic import Sqrt


def RFFT(x: Tensor, length: Tensor) -> ComplexTensor:
    pairs = fourier.spectrum(x, int(scalar(length, "the length of a transform")))
    parts = (part(pairs, pairs.rank - 1, i, 1).reshape(*pairs.shape[:-1]) for i in (0, 1))
    return ComplexTensor(*parts)


def IRFFT(z: ComplexTensor, length: Tensor) -> Tensor:
    columns = [x.reshape(*x.shape, 1) for x in (z.real, z.imaginary)]
    return fourier.signal(concat(columns, -1), int(scalar(length, "the length of a transform")))


def Complex(real: Tensor, imaginary: Tensor) -> ComplexTensor:
    """Of operands that broadcast to each other."""
    shape = np.broadcast_shapes(real.shape, imaginary.shape)
    return ComplexTensor(expand(real, shape), expand(imaginary, shape))


def Real(z: ComplexTensor) -> Tensor:
    return z.real


def Imag(z: ComplexTensor) -> Tensor:
    return z.imaginary


def Conj(z: ComplexTensor) -> ComplexTensor:
    return ComplexTensor(z.real, -z.imaginary)


def ComplexAbs(z: ComplexTensor) -> Tensor:
    return (z.real * z.real + z.imaginary * z.imaginary).apply(Sqrt())
