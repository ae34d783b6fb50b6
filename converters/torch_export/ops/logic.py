"""Comparisons, logic, bits, and choices between elements."""

from __future__ import annotations

from edgekit.converters.semantics.aten.logic import bitwise_and, bitwise_or
from edgekit.converters.semantics.aten.type_promotion import Operand, promoted
from edgekit.converters.semantics.onnx import logic as _onnx
from edgekit.converters.tensor import Tensor


def bitwise_xor(x: Operand, *, other: Operand) -> Tensor:
    return _onnx.Xor(*promoted(x, other))


and_, or_, xor = bitwise_and, bitwise_or, bitwise_xor
