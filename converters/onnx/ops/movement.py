"""Moving elements: parts, joints, repetition, borders and other orders of them."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics import movement
from edgekit.converters.semantics.movement import part, where
from edgekit.converters.semantics.onnx import movement as shared
from edgekit.converters.semantics.selected_rows import check_end, filled
from edgekit.converters.tensor import Operand, Tensor, concat, scalar
from edgekit.core.errors import EdgeKitError


def Concat(*xs: Tensor, axis: int = 1) -> Tensor:
    return concat(xs, axis) if len(xs) > 1 else xs[0]


def Split(
    x: Tensor,
    given: Tensor | None = None,
    *,
    axis: int = 0,
    split: tuple[int, ...] | None = None,
    num_outputs: int | None = None,
    outputs: int,
) -> list[Tensor]:
    return shared.Split(x, given, axis=axis, split=split, num_outputs=num_outputs, outputs=outputs)


def Slice(
    x: Tensor,
    first: Tensor | None = None,
    last: Tensor | None = None,
    along: Tensor | None = None,
    step: Tensor | None = None,
    *,
    starts: tuple[int, ...] = (),
    ends: tuple[int, ...] = (),
    axes: tuple[int, ...] | None = None,
) -> Tensor:
    starts = first.ints("the starts of Slice") if first is not None else starts
    ends = last.ints("the ends of Slice") if last is not None else ends
    axes = along.ints("the axes of Slice") if along is not None else axes or tuple(range(len(starts)))
    steps = step.ints("the steps of Slice") if step is not None else (1,) * len(starts)
    for axis, begin, end, stride in zip(axes, starts, ends, steps, strict=True):
        at = x.axis(axis)
        if end < 0 < stride:
            check_end(x, at)
        cells = range(*slice(begin, end, stride).indices(x.shape[at]))
        x = part(x, at, cells.start, len(cells), stride)
    return x


def Pad(
    x: Tensor,
    given: Tensor | None = None,
    fill: Tensor | None = None,
    along: Tensor | None = None,
    *,
    mode: str = "constant",
    pads: tuple[int, ...] = (),
    value: float = 0.0,
) -> Tensor:
    pads = given.ints("the pads of Pad") if given is not None else pads
    axes = [x.axis(a) for a in along.ints("the axes of Pad")] if along is not None else list(range(x.rank))
    if mode not in ("constant", "reflect", "edge", "wrap") or len(pads) != 2 * len(axes):
        raise EdgeKitError("E0401", f"Pad of {x.type} by {list(pads)} in mode {mode} makes no sense")
    before, after = [0] * x.rank, [0] * x.rank
    for axis, b, a in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        before[axis], after[axis] = b, a
    number: Operand = value if fill is None else fill.reshape()
    for axis in axes if mode == "constant" else ():
        x = filled(x, axis, number)
    return movement.pad(x, before, after, mode, number)


def Expand(x: Tensor, shape: Tensor) -> Tensor:
    return movement.expand(x, shape.ints("the shape of Expand"))


def Tile(x: Tensor, repeats: Tensor) -> Tensor:
    return movement.tile(x, repeats.ints("the repeats of Tile"))


def DepthToSpace(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    return shared.DepthToSpace(x, blocksize=blocksize, mode=mode)


def SpaceToDepth(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    return shared.SpaceToDepth(x, blocksize=blocksize, mode=mode)


def Trilu(x: Tensor, k: Tensor | None = None, *, upper: int = 1) -> Tensor:
    offset = 0 if k is None else int(scalar(k, "the diagonal of Trilu"))
    ones = np.ones(x.shape[-2:], np.bool_)
    kept = np.triu(ones, offset) if upper else np.tril(ones, offset)
    return x if kept.all() else where(x.new(kept, "mask"), x, 0)


def ReverseSequence(x: Tensor, lengths: Tensor, *, batch_axis: int = 1, time_axis: int = 0) -> Tensor:
    """The first `lengths[b]` steps of batch b in reverse; the others stay."""
    return movement.reverse_sequence(x, lengths, x.axis(batch_axis), x.axis(time_axis))
