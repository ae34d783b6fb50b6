"""y = the elements of x that indices name, which may be known at run time only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core.layouts import Layout
from edgekit.core.ops import ELEMENT, Arg, Call, Op, OpInLayout, Param, Step, require
from edgekit.core.ops._copy import stored_as
from edgekit.core.ops._indexed import cells, check_index, clamped, components
from edgekit.core.ops._layout import stored
from edgekit.core.ops._strided import Strides, broadcast, contiguous, loops
from edgekit.core.reasons import OperandError
from edgekit.core.types import Array, Type


@dataclass(frozen=True)
class Gather(Op):
    """y[.., j, ..] = x[.., index[.., j, ..], ..] along an axis. x and the index have the same rank and
    broadcast to each other in all other dimensions."""

    is_data_movement = True
    axis: int

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, index = ins
        check_index(index)
        require(
            x.rank == index.rank and 0 <= self.axis < x.rank, f"no axis {self.axis} in both {x} and {index}"
        )
        require(x.shape[self.axis] > 0 or index.size == 0, f"{x} is empty along axis {self.axis}")
        return (replace(x, shape=_result(x.shape, index.shape, self.axis)),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, index = ins
        at = clamped(index, x.shape[self.axis])
        if at.size == at.shape[self.axis]:
            return (np.take(x, at.reshape(-1), self.axis),)
        shape = _result(x.shape, at.shape, self.axis)
        source = np.broadcast_to(x, (*shape[: self.axis], x.shape[self.axis], *shape[self.axis + 1 :]))
        return (np.take_along_axis(source, np.broadcast_to(at, shape), self.axis),)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Scattered reads."""
        return super().work(ins, outs) + 4 * ELEMENT * outs[0].size

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x, index), (y,) = ins, outs
        dense, shape = contiguous(x.type.shape), y.type.shape
        steps = tuple(
            0 if n == 1 or i == self.axis else s
            for i, (n, s) in enumerate(zip(x.type.shape, dense, strict=True))
        )
        parts = components([x.type.shape[self.axis]], (dense[self.axis],), 1)
        return _calls(x, index, y, steps, broadcast(index.type.shape, shape), parts)

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        x, index = ins
        axis = x.axis(self.axis)
        if at != 0 or axis is None:
            return None
        y = x.resized(_result(x.value_shape, index.value_shape, self.axis))
        return stored(Gather(axis), [x, y.resized(index.value_shape)], [y])


@dataclass(frozen=True)
class GatherND(Op):
    """y[b, j] = x[b, index[b, j]]: the last dimension of the index holds the components of one index, `batch`
    dimensions in front are common to x and the index."""

    batch: int = 0

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, index = ins
        check_index(index)
        require(
            0 <= self.batch < index.rank and x.shape[: self.batch] == index.shape[: self.batch],
            f"{x} and {index} differ in the first {self.batch} dimensions",
        )
        depth = self.batch + index.shape[-1]
        require(depth <= x.rank, f"an index of {index.shape[-1]} components is too long for {x}")
        require(0 not in x.shape[:depth] or index.size == 0, f"{x} is empty")
        return (replace(x, shape=(*index.shape[:-1], *x.shape[depth:])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, index = ins
        rank = index.ndim - 1
        places = [cells(rank, i, n) for i, n in enumerate(index.shape[: self.batch])]
        places += [clamped(index[..., c], x.shape[self.batch + c]) for c in range(index.shape[-1])]
        shape = (*index.shape[:-1], *x.shape[self.batch + index.shape[-1] :])
        return (np.broadcast_to(x[tuple(places)] if places else x, shape),)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Scattered reads."""
        return super().work(ins, outs) + 4 * ELEMENT * outs[0].size

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x, index), (y,) = ins, outs
        dense, b, k = contiguous(x.type.shape), self.batch, index.type.shape[-1]
        inner = x.type.rank - b - k
        steps = (*dense[:b], *(0,) * (index.type.rank - 1 - b), *dense[b + k :])
        at = (*contiguous(index.type.shape)[:-1], *(0,) * inner)
        return _calls(x, index, y, steps, at, components(x.type.shape[b : b + k], dense[b : b + k], 1))


def _result(x: Sequence[int], index: Sequence[int], axis: int) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes((*x[:axis], 1, *x[axis + 1 :]), tuple(index))
    except ValueError:
        raise OperandError(
            f"index of shape {list(index)} does not broadcast to {list(x)} outside of axis {axis}"
        ) from None


def _calls(
    x: Arg, index: Arg, y: Arg, steps: Strides, at: Strides, parts: Mapping[str, Param]
) -> Sequence[Step]:
    shape = y.type.shape
    return [
        Call(
            kernel="gather",
            types={"T": stored_as(x.type.dtype), "I": index.type.dtype},
            args=(x, index, y),
            params={"n": n, "x": xs, "index": ks, **parts, "x0": x0, "index0": k0, "y0": y0},
        )
        for n, (xs, ks, _), (x0, k0, y0) in loops(shape, steps, at, contiguous(shape))
    ]
