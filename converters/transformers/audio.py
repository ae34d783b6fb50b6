"""Audio as vectors for an encoder: convolutions over mel features or samples."""

from __future__ import annotations

from math import prod

from edgekit.converters.semantics.convolution import SlidingWindow, conv
from edgekit.converters.semantics.onnx.normalize import GroupNormalization
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.families import Family
from edgekit.converters.transformers.layers import activated
from edgekit.converters.transformers.parts import Parts


def shape(family: Family, length: int) -> list[int]:
    """Of the input: mel features, or samples."""
    return [1, length] if family.channels == 1 else [1, family.channels, length]


def stride(family: Family) -> int:
    """How many frames or samples a vector is further than the one before."""
    return prod(layer.stride for layer in family.convolutions)


def vectors(family: Family, length: int) -> int:
    """How many are made of audio of this length."""
    for layer in family.convolutions:
        length = max(0, (length + 2 * layer.padding - layer.size) // layer.stride + 1)
    return length


def convolved(parts: Parts, x: Tensor) -> Tensor:
    """[vectors, width]"""
    c = parts.config
    x = x.reshape(1, c.family.channels, x.shape[-1])
    for layer in c.family.convolutions:
        weights, bias = parts.matrix(layer.part, layer.widths * c.width, x.shape[1], layer.size)
        slide = SlidingWindow((layer.stride,), (1,), (layer.padding, layer.padding))
        x = activated(conv(x, weights, bias, slide, 1), layer.activation)
        if layer.norm:
            scale, shift = (parts.weights(layer.norm, x.shape[1], kind=kind) for kind in ("weight", "bias"))
            parts.at(layer.norm)
            x = GroupNormalization(x, scale, shift, num_groups=1)
    return x.reshape(*x.shape[1:]).transpose(1, 0)
