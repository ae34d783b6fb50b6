"""Integers that stand for reals, as ONNX states them: what scale and zero point say, and ways there and back.

Bytes without sign become bytes with one: q - 128 around z - 128 stands for the same reals, and one kind of
quantized tensor is enough for every layer behind. Integers in the hands of a model are plain ones, as in the
file: only what Quantize makes and Dequantize reads says what it stands for.
"""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.core import fixed
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.cast import BitCast
from edgekit.core.ops.flip_sign import FlipSign
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.types import DType, Quant

# The types that have quantized tensors, and the type that stores them.
_STORED = {DType.S8: DType.S8, DType.U8: DType.S8, DType.S16: DType.S16, DType.U16: DType.S16}


def check(scale: Tensor, zero: Tensor | None, dtype: DType | None = None) -> None:
    """Refuse what is no scale or no zero point of integers of `dtype`."""
    where = f"node {scale.builder.origin}"
    if not scale.dtype.is_float:
        raise EdgeKitError("E0401", f"the scale is {scale.type}, not a float", where)
    data = scale.data
    if data is not None and data.size:
        wide = data.astype(np.float64)
        wrong = wide[~(np.isfinite(wide) & (wide > 0))]
        if wrong.size:
            hint = "was the model calibrated with data that have no range?"
            raise EdgeKitError("E0401", f"scale {wrong[0]} is not positive and finite", where, hint)
    if zero is None:
        return
    if dtype is not None and zero.dtype is not dtype:
        message = f"the zero point is {zero.dtype.value}, the tensor {dtype.value}"
        raise EdgeKitError("E0401", message, where)
    if zero.type.size != scale.type.size:
        message = f"{scale.type.size} scales but {zero.type.size} zero points"
        raise EdgeKitError("E0401", message, where)


def quant_of(scale: Tensor, zero: Tensor | None, dtype: DType) -> Quant | None:
    """What integers of `dtype` stand for once they are stored, where the model says it for a whole tensor;
    None where it is known at run time only, or differs from place to place."""
    check(scale, zero, dtype)
    known = scale.data is not None and (zero is None or zero.data is not None)
    if not known or dtype not in _STORED or scale.dtype is not DType.F32 or scale.type.size != 1:
        return None
    s = float(scale.constant("the scale").reshape(()))
    (z,) = (0,) if zero is None else zero.ints("the zero point")
    least = fixed.int_range(_STORED[dtype])[0]
    return Quant((s,), (z if dtype.is_signed else z + least,))


def quantized(x: Tensor, quant: Quant, dtype: DType) -> Tensor:
    """Reals as plain integers of `dtype`."""
    (name,) = x.builder.add(Quantize(_STORED[dtype]), x.name, quant=quant)
    return Tensor(x.builder, name).apply(BitCast(dtype) if dtype.is_signed else FlipSign())


def real(x: Tensor, quant: Quant) -> Tensor:
    """Plain integers as reals."""
    label = BitCast(x.dtype) if x.dtype.is_signed else FlipSign()
    (name,) = x.builder.add(label, x.name, quant=quant)
    return Tensor(x.builder, name).apply(Dequantize())


def centred(x: Tensor, zero: Tensor | None) -> Tensor:
    """x - zero in 32 bits."""
    wide = cast(x, DType.S32)
    return wide if zero is None else wide - cast(zero, DType.S32)
