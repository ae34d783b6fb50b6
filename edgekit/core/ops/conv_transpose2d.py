"""The transpose of a convolution: every cell of x adds a window of weights to y."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from edgekit.core import fixed
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import ITERATION, Arg, Call, Op, Param, Step, require
from edgekit.core.ops._integer import acc_bits, centred, quant_of, requantization
from edgekit.core.ops._linear import Linear, clamped, float_call, letters, limits, wide_type
from edgekit.core.ops._order import is_narrow, term_by_term
from edgekit.core.ops.conv2d import MAX_CELLS
from edgekit.core.types import Array, DType, Type, Value


@dataclass(frozen=True)
class ConvTranspose2d(Linear):
    """y[n, h sh + i dh - top, w sw + j dw - left, o] += x[n, h, w, c] w[o, i, j, c], on top of b[o], where
    that is within the `size` (h, w) of y; then clamped.

    Operands: x [N, H, W, C], w [O, kh, kw, C / groups], b [O]."""

    size: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int] = (0, 0)  # top, left
    dilations: tuple[int, int] = (1, 1)
    groups: int = 1
    lo: float = -inf
    hi: float = inf
    dtype: DType | None = None

    linear_axis = 0

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, w, b = ins
        require(
            x.rank == 4 and w.rank == 4 and b.rank == 1,
            f"takes x[N,H,W,C], w[O,h,w,I], b[O], got {x}, {w}, {b}",
        )
        outputs = w.shape[0]
        dtype = self.result_dtype(x, w)
        require(
            self.groups >= 1 and x.shape[3] == w.shape[3] * self.groups and outputs % self.groups == 0,
            f"input {x} and weights {w} do not match with {self.groups} groups",
        )
        require(b.shape == (outputs,), f"weights {w} and bias {b} differ in outputs")
        positive = min(*self.strides, *self.dilations) > 0
        require(positive, f"strides {self.strides} and dilations {self.dilations} are not all above 0")
        require(min(self.size) >= 0, f"a result of {self.size[0]} x {self.size[1]} cells is absurd")
        sides = [
            max((n - 1) * s + (k - 1) * d + 1, m + abs(p))
            for n, s, k, d, m, p in zip(
                x.shape[1:3],
                self.strides,
                w.shape[1:3],
                self.dilations,
                self.size,
                self.pads,
                strict=True,
            )
        ]
        require(
            max(sides[0] * sides[1], *self.strides, *self.dilations) <= MAX_CELLS,
            f"strides {list(self.strides)} and dilations {list(self.dilations)} are absurd for {x} and {w}",
        )
        require(
            x.dtype.is_float or x.quant is not None or (self.lo, self.hi) == (-inf, inf),
            "limits are for floats",
        )
        return (replace(x, dtype=dtype, shape=(x.shape[0], *self.size, outputs)),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, w, b = ins
        wide = wide_type(x.dtype)
        batch, height, width, _ = x.shape
        outputs, k_h, k_w, depth = w.shape
        per_group = outputs // self.groups
        (s_h, s_w), (d_h, d_w) = self.strides, self.dilations
        reach = [
            (n - 1) * s + (k - 1) * d + 1
            for n, s, k, d in zip(x.shape[1:3], self.strides, (k_h, k_w), self.dilations, strict=True)
        ]
        # All of the plane that windows reach, from `top`, `left` on as large as y.
        size = [max(r, n + p) + max(-p, 0) for r, n, p in zip(reach, self.size, self.pads, strict=True)]
        first = [max(-p, 0) for p in self.pads]
        plane: Array = np.full((batch, *size, outputs), b, wide)
        for g in range(self.groups if x.size else 0):
            cells: Array = x[..., g * depth : (g + 1) * depth].astype(wide)
            here = slice(g * per_group, (g + 1) * per_group)
            for i in range(k_h):
                for j in range(k_w):
                    rows = slice(first[0] + i * d_h, first[0] + i * d_h + (height - 1) * s_h + 1, s_h)
                    columns = slice(first[1] + j * d_w, first[1] + j * d_w + (width - 1) * s_w + 1, s_w)
                    reached = plane[:, rows, columns, here]
                    weights: Array = w[here, i, j].astype(wide)
                    if is_narrow(x, w):
                        _add_in_order(reached, cells, weights)
                    else:
                        reached += cells @ weights.T
        at = [f + p for f, p in zip(first, self.pads, strict=True)]
        y = plane[:, at[0] : at[0] + self.size[0], at[1] : at[1] + self.size[1]]
        y = y if wide is np.int64 else clamped(y, self.lo, self.hi)
        return (y.astype(x.dtype),)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        if ins[0].quant is None:
            return self.on_reals(args, ins[1])
        x, w, b = args
        unbounded = replace(self, lo=-inf, hi=inf, dtype=None)
        (sums,) = unbounded.eval(centred(x, ins[0]), w.astype(np.float64), b.astype(np.float64))
        return (self.finished(sums, ins, outs[0], acc_bits(_around_zero(ins[0]), w, b)),)

    def macs(self, *ins: Type) -> int:
        x, w, _ = ins
        return x.size * w.size // max(x.shape[3], 1)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Python goes through the cells of the window."""
        _, k_h, k_w, depth = ins[1].shape
        each = ITERATION + term_by_term(ins[0], depth)
        return super().work(ins, outs) + self.groups * k_h * k_w * each

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        x, w, b = ins
        batch, in_h, in_w, in_c = x.type.shape
        out_h, out_w, out_c = outs[0].type.shape[1:]
        params: dict[str, Param] = {"batch": batch, "in_h": in_h, "in_w": in_w, "in_c": in_c}
        params |= {
            "out_h": out_h,
            "out_w": out_w,
            "out_c": out_c,
            "k_h": w.type.shape[1],
            "k_w": w.type.shape[2],
        }
        params |= {"stride_h": self.strides[0], "stride_w": self.strides[1]}
        params |= {"pad_top": self.pads[0], "pad_left": self.pads[1]}
        params |= {"dilation_h": self.dilations[0], "dilation_w": self.dilations[1], "groups": self.groups}
        if x.type.quant is not None:
            return [self._integer_call(ins, outs[0], params)]
        params |= limits(x.type.dtype, self.lo, self.hi)
        return [
            float_call(
                Call(
                    kernel="conv_transpose2d",
                    types=letters(x.type, w.type, b.type),
                    args=(x, w, b, outs[0]),
                    params=params,
                    macs=self.macs(x.type, w.type, b.type),
                )
            )
        ]

    def _integer_call(self, ins: Sequence[Arg], y: Arg, params: dict[str, Param]) -> Call:
        """The kernel call on quantized tensors. Which weights a result adds up depends on its place, so that
        the zero point of x cannot be part of the bias."""
        x, w, b = ins
        weights, bias = w.value.data, b.value.data
        narrow = x.type.dtype is DType.S8
        if weights is not None and bias is not None and narrow and fixed.acc_bits(bias, weights, 255) > 31:
            hint = "are its weights or its bias damaged?"
            raise EdgeKitError("E0208", "sums of this layer may leave 32 bits", w.name, hint)
        around_zero = Arg(x.name, Value(_around_zero(x.type)))
        rule = requantization([around_zero, w, b], y, self.lo, self.hi)
        return Call(
            kernel="conv_transpose2d_int",
            types=rule.types,
            args=(x, w, *rule.args, y),
            params=params | rule.params | {"in_zero": quant_of(x.type).zero[0]},
            rule=rule.rule,
            facts=rule.facts,
            expr=rule.expr,
            macs=self.macs(x.type, w.type, b.type),
        )

    @property
    def skips_taps(self) -> bool:
        return True  # results between the windows get less

    def narrowed(self, ins: Sequence[Array], out: Array) -> Op:
        # One input each: groups go with them. Groups of several keep their number, and each loses as many.
        is_depthwise = self.groups > 1 and ins[1].size == 1
        return replace(self, groups=int(ins[0].sum())) if is_depthwise else self


def _add_in_order(sums: Array, cells: Array, weights: Array) -> None:
    """sums += cells w', one input after the other."""
    with np.errstate(all="ignore"):
        for c in range(cells.shape[-1]):
            sums += cells[..., c, None] * weights[:, c]


def _around_zero(x: Type) -> Type:
    """The type of quantized x once its zero point is taken off."""
    return replace(x, quant=replace(quant_of(x), zero=(0,)))
