"""Compositions that are operators of their own: Gelu, Swish, LayerNorm, as older exporters spell them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops.activations import Erf, Gelu, GeluTanh, HardSigmoid, HardSwish, Sigmoid, Swish, Tanh
from edgekit.core.ops.arithmetic import Add, Clip, Div, Mul, Pow, Sqrt, Sub
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.passes import Edit, rewrite
from edgekit.core.passes.match import constant_operand, number, per_channel, quantized
from edgekit.core.types import Array, DType


def idioms(graph: Graph) -> Graph:
    """The pass."""
    return rewrite(graph, gated, normalized, norm_scaled, norm_shifted)


def gated(edit: Edit, node: Node) -> Sequence[str] | None:
    """x times a function of x: Gelu, its approximation by tanh, Swish, HardSwish"""
    if (
        not isinstance(node.op, Mul | Div)
        or not edit.type(node.outputs[0]).dtype.is_float
        or quantized(edit, node)
    ):
        return None
    product = _product(edit, node)
    if len(product.names) != 2:
        return None
    for x, gate in (product.names, product.names[::-1]):
        inner = edit.producer(gate)
        if inner is None or not edit.used_once(gate) or edit.type(x) != edit.type(node.outputs[0]):
            continue
        found = _gate(edit, x, inner)
        if found is not None and _close(product.factor, found[1]):
            return edit.add(found[0], x, *(edit.const(c, edit.type(x).dtype.numpy) for c in found[2]))
    return None


def _gate(edit: Edit, x: str, gate: Node) -> tuple[Op, float, tuple[float, ...]] | None:
    """The operator that is x times this gate times the number given, and its constant operands."""
    match gate.op:
        case Sigmoid():
            inner = _product_of(edit, gate.inputs[0])
            return (Swish(), 1.0, (inner.factor,)) if inner.names == [x] else None
        case HardSigmoid():
            parameters = tuple(number(edit, name) for name in gate.inputs[1:])
            own = gate.inputs[0] == x and _all_close(parameters, (1 / 6, 1 / 2))
            return (HardSwish(), 1.0, ()) if own else None
        case Clip():
            return _hard_gate(edit, x, gate)
        case Add():
            term, one = _sum(edit, gate)
            inner_node = edit.producer(term) if one == 1 else None
            if inner_node is None or not edit.used_once(term):
                return None
            inner = _product_of(edit, inner_node.inputs[0])
            if isinstance(inner_node.op, Erf) and inner.names == [x] and _close(inner.factor, 0.5**0.5):
                return Gelu(), 0.5, ()
            cubic = (
                isinstance(inner_node.op, Tanh)
                and len(inner.names) == 1
                and _is_cubic(edit, x, inner.names[0])
            )
            return (GeluTanh(), 0.5, ()) if cubic and _close(inner.factor, (2 / np.pi) ** 0.5) else None
        case _:
            return None


def _hard_gate(edit: Edit, x: str, gate: Node) -> tuple[Op, float, tuple[float, ...]] | None:
    """clip(x + 3, 0, 6) / 6, or clip(x / 6 + 1/2, 0, 1)"""
    before = edit.producer(gate.inputs[0])
    if before is None or not isinstance(before.op, Add) or not edit.used_once(gate.inputs[0]):
        return None
    term, offset = _sum(edit, before)
    if not term:
        return None
    inner = _product_of(edit, term)
    shape = (inner.factor, offset, *(number(edit, name) for name in gate.inputs[1:]))
    if inner.names != [x]:
        return None
    if _all_close(shape, (1, 3, 0, 6)):
        return HardSwish(), 1 / 6, ()
    return (HardSwish(), 1.0, ()) if _all_close(shape, (1 / 6, 1 / 2, 0, 1)) else None


def _is_cubic(edit: Edit, x: str, name: str) -> bool:
    """x + 0.044715 x^3"""
    node = edit.producer(name)
    if node is None or not isinstance(node.op, Add) or x not in node.inputs or not edit.used_once(name):
        return False
    (other,) = [n for n in node.inputs if n != x] or [x]
    cube = _product_of(edit, other)
    return cube.names == [x, x, x] and _close(cube.factor, 0.044715)


def normalized(edit: Edit, node: Node) -> Sequence[str] | None:
    """(x - mean(x)) / sqrt(mean(its square) + epsilon) over the last dimension, or without the mean"""
    found = _quotient(edit, node)
    if found is None or edit.type(node.outputs[0]).dtype not in (DType.F32, DType.F64):
        return None
    d, root = found[0], edit.producer(found[1])
    shifted = edit.producer(root.inputs[0]) if root and isinstance(root.op, Sqrt) else None
    if shifted is None or not isinstance(shifted.op, Add) or edit.type(d) != edit.type(node.outputs[0]):
        return None
    variance, epsilon = _sum(edit, shifted)
    squared = _mean(edit, variance)
    if epsilon is None or squared is None or not _is_square(edit, squared, d):
        return None
    n = edit.type(d).shape[-1]
    ones, zeros = (edit.const(np.full(n, c), edit.type(d).dtype.numpy) for c in (1, 0))
    centred = edit.producer(d)
    if (
        centred is not None
        and isinstance(centred.op, Sub)
        and _mean(edit, centred.inputs[1]) == centred.inputs[0]
    ):
        return edit.add(LayerNorm(epsilon), centred.inputs[0], ones, zeros)
    return edit.add(RmsNorm(epsilon), d, ones)


def _quotient(edit: Edit, node: Node) -> tuple[str, str] | None:
    """(a, b) of a / b, or of a (1 / b), as rsqrt is spelled."""
    if isinstance(node.op, Div):
        return node.inputs[0], node.inputs[1]
    for a, inverse in (node.inputs, node.inputs[::-1]) if isinstance(node.op, Mul) else ():
        before = edit.producer(inverse)
        if before is not None and isinstance(before.op, Div) and number(edit, before.inputs[0]) == 1:
            return a, before.inputs[1]
    return None


def _is_square(edit: Edit, name: str, x: str) -> bool:
    """Is it x x, perhaps of x before a reshape?"""
    node = edit.producer(name)
    reshaped = node is not None and isinstance(node.op, Reshape)
    if node is not None and reshaped:
        before = edit.producer(x)
        same = edit.type(name) == edit.type(x) and before is not None and isinstance(before.op, Reshape)
        x = before.inputs[0] if before is not None and same else ""
        node = edit.producer(node.inputs[0])
    return node is not None and isinstance(node.op, Mul) and set(node.inputs) == {x}


def norm_scaled(edit: Edit, node: Node) -> Sequence[str] | None:
    """norm(x) * c -> the scale of the norm"""
    found = _norm_and_constant(edit, node, Mul)
    if found is None:
        return None
    norm, c = found
    vectors = [edit.const(data * c) for name in norm.inputs[1:] if (data := edit.data(name)) is not None]
    return edit.add(norm.op, norm.inputs[0], *vectors) if len(vectors) == len(norm.inputs) - 1 else None


def norm_shifted(edit: Edit, node: Node) -> Sequence[str] | None:
    """norm(x) + c -> the bias of the norm"""
    found = _norm_and_constant(edit, node, Add)
    bias = edit.data(found[0].inputs[2]) if found and isinstance(found[0].op, LayerNorm) else None
    if found is None or bias is None:
        return None
    norm, c = found
    return edit.add(norm.op, *norm.inputs[:2], edit.const(bias + c))


def _norm_and_constant(edit: Edit, node: Node, op: type[Op]) -> tuple[Node, Array] | None:
    """The norm before a node `op`, and the constant per element of a row that it is combined with."""
    found = constant_operand(edit, node) if isinstance(node.op, op) else None
    norm = edit.producer(found[0]) if found else None
    if (
        found is None
        or norm is None
        or not isinstance(norm.op, LayerNorm | RmsNorm)
        or not edit.used_once(found[0])
    ):
        return None
    data = edit.data(found[1])
    same = edit.type(found[0]) == edit.type(node.outputs[0])
    c = per_channel(data, edit.type(found[0]).shape) if data is not None and same else None
    return (norm, c) if c is not None else None


@dataclass(frozen=True)
class _Product:
    """A product as its varying factors and the number that they are multiplied with."""

    names: list[str]
    factor: float


def _product(edit: Edit, node: Node) -> _Product:
    """What a product or quotient multiplies, seen through products without other readers."""
    match node.op:
        case Mul():
            a, b = (_product_of(edit, name) for name in node.inputs)
            return _Product(a.names + b.names, a.factor * b.factor)
        case Div():
            a, divisor = _product_of(edit, node.inputs[0]), number(edit, node.inputs[1])
            if divisor:
                return _Product(a.names, a.factor / divisor)
        case Pow():
            if number(edit, node.inputs[1]) == 3:
                return _Product([node.inputs[0]] * 3, 1.0)
    return _Product([node.outputs[0]], 1.0)


def _product_of(edit: Edit, name: str) -> _Product:
    constant = number(edit, name)
    if constant is not None:
        return _Product([], constant)
    node = edit.producer(name)
    return _product(edit, node) if node is not None and edit.used_once(name) else _Product([name], 1.0)


def _sum(edit: Edit, node: Node) -> tuple[str, float | None]:
    """The varying term of a sum and the number that is added to it."""
    found = constant_operand(edit, node)
    return (found[0], number(edit, found[1])) if found else ("", None)


def _mean(edit: Edit, name: str) -> str | None:
    """What `name` is the mean of, over the last dimension."""
    node = edit.producer(name)
    if node is None or not isinstance(node.op, Reduce) or node.op.kind != "mean" or not node.op.keepdims:
        return None
    return node.inputs[0] if node.op.axes == (edit.type(node.inputs[0]).rank - 1,) else None


def _close(a: float | None, b: float) -> bool:
    """Equal but for the digits that exporters cut."""
    return a is not None and abs(a - b) <= 1e-5 * abs(b)


def _all_close(a: Sequence[float | None], b: Sequence[float]) -> bool:
    return len(a) == len(b) and all(_close(x, y) for x, y in zip(a, b, strict=True))
