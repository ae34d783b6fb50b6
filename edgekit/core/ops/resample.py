"""y[.., j, ..] = sum over k of w[j, k] x[.., index[j, k], ..] along an axis: resizing, filtering.

On quantized x, the weights stay reals: they become integers together with the scale of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from edgekit.core import fixed
from edgekit.core.layouts import Layout, plain
from edgekit.core.ops import ELEMENT, ITERATION, Arg, Call, Op, OpInLayout, Param, Step, require
from edgekit.core.ops._integer import centred, constant, quant_of, single_rule
from edgekit.core.ops._layout import stored
from edgekit.core.ops._map import compute_type, real_type
from edgekit.core.types import Array, DType, Quant, Type, Value
from edgekit.core.value_ranges import Pairs, channels, together


@dataclass(frozen=True)
class Resample(Op):
    """Operands: x, the index and the weights w, both [size of the result, taps]; the index is a constant."""

    axis: int

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, index, w = ins
        require(0 <= self.axis < x.rank and x.shape[self.axis] > 0, f"no axis {self.axis} in {x}")
        if x.quant is not None:
            require(x.dtype is DType.S8, f"is not defined on {x}")
            require(w.dtype is DType.F32, f"weights {w} of a quantized tensor should be float32")
        else:
            require(
                real_type(x.dtype) and w.dtype is x.dtype,
                f"{x} and weights {w} should be floats of one type",
            )
        require(
            index.dtype is DType.S32 and index.rank == 2 and index.shape == w.shape,
            f"index {index} and weights {w} should be tables of one shape",
        )
        return (replace(x, shape=(*x.shape[: self.axis], index.shape[0], *x.shape[self.axis + 1 :])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, index, w = ins
        wide = compute_type(DType.of(x.dtype)).numpy
        return (self._sums(x.astype(wide), index, w.astype(wide)).astype(x.dtype),)

    def _sums(self, x: Array, index: Array, w: Array) -> Array:
        column = [-1 if i == self.axis else 1 for i in range(x.ndim)]
        y = np.zeros((*x.shape[: self.axis], index.shape[0], *x.shape[self.axis + 1 :]), x.dtype)
        for k in range(index.shape[1]):
            y += x.take(index[:, k], self.axis) * w[:, k].reshape(column)
        return y

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        x, index, w = args
        weights, digits = fixed.filter_weights(w)
        sums = self._sums(centred(x, ins[0]), index, weights.astype(np.float64)).astype(np.int64)
        y = quant_of(outs[0])
        low, high = fixed.int_range(outs[0].dtype)
        ratio = _ratio(ins[0], outs[0], digits)
        return (fixed.requantize(sums, ratio, y, low, high).astype(outs[0].dtype.numpy),)

    def has_integers(self, ins: Sequence[Value]) -> bool:
        x, index, w = ins
        return x.data is None and index.data is not None and w.data is not None and w.data.size > 0

    def macs(self, *ins: Type) -> int:
        x, index, _ = ins
        return x.size // x.shape[self.axis] * index.size

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Each tap reads as much as the result has, and writes it."""
        taps = ins[1].shape[1]
        return super().work(ins, outs) + taps * (ELEMENT * outs[0].size + ITERATION)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x, index, w), (y,) = ins, outs
        table, n = index.value.data, x.type.shape[self.axis]
        require(table is not None, "the index of a filter should be a constant")
        assert table is not None
        require(
            0 <= table.min() <= table.max() < n if table.size else True, f"an index is outside of {n} cells"
        )
        params: dict[str, Param] = {
            "outer": prod(x.type.shape[: self.axis]),
            "in_n": n,
            "out_n": index.type.shape[0],
            "inner": prod(x.type.shape[self.axis + 1 :]),
            "taps": index.type.shape[1],
        }
        macs = self.macs(x.type, index.type, w.type)
        if x.type.quant is None:
            return [Call("resample", {"T": x.type.dtype}, (x, index, w, y), params, macs=macs)]
        require(w.value.data is not None, "the weights of a quantized filter should be constants")
        assert w.value.data is not None
        weights, digits = fixed.filter_weights(w.value.data)
        rule = single_rule(_ratio(x.type, y.type, digits), quant_of(y.type))
        low, high = fixed.int_range(y.type.dtype)
        params |= {
            "x_zero": quant_of(x.type).zero[0],
            "zero": quant_of(y.type).zero[0],
            "lo": low,
            "hi": high,
        }
        return [
            Call(
                kernel="resample_s8",
                types={},
                args=(
                    x,
                    index,
                    constant(f"{w.name}#integers", weights.astype(np.int16), "the weights of the filter"),
                    y,
                ),
                params=params | rule.params,
                label="resample_s8",
                expr=rule.expr,
                rule=rule.name,
                macs=macs,
            )
        ]

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        return None if self.axis == out.rank - 1 else [together(channels(out)), None, None]

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        x, index, w = ins
        axis = x.axis(self.axis)
        if at != 0 or axis is None:
            return None
        tables = (plain(index.value_shape), plain(w.value_shape))
        return stored(Resample(axis), [x, *tables], [x.with_size(self.axis, index.value_shape[0])])


def _ratio(x: Type, y: Type, digits: int) -> Array:
    """Of scales, for sums with weights of so many binary digits."""
    return fixed.ratio(quant_of(x), Quant((1.0,), (0,)), quant_of(y)) / 2.0**digits
