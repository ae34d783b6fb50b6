"""What calibration shows of the inputs of each layer: what varies together can make up for each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

import numpy as np

from edgekit.core.ops._linear import Linear
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.passes.channels import PrunableLayer
from edgekit.core.simulate import run_all
from edgekit.core.types import Array
from edgekit.quantize.calibration.sample_batches import Sample, stacks
from edgekit.quantize.pruning.groups import Network
from edgekit.quantize.rounding.gptq import Moments
from edgekit.quantize.rounding.weight_rounding import window_count, windows

MAX_INPUTS = 4608  # of one sum; squares of so many are held
_MAX_ROWS = 256  # windows of one sample


def can_be_fitted(layer: PrunableLayer) -> bool:
    """Are its sums few enough numbers, in windows that we can cut?"""
    inputs = layer.w[0].size
    return isinstance(layer.op, Conv2d | Dense) and not layer.is_depthwise and inputs <= MAX_INPUTS


def observe(network: Network, samples: Sequence[Sample]) -> Mapping[str, Moments]:
    """The moments of the inputs of each layer that mixes channels, by its name."""
    seen = {
        name: Moments(layer.op.groups, layer.w[0].size, 0)
        for name, layer in network.mixers.items()
        if can_be_fitted(layer)
    }
    inputs = {name: network.input_of(name) for name in seen}
    number = count()
    for stack in stacks(network.graph, samples):
        values = run_all(stack.graph(network.graph), stack.values)
        given = [stack.apart(values[x]) for x in inputs.values()]
        for each in zip(*given, strict=True):
            seed = next(number)
            for (name, moments), x in zip(seen.items(), each, strict=True):
                layer = network.layers[name]
                found = rows(layer.op, layer.w, x, seed)
                moments.add(found, np.empty((*found.shape[:2], 0), found.dtype))
    return seen


def rows(op: Linear, w: Array, x: Array, seed: int, most: int = _MAX_ROWS) -> Array:
    """Some of the windows of a sample [groups, windows, inputs of one sum]; the same for the same seed."""
    count = window_count(op, x.shape, w.shape)
    chosen = np.arange(count)
    if count > (most := min(most, _MAX_ROWS)):
        chosen = np.sort(np.random.default_rng(seed).choice(count, most, replace=False))
    return windows(op, x, w.shape, chosen)


def grouped(w: Array, groups: int) -> Array:
    """Weights [O, ..., I] as [groups, inputs of one sum, outputs]."""
    flat = w.reshape(groups, len(w) // groups, -1)
    return np.ascontiguousarray(flat.transpose(0, 2, 1), np.float64)


def ungrouped(w: Array, shape: Sequence[int]) -> Array:
    """The other way round."""
    return np.asarray(w.transpose(0, 2, 1).reshape(shape))


def columns(inputs: Array, layer: PrunableLayer) -> Array:
    """Inputs of units [units, inputs] as places in a window [units, cells]: each input at every tap."""
    channels = layer.w.shape[-1]
    taps = layer.w[0].size // channels
    places = inputs[:, None, :] + channels * np.arange(taps)[:, None]
    return np.asarray(places.reshape(len(inputs), -1))
