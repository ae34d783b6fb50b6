"""Rules that make norms of rows out of what divides by the root of a mean square or of a sum of squares.

A quotient of two computed tensors has no integer form; normalized rows have one. Norms over other dimensions
than the last become rows between two transposes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgekit.core import fixed
from edgekit.core.ir import Node
from edgekit.core.ops.arithmetic import Add, Clip, Div, Max, Mul, Pow, Sqrt, Sub
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import Edit
from edgekit.core.passes.match import constant_operand, number
from edgekit.core.types import DType

_MAX_FLOOR = 1e-3  # of a root: larger ones are meant to change results, and epsilon would not do that alike


def rows_normalized(edit: Edit, node: Node) -> Sequence[str] | None:
    """d / root(mean or sum of d d + epsilon) -> the norm of d, or that of x where d is x - mean(x)"""
    found = _quotient(edit, node)
    if found is None or edit.type(node.outputs[0]).dtype is not DType.F32:
        return None
    d, divisor = found
    root = _root(edit, divisor)
    if root is None or root.of != d or edit.type(d) != edit.type(node.outputs[0]):
        return None
    shape = edit.type(d).shape
    n = prod(shape[a] for a in root.axes)
    if not 1 < n <= fixed.MAX_NORMED:
        return None
    is_sum = root.kind == "sum"
    epsilon = root.epsilon / n if is_sum else root.epsilon
    scale = edit.const(np.full(n, n**-0.5 if is_sum else 1.0, np.float32))
    kept = [i for i in range(len(shape)) if i not in root.axes]
    perm = (*kept, *root.axes)
    x = _before_mean(edit, d, root.axes)
    rows = _rows(edit, d if x is None else x, perm, n)
    if x is None:
        y = edit.one(RmsNorm(epsilon), rows, scale)
    else:
        y = edit.one(LayerNorm(epsilon), rows, scale, edit.const(np.zeros(n, np.float32)))
    moved = edit.one(Reshape(tuple(shape[p] for p in perm)), y)
    back = tuple(int(p) for p in np.argsort(perm))
    return [moved if back == tuple(range(len(perm))) else edit.one(Transpose(back), moved)]


def _rows(edit: Edit, x: str, perm: tuple[int, ...], n: int) -> str:
    moved = x if perm == tuple(range(len(perm))) else edit.one(Transpose(perm), x)
    return edit.one(Reshape((edit.type(x).size // n, n)), moved)


def _quotient(edit: Edit, node: Node) -> tuple[str, str] | None:
    """(d, r) of d / r, or of d times 1 / r."""
    if isinstance(node.op, Div):
        return node.inputs[0], node.inputs[1]
    if not isinstance(node.op, Mul):
        return None
    for d, name in (node.inputs, node.inputs[::-1]):
        inverse = edit.producer(name)
        if inverse is not None and isinstance(inverse.op, Div) and number(edit, inverse.inputs[0]) == 1:
            return d, inverse.inputs[1]
    return None


@dataclass(frozen=True)
class _Root:
    """The root of a mean or a sum of squares plus epsilon."""

    of: str  # what is squared
    kind: str
    axes: tuple[int, ...]
    epsilon: float


def _root(edit: Edit, name: str) -> _Root | None:
    """The root that `name` is. A root that is kept above a small number is one with its square as epsilon."""
    node = edit.producer(name)
    floor = 0.0
    if node is not None and isinstance(node.op, Clip | Max):
        limits = [number(edit, n) for n in node.inputs[1:]]
        unbounded = isinstance(node.op, Max) or limits[1] == np.inf
        if limits[0] is None or not 0 <= limits[0] <= _MAX_FLOOR or not unbounded:
            return None
        floor, node = float(limits[0]), edit.producer(node.inputs[0])
    if node is None or not isinstance(node.op, Sqrt):
        return None
    squares, epsilon = node.inputs[0], floor**2
    shifted = edit.producer(squares)
    if shifted is not None and isinstance(shifted.op, Add):
        found = constant_operand(edit, shifted)
        added = number(edit, found[1]) if found else None
        if found is None or added is None or added < 0:
            return None
        squares, epsilon = found[0], epsilon + added
    total = edit.producer(squares)
    match total.op if total else None:
        case Reduce(kind, axes, True) if kind in ("mean", "sum") and axes:
            assert total is not None
            of = _squared(edit, total.inputs[0])
            return None if of is None else _Root(of, kind, axes, epsilon)
    return None


def _squared(edit: Edit, name: str) -> str | None:
    """What `name` is the square of."""
    node = edit.producer(name)
    match node.op if node else None:
        case Mul() if node is not None and node.inputs[0] == node.inputs[1]:
            return node.inputs[0]
        case Pow() if node is not None and number(edit, node.inputs[1]) == 2:
            return node.inputs[0]
    return None


def _before_mean(edit: Edit, d: str, axes: tuple[int, ...]) -> str | None:
    """x where d is x - mean(x) over these axes."""
    node = edit.producer(d)
    mean = edit.producer(node.inputs[1]) if node is not None and isinstance(node.op, Sub) else None
    if node is None or mean is None or mean.op != Reduce("mean", axes) or mean.inputs[0] != node.inputs[0]:
        return None
    return node.inputs[0]
