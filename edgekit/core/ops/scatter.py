"""y = x, with elements that indices name replaced by, or combined with, updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgekit.core.ops import ELEMENT, Arg, Call, Op, Param, Step, require
from edgekit.core.ops._copy import copy, stored_as
from edgekit.core.ops._indexed import cells, check_index, clamped, components
from edgekit.core.ops._map import Map
from edgekit.core.ops._order import is_narrow, term_by_term
from edgekit.core.ops._strided import Strides, broadcast, contiguous, loops
from edgekit.core.ops.arithmetic import Add, Max, Min, Mul
from edgekit.core.types import Array, Type

# How an update joins what is there. Updates of the same element are applied in order.
_COMBINE: Mapping[str, tuple[Map, np.ufunc]] = {
    "add": (Add(), np.add),
    "mul": (Mul(), np.multiply),
    "max": (Max(), np.maximum),
    "min": (Min(), np.minimum),
}


@dataclass(frozen=True)
class Scatter(Op):
    """y[.., index[.., j, ..], ..] = update[.., j, ..] along an axis. The index broadcasts to the updates,
    which may be smaller than x in every dimension."""

    axis: int
    reduction: str = "none"

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, index, update = ins
        check_index(index)
        _check(x, update, self.reduction)
        require(
            x.rank == index.rank == update.rank and 0 <= self.axis < x.rank,
            f"{x}, index {index} and updates {update} have no axis {self.axis} in common",
        )
        require(
            all(u <= n for i, (u, n) in enumerate(zip(update.shape, x.shape, strict=True)) if i != self.axis)
            and all(k in (1, u) for k, u in zip(index.shape, update.shape, strict=True)),
            f"index {index} and updates {update} do not fit {x}",
        )
        require(x.shape[self.axis] > 0 or update.size == 0, f"{x} is empty along axis {self.axis}")
        return (x,)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, index, update = ins
        places = [cells(update.ndim, i, n) for i, n in enumerate(update.shape)]
        places[self.axis] = np.broadcast_to(clamped(index, x.shape[self.axis]), update.shape)
        return (_scatter(x, tuple(places), update, self.reduction),)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        return super().work(ins, outs) + _sorting(ins[2])

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x, index, update), (y,) = ins, outs
        if self._replaces_rows(x.type, index.type, update.type):
            return [self._rows(x, index, update, y)]
        dense = contiguous(x.type.shape)
        steps = tuple(0 if i == self.axis else s for i, s in enumerate(dense))
        parts = components([x.type.shape[self.axis]], (dense[self.axis],), 1)
        at = broadcast(index.type.shape, update.type.shape)
        return _steps(x, index, update, y, self.reduction, steps, at, parts)

    def _replaces_rows(self, x: Type, index: Type, update: Type) -> bool:
        """Whole rows, at one place in everything that is in front of the axis?"""
        rows = (*x.shape[: self.axis], update.shape[self.axis], *x.shape[self.axis + 1 :])
        alone = index.size == index.shape[self.axis] == update.shape[self.axis]
        return self.reduction == "none" and alone and update.shape == rows and update.size > 0

    def _rows(self, x: Arg, index: Arg, update: Arg, y: Arg) -> Call:
        """In place, if nothing reads x any more: a cache grows by what is new, and nothing is copied."""
        return Call(
            kernel="scatter_rows",
            types={"T": stored_as(x.type.dtype), "I": index.type.dtype},
            args=(x, index, update, y),
            params={
                "outer": prod(x.type.shape[: self.axis]),
                "rows": x.type.shape[self.axis],
                "count": index.type.size,
                "n": prod(x.type.shape[self.axis + 1 :]),
            },
            inplace=(0,),
        )


@dataclass(frozen=True)
class ScatterND(Op):
    """y[index[j]] = update[j]: the last dimension of the index holds the components of one index."""

    reduction: str = "none"

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, index, update = ins
        check_index(index)
        _check(x, update, self.reduction)
        require(index.rank >= 1 and index.shape[-1] <= x.rank, f"indices {index} do not fit {x}")
        depth = index.shape[-1]
        require(
            update.shape == (*index.shape[:-1], *x.shape[depth:]),
            f"updates {update} do not fit indices {index} into {x}",
        )
        require(0 not in x.shape[:depth] or update.size == 0, f"{x} is empty")
        return (x,)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, index, update = ins
        places = tuple(clamped(index[..., c], x.shape[c]) for c in range(index.shape[-1]))
        return (_scatter(x, places, update, self.reduction),)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        return super().work(ins, outs) + _sorting(ins[2])

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x, index, update), (y,) = ins, outs
        dense, depth = contiguous(x.type.shape), index.type.shape[-1]
        steps = (*(0,) * (index.type.rank - 1), *dense[depth:])
        at = (*contiguous(index.type.shape)[:-1], *(0,) * (x.type.rank - depth))
        parts = components(x.type.shape[:depth], dense[:depth], 1)
        return _steps(x, index, update, y, self.reduction, steps, at, parts)


def _check(x: Type, update: Type, reduction: str) -> None:
    require(reduction == "none" or reduction in _COMBINE, f"reduction {reduction} is unknown")
    require(x.dtype is update.dtype, f"{x} and updates {update} differ in type")
    if reduction != "none":
        _COMBINE[reduction][0].infer(x, x)  # is it defined?


def _sorting(update: Type) -> int:
    """Steps to find the last update of each place: numpy sorts them. Small floats are added one by one."""
    sorting = 4 * ELEMENT * update.size * max(update.size, 1).bit_length()
    return sorting + term_by_term(update, update.size)


def _scatter(x: Array, places: tuple[Array, ...], update: Array, reduction: str) -> Array:
    """numpy's own indexing promises nothing about repeated indices: the last of them must win."""
    y = x.copy()
    if reduction != "none" and not is_narrow(x):
        with np.errstate(all="ignore"):
            if places:
                _COMBINE[reduction][1].at(y, places, update)
            return y if places else _COMBINE[reduction][1](y, update)
    where = np.arange(x.size).reshape(x.shape)[places] if places else np.arange(x.size).reshape(x.shape)
    flat = np.broadcast_to(where, update.shape).reshape(-1)
    if reduction != "none":
        return _combined(y, flat, update.reshape(-1), _COMBINE[reduction][0])
    last = flat.size - 1 - np.unique(flat[::-1], return_index=True)[1]
    y.reshape(-1)[flat[last]] = update.reshape(-1)[last]
    return y


