"""Dynamic quantization of activations by rows (per token): int8 with scales of each run, and layers.

Products are integers. What is float is one operation after the other, each rounded, in an order that is
fixed: results are the same bits on every target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from edgekit.core.ops import ELEMENT, ITERATION, Arg, Call, Op, Step, require
from edgekit.core.ops._linear import clamped as within
from edgekit.core.ops.groupwise import check_groups
from edgekit.core.types import Array, DType, Type

LARGEST = 127  # of rows
_MAX_INPUTS = 1 << 17  # of a group: sums have 31 bits
_SHIFT = np.float32(3 << 22)  # what is added to it is rounded to a whole number, halves to even


@dataclass(frozen=True)
class QuantizeRows(Op):
    """Results: x as s8, and the scale of each row, whose largest magnitude is 127. A row of zeros has
    scale 0, one with NaN or an infinity no finite scale."""

    quantizes = True

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(x.rank >= 1 and x.dtype is DType.F32, f"takes rows of float32, got {x}")
        require(x.shape[-1] > 0, f"rows of {x} are empty")
        return replace(x, dtype=DType.S8), Type(DType.F32, x.shape[:-1])

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        bits = np.ascontiguousarray(x, np.float32).view(np.int32) & 0x7FFFFFFF
        most = bits.max(axis=-1, initial=0).astype(np.int32).view(np.float32)
        with np.errstate(all="ignore"):
            factor = np.float32(LARGEST) / most
            shifted = (x * factor[..., None]).astype(np.float32) + _SHIFT
            scale = most / np.float32(LARGEST)
        codes = (np.ascontiguousarray(shifted).view(np.uint32) & 0xFF).astype(np.uint8).view(np.int8)
        return codes, np.asarray(scale, np.float32)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,) = ins
        n = x.type.shape[-1]
        return [Call("quantize_rows", {}, (x, *outs), {"rows": x.type.size // n, "n": n}, results=2)]


@dataclass(frozen=True)
class DynamicDense(Op):
    """y = clamp(s (sum over groups of scale (sum of x w)) + b, lo, hi). Operands: x [..., I] as s8, scales
    of rows s [...], integers w [O, I], scale [O, groups], b [O]. The last group may be shorter."""

    group: int
    lo: float = -inf
    hi: float = inf

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, s, w, scale, b = ins
        check_groups(self.group, w, scale)
        require(x.rank >= 1 and x.dtype is DType.S8 and x.quant is None, f"takes rows of plain s8, got {x}")
        require(s == Type(DType.F32, x.shape[:-1]), f"rows {x} need a scale each, got {s}")
        require(
            x.shape[-1] == w.shape[1] > 0,
            f"input {x} has {x.shape[-1]} features, weights {w} expect {w.shape[1]}",
        )
        require(min(self.group, w.shape[1]) <= _MAX_INPUTS, f"groups of {self.group} weights are too large")
        require(b == Type(DType.F32, w.shape[:1]), f"bias {b} does not fit weights {w}")
        return (Type(DType.F32, (*x.shape[:-1], w.shape[0])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, s, w, scale, b = ins
        total = np.zeros((*x.shape[:-1], len(w)), np.float32)
        with np.errstate(all="ignore"):
            for g, first in enumerate(range(0, w.shape[1], self.group)):
                part, weights = (a[..., first : first + self.group].astype(np.float64) for a in (x, w))
                sums = np.matmul(part, weights.T).astype(np.float32)  # whole numbers: exact in float64
                total += scale[:, g].astype(np.float32) * sums
            y = total * s[..., None] + b
        return (within(y, self.lo, self.hi).astype(np.float32),)

    def macs(self, *ins: Type) -> int:
        return ins[0].size * ins[2].shape[0]

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Group by group."""
        groups = -(-ins[2].shape[1] // max(self.group, 1))
        return super().work(ins, outs) + groups * (ELEMENT * outs[0].size + ITERATION)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        x, _, w, scale, _ = ins
        outputs, inputs = w.type.shape
        data = w.value.data
        return [
            Call(
                "dynamic_dense",
                {"W": w.type.dtype, "C": scale.type.dtype},
                (*ins, *outs),
                {
                    "rows": x.type.size // inputs,
                    "inputs": inputs,
                    "outputs": outputs,
                    "group": min(self.group, inputs),
                    "lo": self.lo,
                    "hi": self.hi,
                },
                facts={"least_weight": -128 if data is None else int(data.min())},
                macs=self.macs(x.type, ins[1].type, w.type),
            )
        ]
