"""Groupwise (block-) quantized weights: a scale, and perhaps a zero point, for each group in a row.

Language models store their weights so, in 4 or 8 bits by groups of 16 to 128: GPTQ, AWQ, MatMulNBits of ONNX
Runtime. What is computed is float: products are added up group by group, and each sum gets its scale once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from edgekit.core.ops import ELEMENT, ITERATION, Arg, Call, Op, Param, Step, require
from edgekit.core.ops._indexed import check_index, clamped
from edgekit.core.ops._linear import clamped as within
from edgekit.core.types import Array, DType, Type

INTEGERS = (DType.S4, DType.S8)
_FLOATS = (DType.F32, DType.F16, DType.BF16)
_IN_ROWS: dict[str, Param] = {"block": 1, "last": 1, "depth": 1, "carry": 0}  # one behind the other


@dataclass(frozen=True)
class DenseGroupwise(Op):
    """y = clamp(x w' + b, lo, hi). Operands: x [..., I], integers q [O, I], scale [O, groups], b [O], and
    zero [O, groups] where it is not 0 everywhere: w[o, i] = scale[o, g] (q[o, i] - zero[o, g]) for
    g = i // group. The last group may be shorter."""

    group: int
    lo: float = -inf
    hi: float = inf

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, w, scale, b, *zero = ins
        check_groups(self.group, w, scale, *zero)
        require(x.rank >= 1 and x.dtype in _FLOATS, f"takes rows of floats, got {x}")
        require(
            x.shape[-1] == w.shape[1],
            f"input {x} has {x.shape[-1]} features, weights {w} expect {w.shape[1]}",
        )
        require(
            b.shape == w.shape[:1] and b.dtype is x.dtype, f"bias {b} does not fit weights {w} and input {x}"
        )
        return (replace(x, shape=(*x.shape[:-1], w.shape[0])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, w, scale, b, *zero = ins
        wide, scales = x.astype(np.float32), scale.astype(np.float32)
        y = np.broadcast_to(b.astype(np.float32), (*x.shape[:-1], len(w))).copy()
        for g, first in enumerate(range(0, w.shape[1], self.group)):
            part = wide[..., first : first + self.group]
            sums = np.matmul(part, w[:, first : first + self.group].astype(np.float32).T)
            if zero:
                sums -= part.sum(axis=-1, keepdims=True) * zero[0][:, g].astype(np.float32)
            y += scales[:, g] * sums
        return (within(y, self.lo, self.hi).astype(x.dtype),)

    def macs(self, *ins: Type) -> int:
        return ins[0].size * ins[1].shape[0]

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Group by group."""
        groups = -(-ins[1].shape[1] // max(self.group, 1))
        return super().work(ins, outs) + groups * (ELEMENT * outs[0].size + ITERATION)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        x, w, scale, b, *zero = ins
        outputs, inputs = w.type.shape
        rows = x.type.size // inputs if inputs else outs[0].type.size // max(outputs, 1)
        params: dict[str, Param] = {"rows": rows, "inputs": inputs, "outputs": outputs}
        return [
            _call(
                "dense_groupwise",
                {"T": x.type.dtype, "W": w.type.dtype, "C": scale.type.dtype, "B": b.type.dtype},
                (x, w, scale, *zero, b, outs[0]),
                zero,
                params | {"group": self.group, "lo": self.lo, "hi": self.hi},
                self.macs(x.type, w.type),
            )
        ]


@dataclass(frozen=True)
class GatherGroupwise(Op):
    """y = the rows of a table that an index names, as floats of type `dtype`. Operands: integers q [rows, n],
    index [...], scale [rows, groups], and zero [rows, groups] where it is not 0 everywhere."""

    group: int
    dtype: DType = DType.F32

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        w, index, scale, *zero = ins
        check_groups(self.group, w, scale, *zero)
        check_index(index)
        require(self.dtype in _FLOATS, f"rows of {self.dtype.value} are no floats")
        require(w.shape[0] > 0 or index.size == 0, f"the table {w} is empty")
        return (Type(self.dtype, (*index.shape, w.shape[1])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        w, index, scale, *zero = ins
        at = clamped(index, len(w))
        y = real_weights(self.group, w[at], scale[at], *(z[at] for z in zero))
        return (y.astype(self.dtype.numpy),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        w, index, scale, *zero = ins
        size, n = w.type.shape
        return [
            _call(
                "gather_groupwise",
                {"T": self.dtype, "W": w.type.dtype, "C": scale.type.dtype, "I": index.type.dtype},
                (w, scale, *zero, index, outs[0]),
                zero,
                {"rows": index.type.size, "n": n, "size": size, "group": self.group, **_IN_ROWS},
            )
        ]


def check_groups(group: int, w: Type, scale: Type, zero: Type | None = None) -> None:
    """TypeError where scales or zero points do not go with groups of so many weights."""
    require(w.rank == 2 and w.dtype in INTEGERS, f"weights {w} are no matrix of s4 or s8")
    require(group >= 1, f"groups of {group} weights make no sense")
    groups = (w.shape[0], -(-w.shape[1] // group))
    require(
        scale.shape == groups and scale.dtype in _FLOATS,
        f"scales {scale} do not fit weights {w} in groups of {group}",
    )
    require(
        zero is None or (zero.shape == groups and zero.dtype is w.dtype),
        f"zero points {zero} do not fit weights {w} in groups of {group}",
    )


def real_weights(group: int, w: Array, scale: Array, zero: Array | None = None) -> Array:
    """What the integers stand for, as float32; groups are along the last dimension."""
    places = np.arange(w.shape[-1]) // group
    integers = w.astype(np.float32)
    if zero is not None:
        integers -= zero.astype(np.float32)[..., places]
    real: Array = integers * scale.astype(np.float32)[..., places]
    return real


def _call(
    kernel: str,
    types: dict[str, DType],
    args: Sequence[Arg],
    zero: Sequence[Arg],
    params: dict[str, Param],
    macs: int = 0,
) -> Call:
    """The kernel's text takes weights around 0, too."""
    if zero:
        types = types | {"Z": zero[0].type.dtype}
    name = kernel if zero else f"{kernel}_symmetric"
    return Call(kernel=name, types=types, args=tuple(args), params=params, macs=macs)
