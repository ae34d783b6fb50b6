"""Weights rounded for the sake of the outputs of their layer, which make up for the layers before it, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core.ops._linear import Linear
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.types import Array, DType, Quant, Type, Value
from edgekit.quantize.rounding.bias_correction import LayerPair
from edgekit.quantize.rounding.gptq import GptqProblem, GptqTarget, Moments, best_scale, round_to
from edgekit.quantize.rounding.integer_weights import LIMITS, finished_scale, least_scale

_MAX_ROWS = 256  # windows of one sample
_MAX_CELLS = 2**25  # numbers in all windows of a layer: what memory they take
_MAX_INPUTS = 4096  # of one sum; squares of so many are held several times
_FOLDS = 2
_SHARES = {127: (1.0, 0.95), 7: (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)}  # of the largest weight, as in weights.py
# To make up for errors of the inputs helps deep down in a network, and learns by heart where rows are few.
_AIMS = (
    GptqTarget(0, 0.01),
    GptqTarget(0, 0.1),
    GptqTarget(0, 1.0),
    GptqTarget(0.5, 0.1),
    GptqTarget(0.5, 1.0),
    GptqTarget(1, 0.03),
    GptqTarget(1, 0.3),
    GptqTarget(1, 3.0),
)


@dataclass(frozen=True)
class Rounded:
    """Integers [G, I, O] and the scale of each output [G, O]."""

    integers: Array
    scale: Array


def rounded(pair: LayerPair, before: Value) -> Value:
    """Better integers for the weights of a layer, with scales of their own, or those that it has. How far
    windows are trusted is tried: fitted to half of the samples, judged by the other half, both ways round."""
    weights = _grouped(pair.weights, pair.op.groups)
    if weights.shape[1] > _MAX_INPUTS or pair.samples < _FOLDS:
        return before
    limit = LIMITS[before.type.dtype]
    nearest = _nearest(pair, before)
    folds = [_Windows(weights, pair) for _ in range(_FOLDS)]
    for i, (exact, seen) in enumerate(pair.inputs()):
        folds[i % _FOLDS].add(exact, seen, i)
    least = least_scale(pair.bias, pair.x).reshape(nearest.scale.shape)
    scales = _scales(weights, limit, least)
    errors = [0.0] * len(_AIMS)
    for fitted, judge in zip(folds, reversed(folds), strict=True):
        chosen: Array | None = None
        for k, aim in enumerate(_AIMS):
            problem = GptqProblem(fitted.moments, weights, aim)
            chosen = best_scale(problem, scales, limit) if chosen is None else chosen
            errors[k] += judge.error(Rounded(round_to(problem, chosen, limit), chosen))
    best = int(np.argmin(errors))
    if errors[best] >= sum(fold.error(nearest) for fold in folds):
        return before
    problem = GptqProblem(folds[0].moments + folds[1].moments, weights, _AIMS[best])
    scale = best_scale(problem, scales, limit)
    return _value(Rounded(round_to(problem, scale, limit), scale), before.type)


class _Windows:
    """What some samples show of a layer: inputs as integers have them, and the sums that floats have."""

    def __init__(self, weights: Array, pair: LayerPair) -> None:
        self.weights = weights.astype(np.float32)
        self.op = pair.op
        self.shape = pair.weights.shape
        self.bias = pair.bias.reshape(len(weights), 1, -1)
        self.moments = Moments(*weights.shape)
        self.rows: list[tuple[Array, Array]] = []
        self.most = min(_MAX_ROWS, _MAX_CELLS // (weights.shape[0] * weights.shape[1] * pair.samples) + 1)

    def add(self, exact: Array, seen: Array, seed: int) -> None:
        """The same windows of a sample from both graphs; some at random where there are many."""
        count = window_count(self.op, exact.shape, self.shape)
        chosen = np.arange(count)
        if count > self.most:
            chosen = np.random.default_rng(seed).choice(count, self.most, replace=False)
        x = windows(self.op, seen, self.shape, chosen)
        y = windows(self.op, exact, self.shape, chosen) @ self.weights
        self.moments.add(x, y)
        self.rows.append((x, y + self.bias))

    def error(self, found: Rounded) -> float:
        """The squares of what the layer's outputs are off, behind its clamp, with the bias that is best."""
        weights = (found.integers * found.scale[:, None]).astype(np.float32)
        sums = [x @ weights for x, _ in self.rows]
        rows = sum(y.shape[1] for _, y in self.rows)
        bias = sum((y - s).sum(axis=1) for (_, y), s in zip(self.rows, sums, strict=True)) / rows
        total = 0.0
        for (_, y), s in zip(self.rows, sums, strict=True):
            off = np.clip(s + bias[:, None], self.op.lo, self.op.hi) - np.clip(y, self.op.lo, self.op.hi)
            total += float(np.square(off, dtype=np.float64).sum())
        return total


