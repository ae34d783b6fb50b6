"""How far two graphs are apart on the same inputs: outputs, and the layers whose names match."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgekit import fixed, simulate
from edgekit.errors import EdgeKitError
from edgekit.ir import Array, Graph, Type


@dataclass(frozen=True)
class Distance:
    """One value of both graphs: the largest difference, and the ratio of signal to noise where a is true."""

    name: str  # in a
    other: str  # in b; the same but for outputs that are matched by position
    type: Type
    max_error: float
    sqnr_db: float  # inf where nothing differs
    exact: bool


@dataclass(frozen=True)
class Difference:
    """All values that could be compared, layers in the order of a."""

    samples: int
    layers: tuple[Distance, ...]
    outputs: tuple[Distance, ...]

    @property
    def exact(self) -> bool:
        return all(d.exact for d in self.outputs)


def diff(a: Graph, b: Graph, samples: Sequence[Mapping[str, Array]]) -> Difference:
    """Run both graphs in the simulator and compare what their values stand for: a quantized graph can be held
    against its original. Inputs and outputs that are named differently in b are matched by position. Where the
    graphs have states, the samples are the steps of one stream."""
    inputs = _matched(a, a.inputs, b, b.inputs, "inputs")
    outputs = _matched(a, a.outputs, b, b.outputs, "outputs")
    for mine, other in inputs.items():
        if a.type(mine) != b.type(other) and not (_is_real(a.type(mine)) and _is_real(b.type(other))):
            both = f"{a.type(mine)} in {a.name}, {b.type(other)} in {b.name}"
            raise EdgeKitError("E0102", f"input {mine} is {both}")
    computed = {name for node in b.nodes for name in node.outputs}
    layers = {
        name: name
        for node in a.nodes
        for name in node.outputs
        if name in computed and name not in outputs and a.type(name).shape == b.type(name).shape
    }
    pairs = {**layers, **outputs}
    sums = {name: _Sum() for name in pairs}
    first, second = simulate.Session(a), simulate.Session(b)
    for sample in samples:
        left = first.run_all(sample)
        given = {other: _as(sample[mine], a.type(mine), b.type(other)) for mine, other in inputs.items()}
        right = second.run_all(given)
        for mine, other in pairs.items():
            sums[mine].add(_real(left[mine], a.type(mine)), _real(right[other], b.type(other)))
    distances = {mine: sums[mine].distance(mine, other, a.type(mine)) for mine, other in pairs.items()}
    return Difference(
        len(samples), tuple(distances[name] for name in layers), tuple(distances[name] for name in outputs)
    )


def _matched(a: Graph, names: Sequence[str], b: Graph, others: Sequence[str], what: str) -> dict[str, str]:
    """Which name of b each of these names of a is."""
    if len(names) != len(others):
        counts = f"{len(names)} and {len(others)}"
        raise EdgeKitError("E0102", f"{a.name} and {b.name} differ in the number of {what}: {counts}")
    pairs = {n: n for n in names} if set(names) == set(others) else dict(zip(names, others, strict=True))
    for mine, other in pairs.items():
        if a.type(mine).shape != b.type(other).shape:
            both = f"{mine} is {a.type(mine)} in {a.name}, {other} is {b.type(other)} in {b.name}"
            raise EdgeKitError("E0102", f"the {what} differ: {both}")
    return pairs


def _real(array: Array, type: Type) -> Array:
    """The numbers that a tensor stands for."""
    real = array.astype(np.float64)
    if type.quant is None:
        return real
    scale, zero = np.array(type.quant.scale), np.array(type.quant.zero)
    if type.quant.axis is not None:
        shape = [1] * real.ndim
        shape[type.quant.axis] = -1
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    result: Array = (real - zero) * scale
    return result


def _is_real(type: Type) -> bool:
    """Does a tensor stand for real numbers?"""
    return type.dtype.is_float or type.quant is not None


def _as(array: Array, type: Type, wanted: Type) -> Array:
    """The numbers that an input stands for, as the other model takes them."""
    if type == wanted:
        return array
    real = _real(array, type)
    if wanted.quant is None:
        return real.astype(wanted.dtype.numpy)
    integers = fixed.round_half_away(real / wanted.quant.scale[0]) + wanted.quant.zero[0]
    result: Array = np.clip(integers, *fixed.int_range(wanted.dtype)).astype(wanted.dtype.numpy)
    return result


class _Sum:
    """Error and signal of one value over all samples."""

    def __init__(self) -> None:
        self.largest = self.noise = self.signal = 0.0
        self.exact = True

    def add(self, truth: Array, found: Array) -> None:
        same = (truth == found) | (np.isnan(truth) & np.isnan(found))
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.where(same, 0.0, truth - found)
            error = np.where(np.isnan(error), np.inf, np.abs(error))
            self.largest = max(self.largest, float(error.max(initial=0.0)))
            self.noise += float(np.square(error).sum())
            self.signal += float(np.square(truth[np.isfinite(truth)]).sum())
        self.exact &= bool(same.all())

    def distance(self, name: str, other: str, type: Type) -> Distance:
        if not self.noise:
            ratio = math.inf
        elif not self.signal or math.isinf(self.noise):
            ratio = -math.inf
        else:
            ratio = 10 * math.log10(self.signal / self.noise)
        return Distance(name, other, type, self.largest, ratio, self.exact)
