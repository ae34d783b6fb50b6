"""Convolution: y[n,h,w,o] = clamp(b[o] + sum of x[n, h sh + i dh - top, w sw + j dw - left, c] w[o,i,j,c])"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod

import numpy as np

from edgekit.core.ops import ELEMENT, ITERATION, Arg, Call, Op, Param, Step, require
from edgekit.core.ops._integer import acc_bits, centred, exact_float, requantization
from edgekit.core.ops._linear import Linear, clamped, float_call, letters, limits, wide_type
from edgekit.core.ops._order import is_narrow
from edgekit.core.reasons import OperandError
from edgekit.core.types import Array, DType, Type

Pads = tuple[int, int, int, int]
# Cells of an image with its border, and steps of a window: more is an attack or a mistake.
MAX_CELLS = 1 << 27
# Cells of windows that are copied at once, at most, unless one window has more: windows overlap.
_MAX_COPIED = 1 << 26


@dataclass(frozen=True)
class Window:
    """How a kernel of `size` (h, w) slides over an image; `pads` are top, left, bottom, right."""

    size: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilations: tuple[int, int] = (1, 1)

    def out(self, height: int, width: int) -> tuple[int, int]:
        """Height and width of the result."""
        positive = min(*self.size, *self.strides, *self.dilations) > 0 and min(self.pads) >= 0
        top, left, bottom, right = self.pads
        border = (height + top + bottom) * (width + left + right)
        if not positive or max(border, *self.strides, *self.dilations) > MAX_CELLS:
            raise OperandError(
                f"a window of {_by(self.size)} cells over {height} x {width} with pads {list(self.pads)}, "
                f"strides {_by(self.strides)} and dilations {_by(self.dilations)} "
                f"{'is absurd' if positive else 'makes no sense'}"
            )
        result = []
        for axis, n in enumerate((height, width)):
            reach = (self.size[axis] - 1) * self.dilations[axis] + 1
            padded = n + self.pads[axis] + self.pads[axis + 2]
            require(padded >= reach, f"a window of {reach} does not fit into {padded} padded cells")
            result.append((padded - reach) // self.strides[axis] + 1)
        return result[0], result[1]

    def fitted(self, height: int, width: int, around: Pads = (0, 0, 0, 0)) -> Window:
        """The window without the rows and columns that meet no cell of the image, nor `around` it, wherever
        the window is. Pools of any size become as small as the image asks for, with the same results."""
        size, strides, pads = list(self.size), list(self.strides), list(self.pads)
        for axis, n in enumerate((height, width)):
            k, s, d = size[axis], strides[axis], self.dilations[axis]
            before, after = pads[axis], pads[axis + 2]
            room = n + before + after - (k - 1) * d - 1
            if min(k, s, d) < 1 or min(before, after, room) < 0:
                return self  # `out` says what is wrong
            way = room // s * s  # of the first cell of the window, from its first place to its last
            first = -((around[axis] + way - before) // d)
            first = min(max(first, 0), before // d, k - 1)
            last = (n + around[axis + 2] + before - 1) // d
            last = max(last, k - 1 - after // d, first)
            last = min(last, k - 1)
            size[axis] = last - first + 1
            strides[axis] = min(s, n + before + after)  # beyond, there is one place
            pads[axis], pads[axis + 2] = before - first * d, after - (k - 1 - last) * d
        return replace(self, size=(size[0], size[1]), strides=(strides[0], strides[1]), pads=_four(pads))

    def patches(self, x: Array, fill: float) -> Array:
        """x[n,h,w,c] as windows [n, oh, ow, kh, kw, c], padded with `fill`."""
        if any(self.pads):
            top, left, bottom, right = self.pads
            n, height, width, c = x.shape
            padded = np.full((n, top + height + bottom, left + width + right, c), fill, x.dtype)
            padded[:, top : top + height, left : left + width] = x
            x = padded
        n, height, width, c = x.shape
        (kh, kw), (sh, sw), (dh, dw) = self.size, self.strides, self.dilations
        shape = (n, (height - (kh - 1) * dh - 1) // sh + 1, (width - (kw - 1) * dw - 1) // sw + 1, kh, kw, c)
        of_n, of_h, of_w, of_c = x.strides
        steps = (of_n, of_h * sh, of_w * sw, of_h * dh, of_w * dw, of_c)
        return np.lib.stride_tricks.as_strided(x, shape, steps, writeable=False)

    def inside(self, axis: int, size: int) -> list[slice]:
        """For each tap along an axis of so many cells: the places of the window where it is in the image."""
        stride, dilation, before = self.strides[axis], self.dilations[axis], self.pads[axis]
        firsts = [tap * dilation - before for tap in range(self.size[axis])]  # cells at the first place
        places = (size + before + self.pads[axis + 2] - (self.size[axis] - 1) * dilation - 1) // stride + 1
        starts = [max(0, -(first // stride)) for first in firsts]
        ends = [max(0, min(places, -((first - size) // stride))) for first in firsts]
        return [slice(start, end) for start, end in zip(starts, ends, strict=True)]

    def params(self) -> dict[str, int]:
        """The fields by which kernels know a window."""
        return {
            "k_h": self.size[0],
            "k_w": self.size[1],
            "stride_h": self.strides[0],
            "stride_w": self.strides[1],
            "pad_top": self.pads[0],
            "pad_left": self.pads[1],
            "dilation_h": self.dilations[0],
            "dilation_w": self.dilations[1],
        }


def blocks(patches: Array) -> Iterator[tuple[slice, slice, slice]]:
    """Images, rows and columns of windows, so many at a time as may be copied."""
    images, height, width, *cells = patches.shape
    windows = max(_MAX_COPIED // max(prod(cells), 1), 1)
    if images * height * width <= windows:
        yield slice(None), slice(None), slice(None)
        return
    rows, columns = (windows // width, width) if windows >= width else (1, windows)
    for i, top, left in product(range(images), range(0, height, rows), range(0, width, columns)):
        yield slice(i, i + 1), slice(top, top + rows), slice(left, left + columns)


def _by(pair: tuple[int, int]) -> str:
    return f"{pair[0]} x {pair[1]}"


def _four(pads: Sequence[int]) -> Pads:
    top, left, bottom, right = pads
    return top, left, bottom, right


def add_pads(a: Pads, b: Pads) -> Pads:
    """The border of a border."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]


