"""Layers of 16-bit floats by kernels of 32-bit floats, between casts, where these alone have SIMD kernels.

No processor's kernels compute float16 or bfloat16: portable C widens each number as it is read. The sums of
both are float32, and results are rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgekit.codegen.kernels.expressions import WEIGHT_LIMIT
from edgekit.codegen.kernels.sources import variant_of
from edgekit.core.ops import Arg, Call
from edgekit.core.ops.cast import Cast
from edgekit.core.target import Target
from edgekit.core.types import DType, Type, Value

_KERNELS = frozenset({"conv2d", "dense"})  # of depthwise ones casts would take as long as what they save
_MIN_PRODUCTS = 8  # for each number that is cast
_PORTABLE = "ref"


def in_float32(call: Call, target: Target) -> Sequence[Call]:
    """The call, or a cast of its input, the same of float32, and a cast of its result. It stays as it is on
    microcontrollers, where libraries are optimized for size, as float32 takes memory."""
    kind = call.types.get("T")
    if call.kernel not in _KERNELS or kind not in (DType.F16, DType.BF16):
        return [call]
    if target.board or WEIGHT_LIMIT in call.facts:
        return [call]
    x, w, b, y = call.args
    if b.value.data is None or call.macs < _MIN_PRODUCTS * (x.type.size + y.type.size):
        return [call]
    wide_x, wide_y = Arg(f"{y.name}#input", _float32(x.type)), Arg(f"{y.name}#float32", _float32(y.type))
    bias = Value(replace(b.type, dtype=DType.F32), b.value.data.astype(np.float32))
    types = {"T": DType.F32, "W": call.types.get("W", kind), "B": DType.F32}
    wide = replace(call, types=types, args=(wide_x, w, Arg(f"{b.name}#float32", bias), wide_y))
    if variant_of(call, target).isa != _PORTABLE or variant_of(wide, target).isa == _PORTABLE:
        return [call]
    return [*_cast(x, wide_x), wide, *_cast(wide_y, y)]


def _float32(kind: Type) -> Value:
    return Value(replace(kind, dtype=DType.F32))


def _cast(x: Arg, y: Arg) -> list[Call]:
    steps = Cast(y.type.dtype).lower([x], [y])
    return [step for step in steps if isinstance(step, Call)]
