"""Gradients of operators: how the inputs of a node should change, for results to change in a direction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from edgekit.core.derivative import derivative
from edgekit.core.formula import Formula, parse
from edgekit.core.ops import Op
from edgekit.core.ops._formula import evaluate
from edgekit.core.ops._linear import Linear
from edgekit.core.ops._map import Map
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d, Window
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.transpose import Transpose
from edgekit.core.reasons import OperandError
from edgekit.core.types import Array, DType

Taps = Iterator[tuple[int, int, tuple[slice, ...]]]


def is_differentiable(op: Op) -> bool:
    """Is there a gradient?"""
    if isinstance(op, Pool2d | Reduce):
        return op.kind in ("max", "sum", "mean") if isinstance(op, Pool2d) else op.kind in ("sum", "mean")
    if isinstance(op, Map):
        return has_derivative(op)
    return isinstance(op, Conv2d | Dense | Reshape | Transpose | Concat | Slice)


def has_derivative(op: Map) -> bool:
    """Is this a function of real numbers, whose derivative is known?"""
    try:
        formula = _formula(op)
        return all(derivative(formula, name) for name in "abc"[: op.arity])
    except (OperandError, NotImplementedError):
        return False


def gradients(op: Op, args: Sequence[Array], result: Array, wanted: Array) -> Sequence[Array]:
    """For each operand, from the result that it led to and the direction in which this should change."""
    match op:
        case Linear():
            inside = wanted * ((result > op.lo) & (result < op.hi))
            return _of_convolution(op, args, inside) if isinstance(op, Conv2d) else _of_dense(args, inside)
        case Pool2d():
            return [_of_pool(op, args[0], result, wanted)]
        case Reduce():
            whole = np.broadcast_to(wanted.reshape(_kept(op, args[0])), args[0].shape)
            return [whole / (args[0].size / result.size) if op.kind == "mean" else whole]
        case Map():
            return [*_of_map(op, args, wanted)]
    return _of_copy(op, args, wanted)


def _of_dense(args: Sequence[Array], wanted: Array) -> Sequence[Array]:
    x, w, _ = args
    rows = wanted.reshape(-1, len(w))
    return [wanted @ w, rows.T @ x.reshape(-1, x.shape[-1]), rows.sum(axis=0)]


def _of_convolution(op: Conv2d, args: Sequence[Array], wanted: Array) -> Sequence[Array]:
    x, w, b = args
    window = Window((w.shape[1], w.shape[2]), op.strides, op.pads, op.dilations)
    padded = _padded(x, window)
    of_x, of_w = np.zeros_like(padded), np.zeros_like(w)
    groups, depth = op.groups, w.shape[3]
    rows = wanted.reshape(*wanted.shape[:3], groups, -1)
    weights = w.reshape(groups, -1, *w.shape[1:])
    for i, j, cells in _taps(window, wanted.shape[1:3]):
        seen = padded[cells].reshape(*wanted.shape[:3], groups, depth)
        if groups == 1:  # products of matrices are much faster than sums over single numbers
            of_w[:, i, j] = rows.reshape(-1, len(w)).T @ seen.reshape(-1, depth)
            of_x[cells] += wanted @ w[:, i, j]
        else:
            of_w[:, i, j] = np.einsum("nhwgo,nhwgd->god", rows, seen).reshape(-1, depth)
            of_x[cells] += np.einsum("nhwgo,god->nhwgd", rows, weights[:, :, i, j]).reshape(of_x[cells].shape)
    return [_inside(of_x, x, window), of_w, wanted.sum(axis=(0, 1, 2), dtype=b.dtype)]


def _of_pool(op: Pool2d, x: Array, result: Array, wanted: Array) -> Array:
    """Several maxima of a window share what is wanted."""
    window, of_x = op.window, _padded(np.zeros_like(x), op.window)
    if op.kind == "max":
        padded = _padded(x, window, -np.inf)
        taps = list(_taps(window, wanted.shape[1:3]))
        equal = sum((padded[cells] == result).astype(x.dtype) for *_, cells in taps)
        share = wanted / equal
        for *_, cells in taps:
            of_x[cells] += share * (padded[cells] == result)
    else:
        counts = op.counts(x.shape[1], x.shape[2])[:, :, None] if op.kind == "mean" else 1
        share = wanted / counts
        for *_, cells in _taps(window, wanted.shape[1:3]):
            of_x[cells] += share
    return _inside(of_x, x, window)


def _padded(x: Array, window: Window, fill: float = 0.0) -> Array:
    top, left, bottom, right = window.pads
    return np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)


def _inside(padded: Array, x: Array, window: Window) -> Array:
    top, left, *_ = window.pads
    return padded[:, top : top + x.shape[1], left : left + x.shape[2]]


def _taps(window: Window, outs: Sequence[int]) -> Taps:
    """Each cell of a window, and where it lies in the padded image for all places of the window."""
    (sh, sw), (dh, dw) = window.strides, window.dilations
    for i in range(window.size[0]):
        for j in range(window.size[1]):
            down = slice(i * dh, i * dh + (outs[0] - 1) * sh + 1, sh)
            across = slice(j * dw, j * dw + (outs[1] - 1) * sw + 1, sw)
            yield i, j, (slice(None), down, across)


def _kept(op: Reduce, x: Array) -> tuple[int, ...]:
    return tuple(1 if axis in op.axes else n for axis, n in enumerate(x.shape))


def _of_map(op: Map, args: Sequence[Array], wanted: Array) -> Iterator[Array]:
    """Of an elementwise function: each result depends on one element of each operand. Where it is vertical,
    no step is right."""
    formula, operands = _formula(op), dict(zip("abc", args, strict=False))
    for name, arg in operands.items():
        with np.errstate(all="ignore"):
            slope = evaluate(derivative(formula, name), operands, np.dtype(np.float64))
            whole = wanted * np.nan_to_num(slope, nan=0.0, posinf=0.0, neginf=0.0)
        repeated = [n for n, axis in enumerate((1,) * (whole.ndim - arg.ndim) + arg.shape) if axis == 1]
        yield np.asarray(whole.sum(axis=tuple(repeated), keepdims=True).reshape(arg.shape), arg.dtype)


def _formula(op: Map) -> Formula:
    return parse(op.formula(*(DType.F64,) * op.arity))


def _of_copy(op: Op, args: Sequence[Array], wanted: Array) -> Sequence[Array]:
    """What is only put elsewhere goes back to where numbers say that it was."""
    last = np.cumsum([0, *(arg.size for arg in args)])
    places = [np.arange(n, n + arg.size).reshape(arg.shape) for n, arg in zip(last, args, strict=False)]
    (came_from,) = op.eval(*places)
    found = np.zeros(last[-1], wanted.dtype)
    np.add.at(found, came_from.reshape(-1), wanted.reshape(-1))
    return [found[n : n + arg.size].reshape(arg.shape) for n, arg in zip(last, args, strict=False)]
