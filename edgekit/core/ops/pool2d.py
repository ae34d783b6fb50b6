"""Pooling over the windows of an image [N, H, W, C]: maximum, sum, mean, and where the maximum is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from edgekit.core import fixed
from edgekit.core.ops import ELEMENT, Arg, Call, Op, Param, Step, require
from edgekit.core.ops._bounds import rising
from edgekit.core.ops._integer import centred, constant, quant_of, single_rule
from edgekit.core.ops._order import STEPS, is_narrow, reduced, term_by_term
from edgekit.core.ops.conv2d import Pads, Window, add_pads, blocks
from edgekit.core.ops.reduce import formula, identity
from edgekit.core.types import Array, DType, Quant, Type, Value
from edgekit.core.value_ranges import Known, Pairs, Range, channels, together

# Windows of more cells are not looked into to bound a result: nothing is known of it then.
_MAX_CELLS = 1 << 24
_COUNTED = ("counted_top", "counted_left", "counted_bottom", "counted_right")


@dataclass(frozen=True)
class Pool2d(Op):
    """`kind` is max, sum or mean. What lies outside of the image does not count for the maximum and the sum;
    the mean divides by the number of cells of a window within the image and `counted` cells (top, left,
    bottom, right) around it, which are 0."""

    kind: str
    size: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    pads: Pads = (0, 0, 0, 0)
    dilations: tuple[int, int] = (1, 1)
    counted: Pads = (0, 0, 0, 0)

    @property
    def window(self) -> Window:
        return Window(self.size, self.strides, self.pads, self.dilations)

    def fitted(self, height: int, width: int) -> Pool2d:
        """The same results by a window that is no larger than the image, and what is counted of its border,
        ask for: what readers make of windows of any size."""
        window = self.window.fitted(height, width, self.counted)
        return replace(self, size=window.size, strides=window.strides, pads=window.pads)

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(x.rank == 4, f"takes x[N,H,W,C], got {x}")
        require(self.kind in ("max", "sum", "mean"), f"knows no pooling {self.kind!r}")
        require(
            x.dtype.is_float or x.quant is not None or (x.dtype.is_integer and self.kind != "mean"),
            f"{self.kind} is not defined on {x}",
        )
        height, width = self.window.out(x.shape[1], x.shape[2])
        y = replace(x, shape=(x.shape[0], height, width, x.shape[3]))
        require(
            x.quant is None or y.size == 0 or self.has_integers([Value(x)]),
            f"the {self.kind} of a window over {x} is of no cell, which is no integer",
        )
        return (y,)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        dtype = DType.of(x.dtype)
        narrow = is_narrow(x)
        wide = x.astype(np.float32) if narrow else x
        start = identity("max" if self.kind == "max" else "sum", dtype)
        patches = self.window.patches(wide, start)
        if narrow:
            kept = [axis not in (3, 4) for axis in range(patches.ndim)]
            y = np.empty((*patches.shape[:3], x.shape[3]), wide.dtype)
            for block in blocks(patches):
                y[block] = reduced(STEPS[self.kind], start, patches[block], kept).reshape(y[block].shape)
        else:
            y = patches.max(axis=(3, 4)) if self.kind == "max" else patches.sum(axis=(3, 4), dtype=wide.dtype)
        if self.kind == "mean":
            with np.errstate(all="ignore"):
                y /= self.counts(x.shape[1], x.shape[2])[:, :, None].astype(wide.dtype)
        return (y.astype(x.dtype, copy=False),)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        return _work(self.size, ins, outs)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        if self.kind == "max":
            return self.eval(*args)
        assert self.kind == "mean", "a sum of integers has no scale of its own"
        (x,), y = args, quant_of(outs[0])
        low, high = fixed.int_range(outs[0].dtype)
        counts = self.counts(x.shape[1], x.shape[2])[:, :, None]
        if y.rounding == "E":
            sums = self.window.patches(centred(x, ins[0]), 0.0).sum(axis=(3, 4)).astype(np.int64)
            unit = Quant((1.0,), (0,))
            results = [
                np.where(
                    counts == n,
                    fixed.requantize(sums, fixed.ratio(quant_of(ins[0]), unit, y) / n, y, low, high),
                    0,
                )
                for n in np.unique(counts)
            ]
            return (np.sum(results, axis=0).astype(x.dtype),)
        # TFLite: the scale stays, and halves are rounded away from zero.
        sums = self.window.patches(x.astype(np.float64), 0.0).sum(axis=(3, 4)).astype(np.int64)
        magnitude = (np.abs(sums) + counts // 2) // counts
        return (np.clip(np.where(sums > 0, magnitude, -magnitude), low, high).astype(x.dtype),)

    def has_integers(self, ins: Sequence[Value]) -> bool:
        """A mean divides by something."""
        _, height, width, _ = ins[0].type.shape
        counts = self._counts(height, width)
        return self.kind == "max" or (self.kind == "mean" and all(n.min(initial=1) > 0 for n in counts))

    def counts(self, height: int, width: int) -> Array:
        """Cells that the mean of each window divides by: rows times columns."""
        rows, columns = self._counts(height, width)
        return rows[:, None] * columns

    def _counts(self, height: int, width: int) -> tuple[Array, Array]:
        """How many rows and columns of each window count."""
        sides = zip((height, width), self.window.out(height, width), strict=True)
        rows, columns = (self._counts_along(axis, n, out) for axis, (n, out) in enumerate(sides))
        return rows, columns

    def _counts_along(self, axis: int, n: int, out: int) -> Array:
        step, first = self.dilations[axis], np.arange(out) * self.strides[axis] - self.pads[axis]
        tap = np.maximum(-((first + self.counted[axis]) // step), 0)  # the first one that counts
        last = np.minimum((n + self.counted[axis + 2] - 1 - first) // step, self.size[axis] - 1)
        return np.asarray(np.maximum(last - tap + 1, 0))

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        dtype = x.type.dtype
        kind = "max" if self.kind == "max" else "sum"
        if self.kind == "mean" and x.type.quant is not None:
            return [self._integer_mean(x, y)]
        params = image_params(x.type, y.type, self.window) | {"start": identity(kind, dtype)}
        if self.kind == "mean":
            params |= dict(zip(_COUNTED, self.counted, strict=True))
        return [
            Call(
                kernel="meanpool2d" if self.kind == "mean" else "pool2d",
                types={"T": dtype},
                args=(x, y),
                params=params,
                label=f"{self.kind}pool2d",
                expr=formula(kind, dtype),
            )
        ]

    def _integer_mean(self, x: Arg, y: Arg) -> Call:
        """The kernel call of a mean on quantized tensors."""
        params = image_params(x.type, y.type, self.window)
        out = quant_of(y.type)
        if out.rounding != "E":
            return Call("avgpool2d_s8", {}, (x, y), params, label="avgpool2d_s8_tfl")
        cells = np.unique(self.counts(x.type.shape[1], x.type.shape[2]))
        in_quant = quant_of(x.type)
        ratio = fixed.ratio(in_quant, Quant((1.0,), (0,)), out)
        low, high = fixed.int_range(y.type.dtype)
        params |= {"x_zero": in_quant.zero[0], "zero": out.zero[0], "lo": low, "hi": high}
        if len(cells) > 1:
            params |= dict(zip(_COUNTED, self.counted, strict=True))
            return Call("meanpool2d_border_s8", {}, (x, *_rules(ratio, cells, y), y), params)
        rule = single_rule(ratio / cells[0], out)
        params |= rule.params
        return Call(
            "meanpool2d_s8", {}, (x, y), params, label="meanpool2d_s8", expr=rule.expr, rule=rule.name
        )

    def padded(self, pads: Pads) -> Op | None:
        """Zeros do not change a sum; a mean counts them."""
        if self.kind == "max":
            return None
        counted = add_pads(self.counted, pads) if self.kind == "mean" else self.counted
        return replace(self, pads=add_pads(self.pads, pads), counted=counted)

    def changes_nothing(self, *ins: Type) -> bool:
        return self.size == (1, 1) and self.pads == (0, 0, 0, 0)

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        if outs[0].size * prod(self.size) > _MAX_CELLS:
            return None
        return rising(self, ins, outs)

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        return [together(channels(out))]


@dataclass(frozen=True)
class ArgMaxPool2d(Op):
    """Where the first maximum of each window is: n, h, w, c of the cell times `steps`, added up."""

    size: tuple[int, int]
    steps: tuple[int, int, int, int]
    strides: tuple[int, int] = (1, 1)
    pads: Pads = (0, 0, 0, 0)
    dilations: tuple[int, int] = (1, 1)

    @property
    def window(self) -> Window:
        return Window(self.size, self.strides, self.pads, self.dilations)

    def fitted(self, height: int, width: int) -> ArgMaxPool2d:
        """See Pool2d."""
        window = self.window.fitted(height, width)
        return replace(self, size=window.size, strides=window.strides, pads=window.pads)

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (y,) = Pool2d("max", self.size, self.strides, self.pads, self.dilations).infer(*ins)
        return (replace(y, dtype=DType.S64),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        n, h, w, c = (
            np.arange(size, dtype=np.int64) * step for size, step in zip(x.shape, self.steps, strict=True)
        )
        places = n[:, None, None, None] + h[:, None, None] + w[:, None] + c
        patches = self.window.patches(x, identity("max", DType.of(x.dtype)))
        inside = self.window.patches(np.ones(x.shape, np.bool_), False)
        numbers = self.window.patches(places, 0)
        y = np.empty((*patches.shape[:3], x.shape[3]), np.int64)
        for block in blocks(patches):
            y[block] = _first_of_highest(patches[block], inside[block], numbers[block])
        return (y,)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        return 4 * _work(self.size, ins, outs)  # values, places, what is inside, what is equal

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        params = image_params(x.type, y.type, self.window)
        params |= dict(zip(("place_n", "place_h", "place_w", "place_c"), self.steps, strict=True))
        return [Call(kernel="argmaxpool2d", types={"T": x.type.dtype}, args=(x, y), params=params)]


def _first_of_highest(patches: Array, inside: Array, numbers: Array) -> Array:
    """The number of the first cell inside the image that has the highest value of its window."""
    flat = (*patches.shape[:3], prod(patches.shape[3:5]), patches.shape[5])
    patches, inside, numbers = (a.reshape(flat) for a in (patches, inside, numbers))
    highest = patches.max(axis=3, keepdims=True)
    first = (inside & (patches == highest)).argmax(axis=3)
    found: Array = np.take_along_axis(numbers, first[:, :, :, None, :], axis=3)[:, :, :, 0, :]
    return found


def _work(size: tuple[int, int], ins: Sequence[Type], outs: Sequence[Type]) -> int:
    """Each result reads a window; small floats are taken cell by cell."""
    once = ELEMENT * (ins[0].size + outs[0].size * prod(size))
    return once + term_by_term(ins[0], prod(size))


def _rules(ratio: Array, cells: Array, y: Arg) -> tuple[Arg, Arg]:
    """Multipliers and shifts of rule E for sums that are divided by each of these numbers of cells."""
    multipliers = np.zeros(int(cells.max()) + 1, np.int32)
    shifts = np.ones(len(multipliers), np.int8)
    for n in cells:
        multiplier, shifts[n] = fixed.rule_e(ratio / n)
        multipliers[n] = multiplier.item()
    return (
        constant(f"{y.name}#multipliers", multipliers, "divide sums by so many cells, with #shifts"),
        constant(f"{y.name}#shifts", shifts, "see #multipliers"),
    )


def image_params(x: Type, y: Type, window: Window) -> dict[str, Param]:
    """The fields by which pooling kernels know their image."""
    batch, in_h, in_w, channels = x.shape
    _, out_h, out_w, _ = y.shape
    sizes = {"batch": batch, "in_h": in_h, "in_w": in_w, "channels": channels, "out_h": out_h, "out_w": out_w}
    return {**sizes, **window.params()}
