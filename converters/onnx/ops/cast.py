"""Conversions between element types."""

from __future__ import annotations

from edgekit.converters.semantics.onnx.cast import element_type
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import cast
from edgekit.core.types import DType


def Cast(x: Tensor, *, to: int, saturate: int = 1, round_mode: str = "up") -> Tensor:
    return _cast(x, element_type(to, "Cast"), saturate, round_mode)


def CastLike(x: Tensor, like: Tensor, *, saturate: int = 1, round_mode: str = "up") -> Tensor:
    return _cast(x, like.dtype, saturate, round_mode)


def BitCast(x: Tensor, *, to: int) -> Tensor:
    dtype = element_type(to, "BitCast")
    if dtype is DType.BOOL:  # any bit that is set makes it true, as C reads it
        return _cast(x, dtype, 1, "up")
    # Short signed integers are stored with copies of their sign: as unsigned ones they are their bits.
    unsigned = {DType.S4: DType.U4, DType.S2: DType.U2}
    bits = _cast(x, unsigned.get(x.dtype, x.dtype), 1, "up")
    target = unsigned.get(dtype, dtype)
    bits = bits if bits.dtype is target else bits.apply(cast.BitCast(target))
    return _cast(bits, dtype, 1, "up")


def _cast(x: Tensor, to: DType, saturate: int, round_mode: str) -> Tensor:
    if round_mode not in cast.ROUND_MODES:
        raise EdgeKitError("E0401", f"round_mode {round_mode} is unknown")
    if x.dtype is to:
        return x
    # Flags that mean nothing for this type do not make another operator of it.
    narrow = to.is_float and to.bytes == 1 and to is not DType.F4E2M1
    return x.apply(
        cast.Cast(
            to, bool(saturate) or not narrow, round_mode if to is DType.F8E8M0 else cast.Cast.round_mode
        )
    )
