"""PyTorch's rules of type promotion: operands of several types, and plain numbers beside tensors."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TypeAlias

import numpy as np

from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

Number: TypeAlias = int | float | bool
Operand: TypeAlias = Tensor | int | float | bool


def category(dtype: DType) -> int:
    """Truth, integers, reals."""
    return 2 if dtype.is_float else 1 if dtype.is_integer else 0


def number_type(value: Number) -> DType:
    """What a plain number is, where nothing else decides."""
    return DType.BOOL if isinstance(value, bool) else DType.S64 if isinstance(value, int) else DType.F32


def promote(a: DType, b: DType) -> DType:
    """The type that two tensors of the same importance have in common."""
    if category(a) != category(b):
        return max(a, b, key=category)
    if {a, b} == {DType.F16, DType.BF16}:
        return DType.F32
    return a if a is b else DType.of(np.promote_types(a.numpy, b.numpy))


def common_type(operands: Iterable[Operand]) -> DType:
    """The type of a result: tensors decide, tensors without dimensions and then plain numbers only where they
    are of a higher category."""
    given = list(operands)
    groups: list[list[DType]] = [[], [], []]
    for x in given:
        if isinstance(x, Tensor):
            groups[0 if x.rank else 1].append(x.dtype)
        else:
            groups[2].append(number_type(x))
    found: DType | None = None
    for group in groups:
        if group:
            own = reduce(promote, group)
            found = own if found is None or category(own) > category(found) else found
    assert found is not None, "there are operands"
    return found


def promoted(*operands: Operand) -> tuple[Tensor, ...]:
    """The operands as tensors of their common type."""
    dtype = common_type(operands)
    return as_type(dtype, *operands)


def reals(*operands: Operand) -> tuple[Tensor, ...]:
    """The operands as tensors of their common type, which is f32 where all are integers."""
    dtype = common_type(operands)
    return as_type(dtype if dtype.is_float else DType.F32, *operands)


def as_type(dtype: DType, *operands: Operand) -> tuple[Tensor, ...]:
    """The operands as tensors of a type; at least one of them is a tensor already."""
    tensor = next((x for x in operands if isinstance(x, Tensor)), None)
    if tensor is None:
        raise EdgeKitError("E0205", "arithmetic on plain numbers as if they were tensors")
    return tuple(
        cast(x, dtype) if isinstance(x, Tensor) else tensor.new(np.asarray(x).astype(dtype.numpy))
        for x in operands
    )


def real(x: Tensor) -> Tensor:
    """x as reals."""
    return x if x.dtype.is_float else cast(x, DType.F32)
