"""y = a sum, mean, product or extreme over some dimensions of x."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any

import numpy as np

from edgekit.core import fixed
from edgekit.core.layouts import Layout
from edgekit.core.ops import Arg, Call, Op, OpInLayout, Param, Step, require
from edgekit.core.ops._bounds import rising
from edgekit.core.ops._integer import centred, quant_of, single_rule
from edgekit.core.ops._layout import stored
from edgekit.core.ops._map import compute_type
from edgekit.core.ops._order import STEPS, is_narrow, reduced, term_by_term
from edgekit.core.ops._strided import Strides, contiguous, fold
from edgekit.core.types import Array, DType, Quant, Type, Value, type_of
from edgekit.core.value_ranges import Known, Pairs, Range, channels, together

_MAX_TERMS = (2**31 - 1) // 255  # of a sum of differences from a zero point, in 32 bits
LOOPS = 4  # of the kernels, over what stays and over what is reduced

_NUMPY: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.sum,  # and divided
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
}


@dataclass(frozen=True)
class Reduce(Op):
    """`axes` are sorted and count from the front; no axes: y = x. An empty sum is 0, an empty product 1, an
    empty maximum the least value of the type (-inf), an empty mean NaN."""

    kind: str
    axes: tuple[int, ...]
    keepdims: bool = True
    narrow: bool = False  # bf16 only: round after each step, not just in the end

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(x.rank <= 2 * LOOPS + 1, f"takes {2 * LOOPS + 1} dimensions at most, got {x}")
        require(not self.narrow or x.dtype is DType.BF16, f"{x} has no narrow {self.kind}")
        require(self.kind in _NUMPY, f"knows no reduction {self.kind!r}")
        require(
            sorted(set(self.axes)) == list(self.axes) and all(0 <= a < x.rank for a in self.axes),
            f"axes {list(self.axes)} do not fit {x}",
        )
        require(
            x.dtype is not DType.BOOL or self.kind in ("max", "min"), f"{self.kind} is not defined on bool"
        )
        count = prod(x.shape[a] for a in self.axes)
        require(count > 0 or x.dtype.is_float or self.kind != "mean", f"there is no mean of nothing in {x}")
        shape = [1 if i in self.axes else n for i, n in enumerate(x.shape)]
        if not self.keepdims:
            shape = [n for i, n in enumerate(x.shape) if i not in self.axes]
        return (replace(x, shape=tuple(shape)),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        dtype = DType.of(x.dtype)
        wide = x.astype(np.float32) if dtype.is_float and dtype.bytes < 4 and not self.narrow else x
        start = np.asarray(identity(self.kind, dtype)).astype(wide.dtype)
        with np.errstate(all="ignore"):
            if is_narrow(x) and x.size:
                y = self._in_order(wide, start.item()).reshape(self.infer(type_of(x))[0].shape)
            else:
                y = _NUMPY[self.kind](wide, axis=self.axes, keepdims=self.keepdims, initial=start)
            if self.kind == "mean":
                y = y.astype(compute_type(dtype).numpy)
                count = np.asarray(prod(x.shape[a] for a in self.axes), y.dtype)
                # Integers are divided towards zero, as in C.
                y = y / count if dtype.is_float else y // count + ((y < 0) & (y % count != 0)).astype(y.dtype)
            return (np.asarray(y).astype(x.dtype),)

    def _in_order(self, x: Array, start: float) -> Array:
        sizes, _, kept = _loops(x.shape, self.axes, self.narrow)
        return reduced(STEPS[self.kind], start, x.reshape(sizes), [stays != 0 for stays in kept])

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        if self.kind in ("max", "min"):
            return self.eval(*args)
        sums = centred(args[0], ins[0]).sum(axis=self.axes, keepdims=self.keepdims).astype(np.int64)
        y = quant_of(outs[0])
        low, high = fixed.int_range(outs[0].dtype)
        return (
            fixed.requantize(sums, self._ratio(ins[0], outs[0]), y, low, high).astype(outs[0].dtype.numpy),
        )

    def _ratio(self, x: Type, y: Type) -> Array:
        """Of the scales; a mean is divided by its count."""
        count = prod(x.shape[a] for a in self.axes) if self.kind == "mean" else 1
        return (fixed.ratio(quant_of(x), Quant((1.0,), (0,)), quant_of(y)) / count).reshape(())

    def has_integers(self, ins: Sequence[Value]) -> bool:
        x = ins[0].type
        return self.kind != "prod" and 0 < prod(x.shape[a] for a in self.axes) <= _MAX_TERMS

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Small floats are added up in the order of the kernel."""
        (x,) = ins
        terms = prod(x.shape[axis] for axis in self.axes)
        return super().work(ins, outs) + term_by_term(x, terms)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        if x.type.quant is not None and self.kind not in ("max", "min"):
            return [self._integer_total(x, y)]
        return reduction(x, y, self.kind, self.axes, self.narrow)

    def _integer_total(self, x: Arg, y: Arg) -> Call:
        """The kernel call of a sum or mean on quantized tensors."""
        kept, reduced = _walk(x.type.shape, self.axes)
        rule = single_rule(self._ratio(x.type, y.type), quant_of(y.type))
        low, high = fixed.int_range(y.type.dtype)
        params: dict[str, Param] = {"x_zero": quant_of(x.type).zero[0], "zero": quant_of(y.type).zero[0]}
        loops: dict[str, Param] = {}
        for letter, dims in (("n", kept), ("r", reduced)):
            padded = [(1, 0)] * (LOOPS + 1 - len(dims)) + dims
            loops[letter], loops[f"x_{letter}"] = [n for n, _ in padded], [step for _, step in padded]
        params |= {"lo": low, "hi": high, **loops, **rule.params}
        return Call("total_s8", {}, (x, y), params, label="total_s8", expr=rule.expr, rule=rule.name)

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        (x,) = ins
        if len(x.shape) > 2 * LOOPS + 1:
            return None
        axes = tuple(sorted(d for axis in self.axes for d in x.dims[axis]))
        y = x.resized([1 if i in self.axes else n for i, n in enumerate(x.value_shape)])
        y = y if self.keepdims else y.without(self.axes)
        return stored(replace(self, axes=axes), ins, [y])

    def changes_nothing(self, *ins: Type) -> bool:
        return True  # every result comes from one element

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        wraps = not outs[0].dtype.is_float and self.kind not in ("max", "min")
        return None if wraps or self.kind == "prod" else rising(self, ins, outs)

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        return None if ins[0].rank - 1 in self.axes else [together(channels(out))]