@dataclass(frozen=True)
class Conv2d(Linear):
    """Operands: x [N, H, W, C], w [O, kh, kw, C / groups], b [O]. Depthwise is groups = C."""

    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilations: tuple[int, int] = (1, 1)
    groups: int = 1
    lo: float = -inf
    hi: float = inf
    dtype: DType | None = None

    linear_axis = 0

    def window(self, w: Type) -> Window:
        return Window((w.shape[1], w.shape[2]), self.strides, self.pads, self.dilations)

    def padded(self, pads: tuple[int, int, int, int]) -> Op | None:
        return replace(self, pads=add_pads(self.pads, pads))

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, w, b = ins
        if x.rank != 4 or w.rank != 4 or b.rank != 1:
            raise OperandError(f"takes x[N,H,W,C], w[O,h,w,I], b[O], got {x}, {w}, {b}")
        outputs = w.shape[0]
        dtype = self.result_dtype(x, w)
        if self.groups < 1 or x.shape[3] != w.shape[3] * self.groups or outputs % self.groups:
            raise OperandError(f"input {x} and weights {w} do not match with {self.groups} groups")
        if b.shape != (outputs,):
            raise OperandError(f"weights {w} and bias {b} differ in outputs")
        require(
            x.dtype.is_float or x.quant is not None or (self.lo, self.hi) == (-inf, inf),
            "limits are for floats",
        )
        height, width = self.window(w).out(x.shape[1], x.shape[2])
        return (replace(x, dtype=dtype, shape=(x.shape[0], height, width, outputs)),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, w, b = ins
        wide = wide_type(x.dtype)
        window = Window((w.shape[1], w.shape[2]), self.strides, self.pads, self.dilations)
        patches = window.patches(x.astype(wide), 0.0)
        outputs, k_h, k_w, depth = w.shape
        grouped = patches.reshape(*patches.shape[:5], self.groups, depth)
        weights: Array = w.astype(wide).reshape(self.groups, outputs // self.groups, k_h, k_w, depth)
        if is_narrow(x, w) or self.groups > k_h * k_w * depth:
            rows, columns = (window.inside(axis, x.shape[1 + axis]) for axis in (0, 1))
            sums = _sums_in_order(grouped, rows, columns, weights, b.astype(wide))
        else:
            sums = _sums(grouped, weights, b.astype(wide))
        sums = sums if wide is np.int64 else clamped(sums, self.lo, self.hi)
        return (sums.astype(x.dtype, copy=False).reshape(*patches.shape[:3], outputs),)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        if ins[0].quant is None:
            return self.on_reals(args, ins[1])
        x, w, b = args
        wide = exact_float(ins[0], w, b)
        unbounded = replace(self, lo=-inf, hi=inf, dtype=None)
        (sums,) = unbounded.eval(centred(x, ins[0], wide), w.astype(wide), b.astype(wide))
        return (self.finished(sums, ins, outs[0], acc_bits(ins[0], w, b)),)

    def macs(self, *ins: Type) -> int:
        (y,) = self.infer(*ins)
        return y.size * ins[1].size // max(ins[1].shape[0], 1)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Windows are copied; those of small floats, and of many groups, are taken term by term."""
        outputs, *window = ins[1].shape
        cells = outs[0].size * prod(window) * self.groups // max(outputs, 1)
        return super().work(ins, outs) + ELEMENT * cells + ITERATION * prod(window)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        x, w, b = ins
        n, in_h, in_w, in_c = x.type.shape
        _, out_h, out_w, out_c = outs[0].type.shape
        depthwise = self.groups == in_c and w.type.shape[3] == 1
        params: dict[str, Param] = {"batch": n, "in_h": in_h, "in_w": in_w, "in_c": in_c}
        params |= {"out_h": out_h, "out_w": out_w, "out_c": out_c}
        params |= self.window(w.type).params()
        if not depthwise:
            params |= {"groups": self.groups, "step_h": in_w * in_c, "step_w": in_c, "step_c": 1}
        kernel = "depthwise2d" if depthwise else "conv2d"
        if x.type.quant is not None:
            rule = requantization(ins, outs[0], self.lo, self.hi)
            return [
                Call(
                    kernel=f"{kernel}_int",
                    types=rule.types,
                    args=(x, w, *rule.args, outs[0]),
                    params=params | rule.params | {"in_zero": x.type.quant.zero[0]},
                    rule=rule.rule,
                    facts=rule.facts,
                    expr=rule.expr,
                    macs=self.macs(x.type, w.type, b.type),
                )
            ]
        params |= limits(x.type.dtype, self.lo, self.hi)
        return [
            float_call(
                Call(
                    kernel=kernel,
                    types=letters(x.type, w.type, b.type),
                    args=(x, w, b, outs[0]),
                    params=params,
                    macs=self.macs(x.type, w.type, b.type),
                )
            )
        ]

    @property
    def skips_taps(self) -> bool:
        return any(self.pads)

    def narrowed(self, ins: Sequence[Array], out: Array) -> Op:
        # One input each: groups go with them. Groups of several keep their number, and each loses as many.
        is_depthwise = self.groups > 1 and ins[1].size == 1
        return replace(self, groups=int(ins[0].sum())) if is_depthwise else self


def _sums(patches: Array, w: Array, b: Array) -> Array:
    """b + the products of patches [n, h, w, i, j, groups, c] and w [groups, o, i, j, c], over i, j, c."""
    n, height, width = patches.shape[:3]
    groups, outputs = w.shape[:2]
    sums = np.empty((n * height * width, groups, outputs), np.result_type(patches, w))
    for g, weights in enumerate(w):
        end = 0
        for block in blocks(patches[..., g, :]):
            cells = patches[(*block, ..., g, slice(None))]
            cells = cells.reshape(prod(cells.shape[:3]), weights[0].size)
            start, end = end, end + len(cells)
            np.matmul(cells, weights.reshape(outputs, -1).T, out=sums[start:end, g])
    sums = sums.reshape(len(sums), groups * outputs)
    sums += b  # in place: results are large, and new memory costs more than the sum
    return sums


def _sums_in_order(
    patches: Array, rows: Sequence[slice], columns: Sequence[slice], w: Array, b: Array
) -> Array:
    """The same, with every sum in the order of i, j, c. Cells outside of the image add nothing: tap i is
    inside at rows[i], tap j at columns[j]."""
    sums: Array = np.broadcast_to(b.reshape(w.shape[:2]), (*patches.shape[:3], *w.shape[:2])).copy()
    with np.errstate(all="ignore"):
        for i, j, c in np.ndindex(*w.shape[2:]):
            here = (slice(None), rows[i], columns[j])
            sums[here] += patches[(*here, i, j, slice(None), c, None)] * w[:, :, i, j, c]
    return sums
