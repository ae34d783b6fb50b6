"""Integers that lost what they stand for, were moved, and are told again: nothing is computed for that.

ONNX passes integers from operator to operator without a scale, and often without a sign. Behind this, they
are labelled from the layer that makes them to the layer that takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from edgekit.core.ir import Node
from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Max, Min
from edgekit.core.ops.cast import BitCast
from edgekit.core.ops.flip_sign import FlipSign
from edgekit.core.ops.logic import Where
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.passes import Edit
from edgekit.core.types import Array, DType, Quant, Type, Value

Form: TypeAlias = tuple[DType, Quant]


def label_of_plain(edit: Edit, node: Node) -> Sequence[str] | None:
    """Integers that lost their label, were moved and get it again: they had it all the time."""
    out = edit.type(node.outputs[0])
    if not isinstance(node.op, BitCast | FlipSign) or out.quant is None:
        return None
    if isinstance(node.op, BitCast) and edit.type(node.inputs[0]).dtype is not out.dtype:
        return None  # bits that are read with another sign
    found = _labelled(edit, node.inputs[0], (out.dtype, out.quant))
    return None if found is None else (found,)


def keeps_scale(op: Op) -> bool:
    """Are the results elements of the operands?"""
    extreme = isinstance(op, Pool2d | Reduce) and op.kind in ("max", "min")
    return op.is_data_movement or extreme or isinstance(op, Max | Min | Where)


def labelled_constant(edit: Edit, hint: str, data: Array, quant: Quant | None) -> str:
    """A constant, and what its integers stand for."""
    name = edit.fresh(hint)
    data = np.ascontiguousarray(data).reshape(data.shape)
    data.flags.writeable = False
    edit.values[name] = Value(Type(DType.of(data.dtype), data.shape, quant), data)
    return name


def _labelled(edit: Edit, name: str, form: Form) -> str | None:
    """What had this form before it became the plain integers `name`, which may have lost their sign too."""
    dtype, quant = form
    plain = edit.type(name).dtype
    data = edit.data(name)
    if data is not None:
        signed = data if plain is dtype else FlipSign().eval(data)[0]
        return labelled_constant(edit, name, signed, quant)
    node = edit.producer(name)
    if node is None:
        return None
    if isinstance(node.op, BitCast | FlipSign):
        before = edit.type(node.inputs[0])
        bits_are_read = isinstance(node.op, BitCast) != (plain is dtype)
        if bits_are_read or before.quant is None or before.dtype is not dtype:
            return None
        if before.quant == quant:
            return node.inputs[0]
        return edit.add(BitCast(dtype), node.inputs[0], quant=quant)[0]  # in another scale: it is said anew
    if not keeps_scale(node.op):
        return None
    found = [_labelled(edit, n, form) if edit.type(n).dtype is plain else n for n in node.inputs]
    operands = [x for x in found if x is not None]
    return edit.add(node.op, *operands, quant=quant)[0] if len(operands) == len(found) else None