def identity(kind: str, dtype: DType) -> float | int:
    """What a reduction starts from."""
    if kind in ("max", "min"):
        sign = -1 if kind == "max" else 1
        if dtype.is_float:
            return sign * inf
        if dtype is DType.BOOL:
            return 0 if kind == "max" else 1
        least, most = integer_range(dtype)
        return least if kind == "max" else most
    return 1 if kind == "prod" else 0


def integer_range(dtype: DType) -> tuple[int, int]:
    """The least and the largest value of an integer type."""
    if dtype.is_signed:
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << dtype.bits) - 1


def formula(kind: str, dtype: DType, narrow: bool = False) -> str:
    """C for one step of a reduction: a is the result so far, b the next element."""
    if narrow:
        return f"ek_{dtype.value}_to_f32(ek_f32_to_{dtype.value}({formula(kind, dtype)}))"
    compute = compute_type(dtype)
    if kind in ("max", "min"):
        if compute.is_float:
            return f"ek_f{kind}_{compute.value}(a, b)"
        return f"a {'>' if kind == 'max' else '<'} b ? a : b"
    sign = "*" if kind == "prod" else "+"
    if compute.is_float:
        return f"a {sign} b"
    return f"({compute.c})((uint{compute.bits}_t)a {sign} (uint{compute.bits}_t)b)"


def _walk(shape: Sequence[int], axes: Sequence[int]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(size, stride) of the dimensions that stay, and of those that are reduced; neighbours are one."""
    dims = list(zip(*_folded(shape, axes), strict=True))
    return [(n, s) for n, s, k in dims if k], [(n, s) for n, s, k in dims if not k]


def _loops(shape: Sequence[int], axes: Sequence[int], narrow: bool) -> tuple[Strides, Strides, Strides]:
    """Sizes of the loops of the kernels, their strides, and 0 for those that are reduced."""
    sizes, steps, kept = _folded(shape, axes)
    if not sizes or (narrow and kept[-1] == 0):  # lanes would take the elements in another order
        return (*sizes, 1), (*steps, 1), (*kept, 1)
    return sizes, steps, kept


def _folded(shape: Sequence[int], axes: Sequence[int]) -> tuple[Strides, Strides, Strides]:
    """Sizes of dimensions, of which neighbours are one where they can; their strides, and 0 for those that
    are reduced."""
    if 0 in shape:  # nothing is reduced to each result
        return (prod(n for i, n in enumerate(shape) if i not in axes), 0), (0, 1), (1, 0)
    strides = contiguous(shape)
    # A dimension that is reduced has stride 0 in y, so that only equal neighbours fold.
    marks = tuple(0 if i in axes else s for i, s in enumerate(strides))
    sizes, (steps, kept) = fold(shape, strides, marks)
    return sizes, steps, kept


def reduction(x: Arg, y: Arg, kind: str, axes: Sequence[int], narrow: bool = False) -> list[Step]:
    """The kernel call of a reduction: over what stays, then over what is reduced. The last dimension is the
    inner loop either way: many results advance together, or one result in several lanes."""
    shape = x.type.shape
    sizes, steps, kept = _loops(shape, axes, narrow)
    rows = kept[-1] == 0
    outer = [(n, s) for n, s, k in zip(sizes, steps, kept, strict=True) if k != 0]
    inner = [(n, s) for n, s, k in zip(sizes, steps, kept, strict=True) if k == 0]
    last, _ = (inner if rows else outer).pop()
    assert max(len(outer), len(inner)) <= LOOPS, "infer lets no other shapes pass"
    pad_outer, pad_inner = LOOPS - len(outer), LOOPS - len(inner)
    count = prod(shape[a] for a in axes)
    mean = kind == "mean"
    return [
        Call(
            kernel="reduce_rows" if rows else "reduce",
            types={"T": x.type.dtype},
            args=(x, y),
            params={
                "n": [1] * pad_outer + [n for n, _ in outer],
                "x_n": [0] * pad_outer + [s for _, s in outer],
                "r": [1] * pad_inner + [n for n, _ in inner],
                "x_r": [0] * pad_inner + [s for _, s in inner],
                "last": last,
                "start": identity(kind, x.type.dtype),
                "divisor": count if mean else 1,
            },
            label=f"reduce_{'sum' if mean else kind}" + "_rows" * rows + "_narrow" * narrow,
            expr=formula(kind, x.type.dtype, narrow),
        )
    ]
