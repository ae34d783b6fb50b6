"""Elementwise tests, logic and bits: comparisons, logic of bools and integers, shifts, selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core.ops import Arg, Call, Step, require
from edgekit.core.ops._copy import stored_as
from edgekit.core.ops._map import Compare, Map, Unary
from edgekit.core.types import Array, DType, Type, Value


@dataclass(frozen=True)
class Equal(Compare):
    c = "a == b"
    c_bool = "a == b"


@dataclass(frozen=True)
class Less(Compare):
    c = "a < b"


@dataclass(frozen=True)
class LessOrEqual(Compare):
    c = "a <= b"


@dataclass(frozen=True)
class IsNaN(Compare):
    arity = 1
    c_float = "a != a"


@dataclass(frozen=True)
class And(Map):
    c_int = "({T})(({U})a & ({U})b)"
    c_bool = "a & b"


@dataclass(frozen=True)
class Or(Map):
    c_int = "({T})(({U})a | ({U})b)"
    c_bool = "a | b"


@dataclass(frozen=True)
class Xor(Map):
    c_int = "({T})(({U})a ^ ({U})b)"
    c_bool = "a ^ b"


@dataclass(frozen=True)
class Not(Unary):
    c_int = "({T})~({U})a"
    c_bool = "!a"


@dataclass(frozen=True)
class ShiftLeft(Map):
    """y = a << b; 0 where b is negative or as large as the type has bits."""

    c_int = "ek_shl_{d}(a, b)"

    def compute(self, *ins: Array) -> Array:
        a, b = ins
        return np.where((b >= 0) & (b < 8 * a.itemsize), np.left_shift(a, b), 0)


@dataclass(frozen=True)
class ShiftRight(Map):
    """y = a >> b, with copies of the sign; only they are left where b is negative or too large."""

    c_int = "ek_shr_{d}(a, b)"

    def compute(self, *ins: Array) -> Array:
        a, b = ins
        return np.where(
            (b >= 0) & (b < 8 * a.itemsize), np.right_shift(a, b), np.where(a < 0, ~a.dtype.type(0), 0)
        )


@dataclass(frozen=True)
class Where(Map):
    """y = b where a, else c"""

    arity = 3

    def compute(self, *ins: Array) -> Array:
        return np.where(*ins)

    def result(self, *ins: DType) -> DType:
        condition, yes, no = ins
        require(condition is DType.BOOL, f"the condition is {condition.value}, not bool")
        require(yes is no, f"operands differ in type: {yes.value}, {no.value}")
        return yes

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        """Quantized operands have the scale of the result."""
        return self.eval(*args)

    def has_integers(self, ins: Sequence[Value]) -> bool:
        return any(v.data is None for v in ins[1:])

    def formula(self, *ins: DType) -> str:
        return "a ? b : c"  # of any type: bits are moved, never converted

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        return (self.compute(*ins),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        steps = self.strided(ins, outs[0])
        return [_as_words(step) if isinstance(step, Call) else step for step in steps]


def _as_words(call: Call) -> Call:
    """Move the bits of small floats without decoding them."""
    plain = stored_as(call.types["Y"])
    return replace(call, types={"A": DType.BOOL, "B": plain, "C": plain, "Y": plain})
