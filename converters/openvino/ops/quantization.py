"""Fake quantization: reals that are rounded to levels of a range, and come out in another one."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import where as _where
from edgekit.converters.semantics.onnx.elementwise import Round as _Round
from edgekit.converters.semantics.onnx.quantization import DequantizeLinear as _Dequantize
from edgekit.converters.semantics.onnx.quantization import QuantizeLinear as _Quantize
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.logic import Less as _Less
from edgekit.core.types import Array as _Array
from edgekit.core.types import DType

_BYTE = 256  # levels
_NEAR = 1e-3  # of a step: how far zero may be from a level


def FakeQuantize(
    x: Tensor, in_low: Tensor, in_high: Tensor, out_low: Tensor, out_high: Tensor, *, levels: int
) -> Tensor:
    """One range of 256 levels that holds zero is a quantization that layers keep; others are the formula."""
    ends = [end.data for end in (in_low, in_high, out_low, out_high)]
    if (
        levels == _BYTE
        and x.data is None
        and x.dtype is DType.F32
        and all(e is not None and e.size == 1 for e in ends)
    ):
        low, high, *out = (float(e.reshape(())) for e in ends if e is not None)
        if out == [low, high] and low <= 0 <= high and low < high:
            scale = (high - low) / (levels - 1)
            zero = -low / scale
            if abs(zero - round(zero)) < _NEAR:
                step, offset = x.new(np.array(scale, np.float32)), x.new(_zero(zero))
                return _Dequantize(_Quantize(x, step, offset), step, offset)
    inside = (x - in_low) / (in_high - in_low) * (levels - 1)
    y = _Round(inside) / (levels - 1) * (out_high - out_low) + out_low
    y = _where(in_low.max(in_high).apply(_Less(), x), out_high, y)
    return _where(in_low.min(in_high).apply(_Less(), x), y, out_low)


def _zero(zero: float) -> _Array:
    return np.array(round(zero) - 128, np.int8)
