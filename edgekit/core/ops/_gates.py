"""Integer forms of recurrent layers: how an input of 16 bits and a state of 8 become the sums of gates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core import fixed, fixed_gates
from edgekit.core.errors import EdgeKitError
from edgekit.core.fixed import Int
from edgekit.core.ops import Arg, Param, require
from edgekit.core.ops._integer import constant, quant_of
from edgekit.core.types import Array, DType, Quant, Type

_RELU_UNIT = 2.0**-6  # sums that no table takes are so fine, in units of the result
_CELL_SCALE = 2.0**-15  # of 16 bits, none of them before the point
MAX_BITS = 15  # before the point of a state of 16 bits


def check(x: Type, r: Type, states: Sequence[Type], dtypes: Sequence[DType]) -> None:
    """Refuse quantized operands that have no integer form."""
    require(len(states) == len(dtypes), f"takes {len(dtypes)} states, got {len(states)}")
    for t, dtype in zip((x, r, *states), (DType.S16, DType.S8, *dtypes), strict=True):
        require(t.dtype is dtype and t.quant is not None, f"takes quantized {dtype.value}, got {t}")
        is_symmetric = t is r or dtype is DType.S16
        require(not is_symmetric or not any(quant_of(t).zero), f"takes symmetric {dtype.value}, got {t}")
    require(quant_of(r).axis in (None, 0), f"takes weights with a scale for each output, got {r}")


def require_same(state: Type, *others: Type) -> None:
    """What a layer passes on from step to step has one scale."""
    if any(other.quant != state.quant for other in others):
        found = ", ".join(str(other) for other in others)
        raise EdgeKitError("E0209", f"a state of {state} cannot become {found}: scales differ")


def state_quant(reach: float) -> Quant:
    """Cells of 16 bits for such magnitudes: their scale is a power of two."""
    bits = max(math.ceil(math.log2(max(reach, 2.0**-15) * (1 + 2.0**-15))), 0)
    return Quant((_CELL_SCALE * 2.0**bits,), (0,))


def bits_of(cells: Type) -> int:
    """Bits before the point."""
    bits = math.log2(quant_of(cells).scale[0] / _CELL_SCALE)
    if bits not in range(MAX_BITS + 1):
        raise EdgeKitError("E0209", f"{quant_of(cells).scale[0]:g} is no scale of cells")
    return int(bits)


@dataclass(frozen=True)
class Gates:
    """What turns an input and weights of the state into sums."""

    columns: Array  # of the weights in float64, which holds every sum exactly, and multiplies fast
    bias: Int
    multiplier: Int
    shift: int
    x_multiplier: int
    x_shift: int

    @staticmethod
    def of(
        x: Type, r: Type, y: Type, weights: Array, more: Array | None = None, *, is_table: bool = True
    ) -> Gates:
        """`y` is what the weights take, `more` a bias of reals. Sums without a table are finer than y."""
        s_y = np.float64(np.float32(quant_of(y).scale[0]))
        unit = fixed_gates.SUM_UNIT if is_table else s_y * _RELU_UNIT
        scales = s_y * np.asarray(quant_of(r).scale, np.float32).astype(np.float64)
        wide = weights.astype(np.int64)
        bias = -quant_of(y).zero[0] * wide.sum(axis=1)
        if more is not None:
            units = np.nan_to_num(more.astype(np.float64) / scales).clip(-(2.0**40), 2.0**40)
            bias = bias + np.floor(units + 0.5).astype(np.int64)
        ratios = np.broadcast_to(scales / unit, bias.shape)
        own = np.float64(np.float32(quant_of(x).scale[0])) / unit
        most = fixed.acc_bits(bias, wide, 128)
        # Both parts of a sum have 29 bits at most, so that the sum has 30.
        if most > 31 or ratios.max(initial=0) * 2.0**most >= 2.0**29 or own >= 2.0**13:
            raise EdgeKitError(
                "E0208", "sums of a recurrent layer may leave 32 bits", hint="are its weights damaged?"
            )
        multiplier, shift = fixed.rule_e(ratios)
        columns = np.ascontiguousarray(wide.T, np.float64)
        return Gates(columns, bias, multiplier, shift, *fixed_gates.rule_of_16_bits(float(own)))

    def state(self, q: Int, rows: slice = slice(None)) -> Int:
        """What a state adds to sums."""
        sums = (q.astype(np.float64) @ self.columns[:, rows]).astype(np.int64) + self.bias[rows]
        half = 1 << (self.shift - 1)
        y: Int = (sums * self.multiplier[rows] + half) >> self.shift
        return y

    def input(self, x: Int) -> Int:
        """What an input adds to sums."""
        return fixed_gates.scaled(x, self.x_multiplier, self.x_shift)

    def args(self, name: str) -> tuple[Arg, ...]:
        """The constants that kernels take behind the operands."""
        return (
            constant(
                f"{name}#bias", self.bias.astype(np.int32), "what a state of 0 adds to the sums of gates"
            ),
            constant(
                f"{name}#multiplier",
                self.multiplier.astype(np.int32),
                "scales sums of states to those of gates",
            ),
            constant(f"{name}#tanh", fixed_gates.TANH, "tanh at equal distances, with a line between two"),
        )

    def params(self) -> dict[str, Param]:
        return {"shift": self.shift, "x_m": self.x_multiplier, "x_shift": self.x_shift}


@dataclass(frozen=True)
class NarrowGates:
    """How numbers of 16 bits become int8."""

    multiplier: int
    shift: int
    zero: int

    @staticmethod
    def of(unit: float | Type, y: Type) -> NarrowGates:
        """`unit` may be a tensor."""
        own = float(np.float32(quant_of(unit).scale[0])) if isinstance(unit, Type) else unit
        quant = quant_of(y)
        ratio = own / float(np.float32(quant.scale[0]))
        if ratio >= 2.0**13:
            raise EdgeKitError("E0209", f"{y} is too fine for states in units of {own:g}")
        return NarrowGates(*fixed_gates.rule_of_16_bits(ratio), quant.zero[0])

    def __call__(self, x: Int) -> Int:
        y = self.zero + fixed_gates.scaled(x, self.multiplier, self.shift)
        result: Int = np.minimum(np.maximum(y, -128), 127)
        return result

    def params(self) -> dict[str, Param]:
        return {"y_m": self.multiplier, "y_shift": self.shift, "zero": self.zero}


def relu_unit(y: Type) -> float:
    """The unit of sums that become y without a table."""
    return float(np.float32(quant_of(y).scale[0])) * _RELU_UNIT
