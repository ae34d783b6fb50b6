"""Audio as vectors for an encoder: convolutions over mel features or samples."""

from __future__ import annotations

from math import prod

from edgekit.converters.semantics.convolution import SlidingWindow, conv
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.families import Family
from edgekit.converters.transformers.layers import activated
from edgekit.converters.transformers.parts import Parts


def stride(family: Family) -> int:
    """How many frames or samples a vector is further than the one before."""
    return prod(layer.stride for layer in family.convolutions)


def vectors(family: Family, length: int) -> int:
    """How many are made of audio of this length."""
    for layer in family.convolutions:
        length = (length + 2 * layer.padding - layer.size) // layer.stride + 1
    return length


def convolved(parts: Parts, x: Tensor) -> Tensor:
    """[1, channels, length] as [vectors, width]."""
    c = parts.config
    for layer in c.family.convolutions:
        weights, bias = parts.matrix(layer.part, layer.widths * c.width, x.shape[1], layer.size)
        slide = SlidingWindow((layer.stride,), (1,), (layer.padding, layer.padding))
        x = activated(conv(x, weights, bias, slide, 1), layer.activation)
    return x.reshape(*x.shape[1:]).transpose(1, 0)