def window_count(op: Linear, x: Sequence[int], w: Sequence[int]) -> int:
    """How many sums a layer makes for each output."""
    return int(np.prod(_places(op, x, w)))


def windows(op: Linear, x: Array, w: Sequence[int], chosen: Array) -> Array:
    """Some of what weights [O, ..., I / groups] are multiplied with: [groups, chosen, inputs of one sum]."""
    places = np.unravel_index(chosen, _places(op, x.shape, w))
    match op:
        case Conv2d():
            found = op.window(Type(DType.F32, tuple(w))).patches(x, 0.0)[places]
        case ConvTranspose2d():
            found = _arriving(op, x, w, places)
        case _:
            found = x[places]
    grouped = found.reshape(len(chosen), -1, op.groups, w[-1])  # [chosen, taps, groups, channels]
    return np.ascontiguousarray(grouped.transpose(2, 0, 1, 3)).reshape(op.groups, len(chosen), -1)


def _places(op: Linear, x: Sequence[int], w: Sequence[int]) -> tuple[int, ...]:
    """The dimensions of a result, without that of outputs."""
    ins = (Type(DType.F32, tuple(shape)) for shape in (x, w, w[:1]))
    return op.infer(*ins)[0].shape[:-1]


def _arriving(op: ConvTranspose2d, x: Array, w: Sequence[int], places: Sequence[Array]) -> Array:
    """The cells [chosen, kh, kw, channels] that each tap adds to chosen cells of the result, or 0."""
    image, *within = places
    cells, is_cell = [], []
    for axis, place in enumerate(within):
        moved = place[:, None] + op.pads[axis] - np.arange(w[1 + axis]) * op.dilations[axis]
        cell, between = np.divmod(moved, op.strides[axis])
        is_cell.append((between == 0) & (cell >= 0) & (cell < x.shape[1 + axis]))
        cells.append(np.where(is_cell[-1], cell, 0))
    found = x[image[:, None, None], cells[0][:, :, None], cells[1][:, None, :]]
    return np.where((is_cell[0][:, :, None] & is_cell[1][:, None, :])[..., None], found, np.float32(0))


def _grouped(weights: Array, groups: int) -> Array:
    """[O, ..., I / groups] as [groups, inputs of one sum, outputs]."""
    flat = weights.reshape(groups, len(weights) // groups, -1)
    return np.ascontiguousarray(flat.transpose(0, 2, 1), np.float64)


def _nearest(pair: LayerPair, before: Value) -> Rounded:
    assert before.data is not None
    assert before.type.quant is not None
    scale = np.asarray(before.type.quant.scale, np.float32).astype(np.float64)
    return Rounded(_grouped(before.data, pair.op.groups), scale.reshape(pair.op.groups, -1))


def _scales(weights: Array, limit: int, least: Array) -> Array:
    """Candidates [K, G, O]."""
    full = np.abs(weights).max(axis=1) / limit
    return np.stack([finished_scale(full * share, least) for share in _SHARES[limit]])


def _value(found: Rounded, type: Type) -> Value:
    """As the constant of a graph."""
    integers = found.integers.transpose(0, 2, 1).reshape(type.shape).astype(type.dtype.numpy)
    integers.flags.writeable = False
    scale = tuple(float(s) for s in found.scale.reshape(-1))
    return Value(Type(type.dtype, type.shape, Quant(scale, (0,) * len(scale), 0)), integers)
