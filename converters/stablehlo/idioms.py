"""What JAX spells out and EdgeKit has an operator for: means, softmax, the sigmoid, kept dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgekit.converters.semantics.compose import softmax
from edgekit.converters.tensor import Tensor
from edgekit.core import ir
from edgekit.core.ops import Op
from edgekit.core.ops.activations import Exp, Sigmoid
from edgekit.core.ops.arithmetic import Add, Neg, Sub
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce

_RECENT = 16  # operators, among which the parts of an idiom are


def quotient(a: Tensor, b: Tensor) -> Tensor | None:
    """What a / b is as one operator, if it is."""
    return (_mean(a, b) or _sigmoid(a, b) or _softmax(a, b)) if a.dtype.is_float else None


def kept(x: Tensor, dims: Sequence[int], rank: int) -> Tensor | None:
    """A reduction whose dimensions come back with size 1: the one that keeps them."""
    node = _maker(x, Reduce)
    if node is None:
        return None
    operand, op = Tensor(x.builder, node.inputs[0]), node.op
    assert isinstance(op, Reduce)
    rest = [i for i in range(operand.rank) if i not in op.axes]
    if op.keepdims or operand.rank != rank or list(dims) != rest:
        return None
    return operand.apply(replace(op, keepdims=True))


def _mean(a: Tensor, b: Tensor) -> Tensor | None:
    """A sum over so many cells as it is divided by."""
    node = _maker(a, Reduce, Pool2d)
    if node is None or b.data is None or np.broadcast_shapes(a.shape, b.shape) != a.shape:
        return None
    op, x = node.op, Tensor(a.builder, node.inputs[0])
    if isinstance(op, Reduce) and op.kind == "sum":
        count = np.prod([x.shape[i] for i in op.axes], dtype=np.int64)
        return x.apply(replace(op, kind="mean")) if count and np.all(b.data == count) else None
    if isinstance(op, Pool2d) and op.kind == "sum":
        for counted in ((0, 0, 0, 0), op.pads):
            pool = replace(op, kind="mean", counted=counted)
            counts = pool.counts(*x.shape[1:3])[:, :, None]
            if counts.all() and np.all(b.data == counts):
                return x.apply(pool)
    return None


def _sigmoid(a: Tensor, b: Tensor) -> Tensor | None:
    """1 / (1 + exp(-x))"""
    total = _maker(b, Add)
    if total is None or a.data is None or not np.all(a.data == 1):
        return None
    terms = [Tensor(b.builder, name) for name in total.inputs]
    ones = [t for t in terms if t.data is not None and np.all(t.data == 1)]
    power = next((made for t in terms if (made := _maker(t, Exp))), None)
    opposite = _maker(Tensor(b.builder, power.inputs[0]), Neg) if power and ones else None
    x = Tensor(b.builder, opposite.inputs[0]) if opposite else None
    return x.apply(Sigmoid()) if x is not None and x.shape == b.shape else None


def _softmax(a: Tensor, b: Tensor) -> Tensor | None:
    """exp(x - max(x)) / its sum, over one dimension"""
    power, total = _maker(a, Exp), _maker(b, Reduce)
    shifted = _maker(Tensor(a.builder, power.inputs[0]), Sub) if power else None
    most = _maker(Tensor(a.builder, shifted.inputs[1]), Reduce) if shifted else None
    if shifted is None or most is None or total is None or total.inputs[0] != a.name:
        return None
    x, high, whole = shifted.inputs[0], most.op, total.op
    assert isinstance(high, Reduce)
    assert isinstance(whole, Reduce)
    same = most.inputs[0] == x and high.axes == whole.axes and high.keepdims and whole.keepdims
    if not same or (high.kind, whole.kind) != ("max", "sum") or len(high.axes) != 1:
        return None
    return softmax(Tensor(a.builder, x), high.axes[0])


def _maker(x: Tensor, *kinds: type[Op]) -> ir.Node | None:
    """The node that computes x, where it is one of these and not long ago."""
    recent = reversed(x.builder.nodes[-_RECENT:])
    node = next((node for node in recent if x.name in node.outputs), None)
    return node if node is not None and isinstance(node.op, kinds) else None
