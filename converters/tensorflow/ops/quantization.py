"""Fake quantization: reals that are rounded to integers and back, in ranges that hold zero."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.onnx.elementwise import Floor
from edgekit.converters.semantics.onnx.quantization import DequantizeLinear, QuantizeLinear
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array


def FakeQuantWithMinMaxArgs(
    x: Tensor, *, min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = False
) -> Tensor:
    return _rounded(x, np.asarray(min, np.float32), np.asarray(max, np.float32), num_bits, narrow_range)


def FakeQuantWithMinMaxVars(
    x: Tensor, min: Tensor, max: Tensor, *, num_bits: int = 8, narrow_range: bool = False
) -> Tensor:
    low, high = (v.constant("the range of a fake quantization") for v in (min, max))
    return _rounded(x, low, high, num_bits, narrow_range)


FakeQuantWithMinMaxVarsPerChannel = FakeQuantWithMinMaxVars


def _rounded(x: Tensor, low: Array, high: Array, bits: int, is_narrow: bool) -> Tensor:
    """The range moves a little, so that zero is one of its integers. Eight bits are a quantization that
    layers keep; other numbers of bits are the formula."""
    if (
        not 2 <= bits <= 16
        or not (np.isfinite(low) & np.isfinite(high) & (low <= 0) & (high >= 0) & (low < high)).all()
    ):
        raise EdgeKitError("E0401", f"a fake quantization in {bits} bits, or of no range around zero")
    least, most = int(is_narrow), (1 << bits) - 1
    scale = ((high - low) / np.float32(most - least)).astype(np.float32)
    zero = np.floor((least - low / scale).clip(least, most) + 0.5)
    first, last = ((end - zero) * scale for end in (least, most))
    x = x.max(x.like(first)).min(x.like(last))
    if bits != 8:
        steps = Floor((x - x.like(first)) / x.like(scale) + 0.5)
        return steps * x.like(scale) + x.like(first)
    step, offset = x.new(scale, "scale"), x.new((zero - 128).astype(np.int8), "zero")
    return DequantizeLinear(QuantizeLinear(x, step, offset, axis=-1), step, offset, axis=-1)
