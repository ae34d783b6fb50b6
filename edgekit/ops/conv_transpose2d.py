"""The transpose of a convolution: every cell of x adds a window of weights to y."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from edgekit.ir import Array, Type, Value
from edgekit.ops import Arg, Call, Op, Param, Step, require
from edgekit.ops._linear import Linear
from edgekit.ops.conv2d import limits, wide_type
from edgekit.ops.matmul import wrapping


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

    linear_axis = 0

    def has_integers(self, ins: Sequence[Value]) -> bool:
        return False

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, w, b = ins
        require(
            x.rank == 4 and w.rank == 4 and b.rank == 1,
            f"takes x[N,H,W,C], w[O,h,w,I], b[O], got {x}, {w}, {b}",
        )
        outputs = w.shape[0]
        require(x.dtype == w.dtype == b.dtype, f"operands differ in type: {x}, {w}, {b}")
        require(
            self.groups >= 1 and x.shape[3] == w.shape[3] * self.groups and outputs % self.groups == 0,
            f"input {x} and weights {w} do not match with {self.groups} groups",
        )
        require(b.shape == (outputs,), f"weights {w} and bias {b} differ in outputs")
        require(min(self.size) >= 0, f"a result of {self.size[0]} x {self.size[1]} cells is absurd")
        require(x.dtype.is_float or (self.lo, self.hi) == (-inf, inf), "limits are for floats")
        return (replace(x, shape=(x.shape[0], *self.size, outputs)),)

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
        plane = np.zeros((batch, *size, outputs), wide)
        for g in range(self.groups):
            cells: Array = x[..., g * depth : (g + 1) * depth].astype(wide)
            here = slice(g * per_group, (g + 1) * per_group)
            for i in range(k_h):
                for j in range(k_w):
                    rows = slice(first[0] + i * d_h, first[0] + i * d_h + (height - 1) * s_h + 1, s_h)
                    columns = slice(first[1] + j * d_w, first[1] + j * d_w + (width - 1) * s_w + 1, s_w)
                    plane[:, rows, columns, here] += cells @ w[here, i, j].astype(wide).T
        at = [f + p for f, p in zip(first, self.pads, strict=True)]
        y = plane[:, at[0] : at[0] + self.size[0], at[1] : at[1] + self.size[1]] + b.astype(wide)
        y = y if wide is np.int64 else np.clip(y, self.lo, self.hi)
        return (y.astype(x.dtype),)

    def macs(self, *ins: Type) -> int:
        x, w, _ = ins
        return x.size * w.size // max(x.shape[3], 1)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        x, w, b = ins
        if outs[0].type.size == 0:
            return []
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
        params |= limits(x.type.dtype, self.lo, self.hi)
        return [
            Call(
                kernel="conv_transpose2d",
                types={"T": wrapping(x.type.dtype)},
                args=(x, w, b, outs[0]),
                params=params,
                macs=self.macs(x.type, w.type, b.type),
            )
        ]

    @property
    def skips_taps(self) -> bool:
        return True  # results between the windows get less

    def narrowed(self, ins: Sequence[Array], out: Array) -> Op:
        return replace(self, groups=int(ins[0].sum())) if self.groups > 1 else self
