"""Arrays whose axes are not the model's (NHWC for NCHW, no batch): the numpy expression that mends them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Shape = tuple[int, ...]
_LAYOUTS = {2: ("NCW", "NWC"), 3: ("NCHW", "NHWC"), 4: ("NCDHW", "NDHWC")}  # by axes beside that of samples


@dataclass(frozen=True)
class _Change:
    """A numpy expression of `x`, the shape that it makes, and why it is needed."""

    why: str
    expression: str
    shape: Shape


def fits(shape: Shape, wanted: Shape) -> bool:
    """Is an array of this shape one sample, or several, for an input of the shape `wanted`?"""
    return shape == wanted or sample_count(shape, wanted) is not None


def sample_count(shape: Shape, wanted: Shape) -> int | None:
    """How many samples an array of this shape holds; None where it is one, or does not fit."""
    if shape == wanted:
        return None
    if shape[1:] == wanted and len(shape) == len(wanted) + 1:
        return shape[0]
    if wanted and wanted[0] == 1 and shape[1:] == wanted[1:] and len(shape) == len(wanted):
        return shape[0]
    return None


def hint(shape: Shape, wanted: Shape) -> str:
    """What to do with an array of this shape, which does not fit: the expression in it is known to work."""
    changes = [*_changes(shape), *_flat(shape, wanted)]
    for change in changes:
        if fits(change.shape, wanted):
            return f"{change.why}: save it as {change.expression}"
    for change in changes:
        if size := _other_size(change.shape, wanted):
            return f"{change.why}: save it as {change.expression}, resized to {size}"
    if size := _other_size(shape, wanted):
        return (
            f"the model takes {size}: resize the data, or bind another shape where the model file leaves it "
            "open (convert --shape)"
        )
    return f"a sample is [{_text(wanted)}]; one dimension more, in front, counts samples"


def _changes(shape: Shape) -> Iterator[_Change]:
    """What people meet, most likely first: no batch, channels elsewhere, both, or an axis of 1 too few."""
    yield _Change("the batch dimension is missing", "x[None]", (1, *shape))
    rank = len(shape)
    for first in (1, 0):  # the first axis that is no count of samples
        if rank - first < 2:
            continue
        batch = "" if first else "[None]"
        last_axis, axes = rank - 1, tuple(range(rank))
        to_front = (*axes[:first], last_axis, *axes[first:last_axis])
        to_back = (*axes[:first], *axes[first + 1 :], first)
        front, back = _LAYOUTS.get(rank - first, ("channels first", "channels last"))
        orders = {
            to_front: f"the data are {back}, the model takes {front}",
            to_back: f"the data are {front}, the model takes {back}",
        }
        for order, why in orders.items():
            moved = tuple(shape[axis] for axis in order)
            text = f"x.transpose({_text(order)}){batch}"
            yield _Change(why, text, moved if first else (1, *moved))
    yield from _ones(shape)


def _ones(shape: Shape) -> Iterator[_Change]:
    """An axis of 1 more or less, which mostly is that of channels."""
    if shape:
        why = "the dimension of the channels is missing"
        yield _Change(why, "x[:, None]", (shape[0], 1, *shape[1:]))
        yield _Change(why, "x[..., None]", (*shape, 1))
        yield _Change(why, "x[None, ..., None]", (1, *shape, 1))
        yield _Change(why, "x[None, None]", (1, 1, *shape))
    for axis in (axis for axis, size in enumerate(shape) if size == 1):
        rest = (*shape[:axis], *shape[axis + 1 :])
        yield _Change(f"axis {axis} is one too many", f"x.squeeze({axis})", rest)


def _flat(shape: Shape, wanted: Shape) -> Iterator[_Change]:
    """Rows of pixels for a vector, or the other way round. Where there are channels, too, their order
    is unknown."""
    if not shape or not wanted or wanted[0] != 1:
        return
    long = max(shape[1:], wanted[1:], key=len)
    if math.prod(shape[1:]) != math.prod(wanted[1:]) or sum(size > 1 for size in long) > 2:
        return
    sizes = _text((-1, *wanted[1:]))
    yield _Change("its dimensions are others", f"x.reshape({sizes})", (shape[0], *wanted[1:]))


def _other_size(shape: Shape, wanted: Shape) -> str:
    """The height and width that images should have, where nothing else differs."""
    if len(shape) != 4 or len(wanted) != 4 or wanted[0] not in (1, shape[0]):
        return ""
    for channels, first in ((1, 2), (3, 1)):
        here, there = shape[first : first + 2], wanted[first : first + 2]
        count = shape[channels]
        if count == wanted[channels] and here != there and min(*here, *there) > count:
            return f"{there[0]}x{there[1]}"
    return ""


def _text(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
