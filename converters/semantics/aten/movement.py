"""Parts, joints, repetition, borders and other orders of elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as _prod

import numpy as np

from edgekit.converters.semantics import movement as _shared
from edgekit.converters.semantics.aten.type_promotion import Number, promoted
from edgekit.converters.semantics.movement import part, take
from edgekit.converters.semantics.onnx import movement as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensor import concat as _concat
from edgekit.core.errors import EdgeKitError

_END = 1 << 62  # torch says 2^63 - 1 where it means the end


def cat(tensors: Sequence[Tensor], *, dim: int = 0) -> Tensor:
    """A tensor of shape [0] beside larger ones counts for nothing, as torch has it since its first days."""
    ranks = {x.rank for x in tensors}
    parts = [x for x in tensors if x.shape != (0,) or len(ranks) == 1]
    parts = list(promoted(*parts)) if parts else []
    if not parts:
        raise EdgeKitError("E0401", "cat of nothing")
    return _concat(parts, dim) if len(parts) > 1 else parts[0]


def stack(tensors: Sequence[Tensor], *, dim: int = 0) -> Tensor:
    first = tensors[0]
    axis = dim + first.rank + 1 if dim < 0 else dim
    return cat([x.reshape(*x.shape[:axis], 1, *x.shape[axis:]) for x in tensors], dim=axis)


def slice(
    x: Tensor, *, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    axis = x.axis(dim)
    if step < 1:
        raise EdgeKitError("E0401", f"step {step} of a slice")
    n = x.shape[axis]
    first = _within(0 if start is None else start, n)
    last = _within(_END if end is None else end, n)
    return part(x, axis, first, max(0, -(-(last - first) // step)), step)


def narrow(x: Tensor, *, dim: int, start: int, length: int) -> Tensor:
    axis = x.axis(dim)
    first = start + x.shape[axis] if start < 0 else start
    if not 0 <= first <= first + length <= x.shape[axis]:
        raise EdgeKitError("E0401", f"{length} cells from {start} on are outside of {x.type}")
    return part(x, axis, first, length)


def select(x: Tensor, *, dim: int, index: int) -> Tensor:
    axis = x.axis(dim)
    n = x.shape[axis]
    if not -n <= index < n:
        raise EdgeKitError("E0401", f"index {index} is outside of axis {axis} of {x.type}")
    return part(x, axis, index % n, 1).reshape(*x.shape[:axis], *x.shape[axis + 1 :])


def unbind(x: Tensor, *, dim: int = 0) -> list[Tensor]:
    return [select(x, dim=dim, index=i) for i in range(x.shape[x.axis(dim)])]


def split(x: Tensor, *, split_size: int | Sequence[int], dim: int = 0) -> list[Tensor]:
    if not isinstance(split_size, int):
        return split_with_sizes(x, split_sizes=split_size, dim=dim)
    n = x.shape[x.axis(dim)]
    if split_size < 1:
        raise EdgeKitError("E0401", f"a split into parts of {split_size}")
    sizes = [min(split_size, n - i) for i in range(0, n, split_size)]
    return split_with_sizes(x, split_sizes=sizes or [0], dim=dim)


def split_with_sizes(x: Tensor, *, split_sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    axis = x.axis(dim)
    if sum(split_sizes) != x.shape[axis] or min(split_sizes, default=0) < 0:
        raise EdgeKitError(
            "E0401", f"a split into {list(split_sizes)[:8]} does not fit axis {axis} of {x.type}"
        )
    starts = np.cumsum([0, *split_sizes]).tolist()
    return [part(x, axis, a, n) for a, n in zip(starts, split_sizes, strict=False)]


def flip(x: Tensor, *, dims: Sequence[int]) -> Tensor:
    for axis in (x.axis(d) for d in dims):
        x = take(x, axis, np.arange(x.shape[axis])[::-1])
    return x


def roll(x: Tensor, *, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Tensor:
    steps = [shifts] if isinstance(shifts, int) else list(shifts)
    along = [dims] if isinstance(dims, int) else list(dims)
    if not along:
        return roll(x.reshape(x.type.size), shifts=steps, dims=[0]).reshape(*x.shape)
    for shift, axis in zip(steps, (x.axis(d) for d in along), strict=True):
        n = x.shape[axis]
        if n and shift % n:
            first = n - shift % n
            x = _concat([part(x, axis, first, n - first), part(x, axis, 0, first)], axis)
    return x


def repeat(x: Tensor, *, repeats: Sequence[int]) -> Tensor:
    return _shared.tile(x.reshape(*(1,) * (len(repeats) - x.rank), *x.shape), repeats)


def tile(x: Tensor, *, dims: Sequence[int]) -> Tensor:
    return repeat(x, repeats=[*(1,) * (x.rank - len(dims)), *dims])


def pad(x: Tensor, *, pad: Sequence[int], mode: str = "constant", value: Number | None = None) -> Tensor:
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode not in modes or len(pad) % 2 or len(pad) > 2 * x.rank:
        raise EdgeKitError("E0401", f"a border of {list(pad)[:8]} in mode {mode} for {x.type}")
    before, after = [0] * x.rank, [0] * x.rank
    for i in range(len(pad) // 2):  # the last dimension comes first
        before[x.rank - 1 - i], after[x.rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    return _shared.pad(x, before, after, modes[mode], 0 if value is None else value)


def pixel_shuffle(x: Tensor, *, upscale_factor: int) -> Tensor:
    return _onnx.DepthToSpace(x, blocksize=upscale_factor, mode="CRD")


def pixel_unshuffle(x: Tensor, *, downscale_factor: int) -> Tensor:
    return _onnx.SpaceToDepth(x, blocksize=downscale_factor, mode="CRD")


def channel_shuffle(x: Tensor, *, groups: int) -> Tensor:
    n, channels, *area = x.shape
    if groups < 1 or channels % groups:
        raise EdgeKitError("E0401", f"{groups} groups of {x.type}")
    mixed = x.reshape(n, groups, channels // groups, *area)
    return mixed.transpose(0, 2, 1, *range(3, mixed.rank)).reshape(*x.shape)


def meshgrid(tensors: Sequence[Tensor], *, indexing: str = "ij") -> list[Tensor]:
    """Each tensor along a dimension of its own; `xy` swaps the first two."""
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = 1, 0
    shape = [tensors[i].type.size for i in order]
    return [
        _shared.expand(x.reshape(*(x.type.size if i == at else 1 for i in order)), shape)
        for at, x in enumerate(tensors)
    ]


def tril(x: Tensor, *, diagonal: int = 0) -> Tensor:
    return _triangle(x, diagonal, upper=False)


def triu(x: Tensor, *, diagonal: int = 0) -> Tensor:
    return _triangle(x, diagonal, upper=True)


def im2col(
    x: Tensor,
    *,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Tensor:
    """The cells of each window of an image, as a column."""
    if x.rank == 3:
        whole = x.reshape(1, *x.shape)
        y = im2col(whole, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
        return y.reshape(*y.shape[1:])
    x = _pad(x, [padding[1], padding[1], padding[0], padding[0]], "constant")
    counts = []
    for axis, size, apart, step in zip((2, 3), kernel_size, dilation, stride, strict=True):
        count = (x.shape[axis] - (size - 1) * apart - 1) // step + 1
        x.builder.afford((count, size))
        index = np.arange(size)[:, None] * apart + np.arange(count) * step
        x = take(x, axis, index.reshape(-1))
        counts.append(count)
    n, channels = x.shape[:2]
    y = x.reshape(n, channels, kernel_size[0], counts[0], kernel_size[1], counts[1])
    return y.transpose(0, 1, 2, 4, 3, 5).reshape(n, channels * _prod(kernel_size), _prod(counts))


def diagonal(x: Tensor, *, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    a, b = x.axis(dim1), x.axis(dim2)
    y = x.transpose(*(i for i in range(x.rank) if i not in (a, b)), a, b)
    *outer, rows, columns = y.shape
    cells = np.arange(rows * columns).reshape(rows, columns).diagonal(offset)
    return take(y.reshape(*outer, rows * columns), y.rank - 2, cells)


def _pad(x: Tensor, border: Sequence[int], mode: str, value: Number = 0) -> Tensor:
    return pad(x, pad=border, mode=mode, value=value)


def _triangle(x: Tensor, diagonal: int, upper: bool) -> Tensor:
    x.builder.afford(x.shape[-2:])
    kept = (np.triu if upper else np.tril)(np.ones(x.shape[-2:], np.bool_), diagonal)
    return x if kept.all() else _shared.where(x.new(kept, "mask"), x, 0)


def _within(position: int, n: int) -> int:
    """A place in a dimension; negative ones count from the back."""
    return min(max(position + n if position < 0 else position, 0), n)
