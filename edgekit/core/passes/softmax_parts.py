"""exp(x - max x) / sum exp(x - max x) becomes a softmax, which integers have a form for."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.activations import Exp
from edgekit.core.ops.arithmetic import Div, Sub
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import Edit, rewrite
from edgekit.core.types import DType


def softmax_parts(graph: Graph) -> Graph:
    """The pass."""
    return rewrite(graph, parts_to_softmax)


def parts_to_softmax(edit: Edit, node: Node) -> Sequence[str] | None:
    """e / sum(e) with e = exp(x - max(x)) -> softmax(x), where sum and maximum are along one dimension"""
    if not isinstance(node.op, Div) or edit.type(node.outputs[0]).dtype is not DType.F32:
        return None
    powers, total = node.inputs
    exp, sums = edit.producer(powers), edit.producer(total)
    if exp is None or not isinstance(exp.op, Exp) or sums is None or sums.inputs != (powers,):
        return None
    away = edit.producer(exp.inputs[0])
    if away is None or not isinstance(away.op, Sub):
        return None
    x, peak = away.inputs
    most = edit.producer(peak)
    axis = _axis(sums, "sum")
    if axis is None or most is None or most.inputs != (x,) or _axis(most, "max") != axis:
        return None
    rank = edit.type(x).rank
    if edit.type(total).rank != rank or edit.type(peak).rank != rank:
        return None
    order = (*(i for i in range(rank) if i != axis), axis)
    rows = x if axis == rank - 1 else edit.one(Transpose(order), x)
    found = edit.one(Softmax(), rows)
    return (found,) if axis == rank - 1 else edit.add(Transpose(_inverse(order)), found)


def _axis(node: Node, kind: str) -> int | None:
    """The one dimension along which such a reduction runs, and which stays with a size of 1."""
    op = node.op
    return op.axes[0] if isinstance(op, Reduce) and op.kind == kind and len(op.axes) == 1 else None


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(order.index(i) for i in range(len(order)))
