"""Selections, borders, repetitions and conversions of tensors, as import handlers share them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from edgekit.converters.tensor import Operand, Tensor, concat
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.logic import Less, Where
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.slice import Slice
from edgekit.core.types import Array, DType


def cast(x: Tensor, dtype: DType) -> Tensor:
    return x if x.dtype is dtype else x.apply(Cast(dtype))


def where(condition: Tensor, yes: Tensor, no: Operand) -> Tensor:
    return condition.apply(Where(), yes, no if isinstance(no, Tensor) else yes.like(no))


def box(x: Tensor, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None = None) -> Tensor:
    """x[start : start + size * step : step] in every dimension."""
    steps = steps or (1,) * x.rank
    if (
        tuple(sizes) == x.shape
        and not any(starts)
        and all(s == 1 or n < 2 for s, n in zip(steps, sizes, strict=True))
    ):
        return x
    starts = [s if n else 0 for s, n in zip(starts, sizes, strict=True)]
    return x.apply(Slice(tuple(starts), tuple(steps), tuple(sizes)))


def part(x: Tensor, axis: int, start: int, size: int, step: int = 1) -> Tensor:
    """`size` cells along one axis."""
    starts = [start if i == axis else 0 for i in range(x.rank)]
    sizes = [size if i == axis else n for i, n in enumerate(x.shape)]
    return box(x, starts, sizes, [step if i == axis else 1 for i in range(x.rank)])


def transposed(x: Tensor, wanted: bool = True) -> Tensor:
    """Matrices transposed: the last two dimensions swapped, if that is wanted; a vector as it is."""
    return x.transpose(*range(x.rank - 2), x.rank - 1, x.rank - 2) if wanted and x.rank > 1 else x


def expand(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Broadcast as numpy does: dimensions of size 1 in `shape` keep what x has."""
    try:
        result = np.broadcast_shapes(x.shape, tuple(shape))
    except ValueError:
        raise EdgeKitError("E0401", f"{x.type} does not broadcast to {list(shape)[:8]}") from None
    return x if result == x.shape else x.apply(Expand(result))


def repeat(x: Tensor, times: Sequence[int]) -> Tensor:
    """Each cell so many times in each dimension."""
    if all(t == 1 for t in times):
        return x
    apart = [d for n, t in zip(x.shape, times, strict=True) for d in ((n,) if t == 1 else (n, 1))]
    whole = [d for n, t in zip(x.shape, times, strict=True) for d in ((n,) if t == 1 else (n, t))]
    return expand(x.reshape(*apart), whole).reshape(*(n * t for n, t in zip(x.shape, times, strict=True)))


def repeat_along(x: Tensor, axis: int, times: int) -> Tensor:
    return repeat(x, [times if i == axis else 1 for i in range(x.rank)])


def tile(x: Tensor, times: Sequence[int]) -> Tensor:
    """The whole of x, `times` times in each dimension."""
    if all(t == 1 for t in times):
        return x
    apart = [d for n, t in zip(x.shape, times, strict=True) for d in ((n,) if t == 1 else (1, n))]
    whole = [d for n, t in zip(x.shape, times, strict=True) for d in ((n,) if t == 1 else (t, n))]
    return expand(x.reshape(*apart), whole).reshape(*(n * t for n, t in zip(x.shape, times, strict=True)))


def take(x: Tensor, axis: int, index: Array) -> Tensor:
    """x[.., index, ..] along an axis, for constant indices >= 0: a slice, a repetition, or else a gather."""
    index = np.asarray(index, np.int64).reshape(-1)
    n, size = x.shape[axis], index.size
    step = int(index[1] - index[0]) if size > 1 else 1
    if size and step and np.array_equal(index, index[0] + step * np.arange(size)):
        return part(x, axis, int(index[0]), size, step)
    if times := repetition(index, n):
        return repeat_along(x, axis, times)
    shape = [size if i == axis else 1 for i in range(x.rank)]
    return x.apply(Gather(axis), x.new(index.astype(np.int32).reshape(shape), "index"))


def repetition(index: Array, size: int) -> int:
    """How many times each of that many cells is named in turn; 0 where the indices are something else."""
    times = len(index) // size if size else 0
    return times if times and np.array_equal(index, np.arange(size * times) // times) else 0


def reverse_sequence(x: Tensor, lengths: Tensor, batch: int, time: int) -> Tensor:
    """The first `lengths[b]` steps of each sequence in reverse; the others stay."""
    if lengths.data is not None and len(known := set(lengths.data.reshape(-1).tolist())) == 1:
        (end,) = known
        every = np.arange(x.shape[time])
        return take(x, time, np.concatenate([every[:end][::-1], every[end:]]))
    steps = lengths.new(np.arange(x.shape[time]).reshape([-1 if i == time else 1 for i in range(x.rank)]))
    ends = cast(lengths, DType.S64).reshape(*(n if i == batch else 1 for i, n in enumerate(x.shape)))
    return x.apply(Gather(time), where(steps.apply(Less(), ends), ends - 1 - steps, steps))


def pad(x: Tensor, before: Sequence[int], after: Sequence[int], mode: str, value: Operand = 0) -> Tensor:
    """A border of that many cells; negative numbers cut cells off. `reflect` mirrors without the edge itself,
    `edge` repeats it, `wrap` goes on at the other end."""
    starts = [max(-b, 0) for b in before]
    x = box(x, starts, [n - s - max(-a, 0) for n, s, a in zip(x.shape, starts, after, strict=True)])
    before, after = [max(b, 0) for b in before], [max(a, 0) for a in after]
    if mode == "constant":
        value = value if isinstance(value, Tensor) else x.like(value)
        return x.apply(Pad(tuple(before), tuple(after)), value) if any(before) or any(after) else x
    for axis, (b, a) in enumerate(zip(before, after, strict=True)):
        x.builder.afford((b + x.shape[axis] + a,))
        index = np.pad(np.arange(x.shape[axis]), (b, a), mode=mode)  # type: ignore[call-overload]  # one of numpy's modes
        if max(b, a) > 4 * x.shape[axis]:  # many short runs
            x = take(x, axis, index)
        elif b or a:
            left = [take(x, axis, run) for run in _runs(index[:b])]
            right = [take(x, axis, run) for run in _runs(index[len(index) - a :])]
            x = concat([*left, x, *right], axis)
    return x


def _runs(index: Array) -> Iterator[Array]:
    """Cut indices into stretches that go up by one, go down by one, or stay."""
    start = 0
    while start < len(index):
        steps = np.diff(index[start:])
        length = 1
        if len(steps) and abs(steps[0]) <= 1:
            length += int(np.argmin(np.append(steps == steps[0], False)))
        yield index[start : start + length]
        start += length
