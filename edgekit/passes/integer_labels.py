"""Integers that lost what they stand for, were moved, and are told again: nothing is computed for that.

ONNX passes integers from operator to operator without a scale, and often without a sign. Behind this, they
are labelled from the layer that makes them to the layer that takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from edgekit.ir import Array, DType, Node, Quant, Type, Value
from edgekit.ops import Op
from edgekit.ops.arithmetic import Add, Clip
from edgekit.ops.cast import BitCast
from edgekit.ops.pool2d import Pool2d
from edgekit.passes import Edit
from edgekit.passes.match import constant_operand, number

Form: TypeAlias = tuple[DType, Quant]


def label_of_plain(edit: Edit, node: Node) -> Sequence[str] | None:
    """Integers that lost their label, were moved and get it again: they had it all the time."""
    out = edit.type(node.outputs[0])
    if not isinstance(node.op, BitCast) or out.quant is None:
        return None
    found = _labelled(edit, node.inputs[0], (out.dtype, out.quant), flipped=False)
    return None if found is None else (found,)


def keeps_scale(op: Op) -> bool:
    """Are the results elements of the operands?"""
    return op.moves or (isinstance(op, Pool2d) and op.kind == "max")


def labelled_constant(edit: Edit, hint: str, data: Array, quant: Quant | None) -> str:
    """A constant, and what its integers stand for."""
    name = edit.fresh(hint)
    data = np.ascontiguousarray(data).reshape(data.shape)
    data.flags.writeable = False
    edit.values[name] = Value(Type(DType.of(data.dtype), data.shape, quant), data)
    return name


def _labelled(edit: Edit, name: str, form: Form, *, flipped: bool) -> str | None:
    """What had this form before it became the plain integers `name`, or, `flipped`, these with the other sign
    bit, as it turns bytes without sign into those with one."""
    dtype, quant = form
    data = edit.data(name)
    if data is not None:
        bits = data ^ data.dtype.type(1 << (dtype.bits - 1)) if flipped else data
        return labelled_constant(edit, name, bits.view(dtype.numpy), quant)
    node = edit.producer(name)
    if node is None:
        return None
    if isinstance(node.op, BitCast):
        before = edit.type(node.inputs[0])
        if flipped or before.quant is None or before.dtype is not dtype:
            return None
        if before.quant == quant:
            return node.inputs[0]
        return edit.add(BitCast(dtype), node.inputs[0], quant=quant)[0]  # in another scale: it is said anew
    if (inner := _flip(edit, node)) is not None:
        return _labelled(edit, inner, form, flipped=not flipped)
    plain = edit.type(name).dtype
    in_order = plain.is_signed != flipped
    if not keeps_scale(node.op) or (isinstance(node.op, Clip | Pool2d) and not in_order):
        return None
    found = [
        _labelled(edit, n, form, flipped=flipped) if edit.type(n).dtype is plain else n for n in node.inputs
    ]
    operands = [x for x in found if x is not None]
    return edit.add(node.op, *operands, quant=quant)[0] if len(operands) == len(found) else None


def _flip(edit: Edit, node: Node) -> str | None:
    """x, where the node adds half of the range to integers x without sign, which wrap."""
    dtype = edit.type(node.outputs[0]).dtype
    found = constant_operand(edit, node)
    if not isinstance(node.op, Add) or found is None or not dtype.is_integer or dtype.is_signed:
        return None
    if edit.type(found[0]) != edit.type(node.outputs[0]):
        return None
    return found[0] if number(edit, found[1]) == 1 << (dtype.bits - 1) else None