def _combined(y: Array, flat: Array, update: Array, op: Op) -> Array:
    """Each cell with its updates, one after the other: the steps of the kernel, which rounds after each."""
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    places = np.arange(flat.size)
    begins = np.where(np.diff(ordered, prepend=-1) != 0, places, 0)
    turns = places - np.maximum.accumulate(begins)
    cells = y.reshape(-1)
    for turn in range(int(turns.max(initial=-1)) + 1):
        now = order[turns == turn]
        (cells[flat[now]],) = op.eval(cells[flat[now]], update[now])
    return y


def _steps(
    x: Arg,
    index: Arg,
    update: Arg,
    y: Arg,
    reduction: str,
    steps: Strides,
    at: Strides,
    parts: Mapping[str, Param],
) -> Sequence[Step]:
    plain = reduction == "none"
    dtype = stored_as(x.type.dtype) if plain else x.type.dtype
    shape = update.type.shape
    calls: list[Step] = [*copy(x, y, (x.type.size,), (1,), (1,))]
    calls += [
        Call(
            kernel="scatter",
            types={"T": dtype, "I": index.type.dtype},
            args=(index, update, y),
            params={"n": n, "y": ys, "index": ks, "u": us, **parts, "y0": y0, "index0": k0, "u0": u0},
            label="scatter" if plain else f"scatter_{reduction}",
            expr="b" if plain else _COMBINE[reduction][0].formula(dtype),
        )
        for n, (ys, ks, us), (y0, k0, u0) in loops(shape, steps, at, contiguous(shape))
    ]
    return calls
