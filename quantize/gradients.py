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
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.layer_norm import LayerNorm
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.resample import Resample
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
    has_weights = isinstance(op, Conv2d | ConvTranspose2d | Dense | LayerNorm | Resample)
    return has_weights or isinstance(op, Reshape | Transpose | Expand | Concat | Slice | Pad)


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
            if isinstance(op, ConvTranspose2d):
                return _of_transposed_convolution(op, args, inside)
            return _of_convolution(op, args, inside) if isinstance(op, Conv2d) else _of_dense(args, inside)
        case LayerNorm():
            return _of_norm(op, args, wanted)
        case Resample():
            return _of_filter(op, args, wanted)
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


def _of_transposed_convolution(op: ConvTranspose2d, args: Sequence[Array], wanted: Array) -> Sequence[Array]:
    """Each cell of x wants what the cells of its window do."""
    x, w, b = args
    window = Window((w.shape[1], w.shape[2]), op.strides, (0, 0, 0, 0), op.dilations)
    *_, (_, down, across) = (cells for *_, cells in _taps(window, x.shape[1:3]))  # of the last tap
    plane = np.zeros((len(x), down.stop, across.stop, len(w)), wanted.dtype)  # that windows reach
    ends = [min(n, p + m) for n, p, m in zip(plane.shape[1:3], op.pads, op.size, strict=True)]
    (top, left), (low, right) = (max(op.pads[0], 0), max(op.pads[1], 0)), ends
    plane[:, top:low, left:right] = wanted[
        :, top - op.pads[0] : low - op.pads[0], left - op.pads[1] : right - op.pads[1]
    ]
    of_x, of_w, groups = np.zeros_like(x), np.zeros_like(w), op.groups
    seen = x.reshape(*x.shape[:3], groups, -1)
    weights = w.reshape(groups, -1, *w.shape[1:])
    for i, j, cells in _taps(window, x.shape[1:3]):
        rows = plane[cells].reshape(*x.shape[:3], groups, -1)
        of_w[:, i, j] = np.einsum("nhwgo,nhwgd->god", rows, seen).reshape(len(w), -1)
        of_x += np.einsum("nhwgo,god->nhwgd", rows, weights[:, :, i, j]).reshape(x.shape)
    return [of_x, of_w, wanted.sum(axis=(0, 1, 2), dtype=b.dtype)]


def _of_norm(op: LayerNorm, args: Sequence[Array], wanted: Array) -> Sequence[Array]:
    x, scale, _ = args
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + x.dtype.type(op.epsilon))
    y, slope = centred / spread, wanted * scale
    along = (slope * y).mean(axis=-1, keepdims=True)
    rows = tuple(range(x.ndim - 1))
    of_x = (slope - slope.mean(axis=-1, keepdims=True) - y * along) / spread
    return [of_x, (wanted * y).sum(axis=rows), wanted.sum(axis=rows)]


def _of_filter(op: Resample, args: Sequence[Array], wanted: Array) -> Sequence[Array]:
    x, index, w = args
    of_x, of_w = np.zeros_like(x), np.zeros_like(w)
    seen, found, rows = (np.moveaxis(a, op.axis, 0) for a in (x, of_x, wanted))
    for k in range(index.shape[1]):
        np.add.at(found, index[:, k], rows * w[:, k].reshape(-1, *[1] * (x.ndim - 1)))
        of_w[:, k] = (rows * seen[index[:, k]]).reshape(len(w), -1).sum(axis=1)
    return [of_x, np.zeros_like(index), of_w]


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
