"""Element types, types of tensors, and values: what the edges of a graph carry."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from hashlib import sha256
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class DType(Enum):
    """An element type. `bytes` is what one element takes in C: sub-byte types are stored one per byte."""

    BOOL = "bool"
    S8 = "s8"
    U8 = "u8"
    S16 = "s16"
    U16 = "u16"
    S32 = "s32"
    U32 = "u32"
    S64 = "s64"
    U64 = "u64"
    F16 = "f16"
    BF16 = "bf16"
    F32 = "f32"
    F64 = "f64"
    F8E4M3FN = "f8e4m3fn"
    F8E4M3FNUZ = "f8e4m3fnuz"
    F8E5M2 = "f8e5m2"
    F8E5M2FNUZ = "f8e5m2fnuz"
    F8E8M0 = "f8e8m0"
    F4E2M1 = "f4e2m1"
    S4 = "s4"
    U4 = "u4"
    S2 = "s2"
    U2 = "u2"

    __hash__ = object.__hash__  # that of enums runs Python

    def __init__(self, name: str) -> None:
        # Attributes: a property of an enum runs Python twice, and every pass asks.
        self.is_float = name[0] == "f" or name == "bf16"
        self.is_signed = name[0] == "s"
        self.is_integer = name[0] in "su"

    @property
    def numpy(self) -> np.dtype[Any]:
        return _NUMPY[self]

    @property
    def bytes(self) -> int:
        return _NUMPY[self].itemsize

    @property
    def c(self) -> str:
        """The C type that stores one element."""
        return _C[self]

    @property
    def bits(self) -> int:
        """Bits of the value of an integer type."""
        return int(self.value[1:]) if self.is_integer else 8 * self.bytes

    @staticmethod
    def of(dtype: np.dtype[Any] | type) -> DType:
        """The element type of a numpy dtype; KeyError where EdgeKit has none (strings, complex)."""
        return _OF_NUMPY[np.dtype(dtype)]


_NUMPY: dict[DType, np.dtype[Any]] = {
    DType.BOOL: np.dtype(np.bool_),
    DType.S8: np.dtype(np.int8),
    DType.U8: np.dtype(np.uint8),
    DType.S16: np.dtype(np.int16),
    DType.U16: np.dtype(np.uint16),
    DType.S32: np.dtype(np.int32),
    DType.U32: np.dtype(np.uint32),
    DType.S64: np.dtype(np.int64),
    DType.U64: np.dtype(np.uint64),
    DType.F16: np.dtype(np.float16),
    DType.BF16: np.dtype(ml_dtypes.bfloat16),
    DType.F32: np.dtype(np.float32),
    DType.F64: np.dtype(np.float64),
    DType.F8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    DType.F8E4M3FNUZ: np.dtype(ml_dtypes.float8_e4m3fnuz),
    DType.F8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    DType.F8E5M2FNUZ: np.dtype(ml_dtypes.float8_e5m2fnuz),
    DType.F8E8M0: np.dtype(ml_dtypes.float8_e8m0fnu),
    DType.F4E2M1: np.dtype(ml_dtypes.float4_e2m1fn),
    DType.S4: np.dtype(ml_dtypes.int4),
    DType.U4: np.dtype(ml_dtypes.uint4),
    DType.S2: np.dtype(ml_dtypes.int2),
    DType.U2: np.dtype(ml_dtypes.uint2),
}
finfo: Any = ml_dtypes.finfo  # of numpy's types and of its own; published without types
_OF_NUMPY = {numpy: dtype for dtype, numpy in _NUMPY.items()}
# bool is stored as uint8_t: C99 and C++ agree on its size, and a stray 2 in memory is no undefined behaviour.
_C = {
    DType.BOOL: "uint8_t",
    DType.F16: "ek_f16",
    DType.BF16: "ek_bf16",
    DType.F32: "float",
    DType.F64: "double",
    DType.S4: "int8_t",
    DType.S2: "int8_t",
} | {d: f"int{d.value[1:]}_t" for d in (DType.S8, DType.S16, DType.S32, DType.S64)}
_C |= {d: f"uint{d.value[1:]}_t" for d in (DType.U8, DType.U16, DType.U32, DType.U64)}
_C |= {d: "uint8_t" for d in DType if d not in _C}


@dataclass(frozen=True)
class Quant:
    """real = scale * (q - zero), per tensor, or per channel along `axis`. `rounding` names the rule by which
    results get here (edgekit/core/fixed.py): E, or tfl and tflm for imported TFLite models."""

    scale: tuple[float, ...]
    zero: tuple[int, ...]
    axis: int | None = None
    rounding: str = "E"


@dataclass(frozen=True)
class Type:
    """The type of a tensor: what one element is, the static shape, and what the integers stand for."""

    dtype: DType
    shape: tuple[int, ...]
    quant: Quant | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def real(self) -> Type:
        """This type without what its integers stand for."""
        return self if self.quant is None else replace(self, quant=None)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.size * self.dtype.bytes

    def __str__(self) -> str:
        return f"{self.dtype.value}[{','.join(map(str, self.shape))}]"


def type_of(data: Array) -> Type:
    """The type of a numpy array."""
    return Type(DType.of(data.dtype), tuple(data.shape))


@dataclass(frozen=True, eq=False)
class Value:
    """What an edge carries: a type, and the data where it is a constant."""

    type: Type
    data: Array | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value) or self.type != other.type:
            return False
        if self.data is None or other.data is None:
            return self.data is other.data
        return self.data.tobytes() == other.data.tobytes()  # bitwise: NaN equals NaN, -0 differs from 0

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    @cached_property
    def span(self) -> tuple[float, float]:
        """The least and the largest number of a constant, which is not empty; NaN where one is NaN."""
        assert self.data is not None
        return float(self.data.min()), float(self.data.max())

    @cached_property
    def digest(self) -> bytes:
        """Tells constants apart without keeping them; empty where there is no data."""
        return b"" if self.data is None else sha256(self.data.tobytes()).digest()
