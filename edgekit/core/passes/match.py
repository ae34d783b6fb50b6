"""What rules ask of operands: is it constant, one number, one number per channel?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from edgekit.core.ir import Node
from edgekit.core.ops import Op
from edgekit.core.passes import Edit
from edgekit.core.types import Array

AnyOp = TypeVar("AnyOp", bound=Op)


def constant_operand(edit: Edit, node: Node) -> tuple[str, str] | None:
    """(x, c) of a node with two operands one of which, c, is constant."""
    if len(node.inputs) != 2:
        return None
    a, b = node.inputs
    match edit.data(a) is None, edit.data(b) is None:
        case True, False:
            return a, b
        case False, True:
            return b, a
        case _:
            return None


def quantized(edit: Edit, node: Node) -> bool:
    """Do integers stand for reals here, so that 0 and 1 are not what they seem?"""
    return any(edit.type(name).quant is not None for name in (*node.inputs, *node.outputs))


def number(edit: Edit, name: str) -> float | int | None:
    """The one number that a constant holds, perhaps many times."""
    data = edit.data(name)
    if data is None or data.size == 0:
        return None
    first = data.reshape(-1)[0]
    return first.item() if data.size == 1 or bool((data == first).all()) else None


def per_channel(data: Array, shape: tuple[int, ...]) -> Array | None:
    """A constant that differs along the last dimension of `shape` alone, as a vector of that size."""
    if not shape or data.ndim > len(shape) or any(n != 1 for n in data.shape[:-1]):
        return None
    if data.size not in (1, shape[-1]):
        return None
    return np.broadcast_to(data.reshape(-1), shape[-1:])


def squeezed(constant: Array) -> Array:
    """A constant without the dimensions along which nothing changes."""
    for axis in range(constant.ndim):
        first = constant.take([0], axis) if constant.shape[axis] else constant
        constant = first if (constant == first).all() else constant
    while constant.ndim and constant.shape[0] == 1:
        constant = constant[0]
    return constant


def with_fields(op: AnyOp, **fields: Any) -> AnyOp:
    """The operator with other attributes."""
    return replace(op, **fields)  # type: ignore[type-var]  # every operator is a dataclass
