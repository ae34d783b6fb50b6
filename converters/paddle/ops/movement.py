"""Parts, joints, borders and other places of elements."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.converters.paddle.arguments import (
    Number,
    Setting,
    Tensors,
    as_came,
    channels_first,
    integer,
    ints,
    number,
    several,
)
from edgekit.converters.semantics import movement as _shared
from edgekit.converters.semantics.aten import movement as _torch
from edgekit.converters.semantics.movement import part
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensor import concat as _concat
from edgekit.core.errors import EdgeKitError

_MODES = {
    "constant": "constant",
    "reflect": "reflect",
    "replicate": "edge",
    "edge": "edge",
    "circular": "wrap",
}


def concat(x: Tensors, axis: Setting = 0) -> Tensor:
    return _concat(several(x), integer(axis, "an axis"))


def stack(x: Tensors, *, axis: int = 0) -> Tensor:
    return _torch.stack(several(x), dim=axis)


def split(x: Tensor, sections: Setting = None, axis: Setting = 0, *, num: int = 0) -> list[Tensor]:
    """Into parts of these sizes, of which one may be -1; older programs have a count here, too."""
    along, sizes = x.axis(integer(axis, "an axis")), ints(sections, "the sizes of parts")
    if not sizes:
        return split_with_num(x, along, num=num)
    if sizes.count(-1) == 1:
        left = x.shape[along] - sum(n for n in sizes if n != -1)
        sizes = [left if n == -1 else n for n in sizes]
    return _torch.split_with_sizes(x, split_sizes=sizes, dim=along)


def split_with_num(x: Tensor, axis: Setting = 0, *, num: int) -> list[Tensor]:
    along = x.axis(integer(axis, "an axis"))
    n = x.shape[along]
    if num < 1 or n % num:
        raise EdgeKitError("E0401", f"{num} parts of axis {along} of {x.type}")
    return [part(x, along, i * (n // num), n // num) for i in range(num)]


def unbind(x: Tensor, *, axis: int = 0) -> list[Tensor]:
    return _torch.unbind(x, dim=axis)


def unstack(x: Tensor, *, axis: int = 0, num: int = 0) -> list[Tensor]:
    return _torch.unbind(x, dim=axis)


def slice(
    input: Tensor,
    starts: Setting = None,
    ends: Setting = None,
    *,
    axes: Sequence[int],
    infer_flags: Sequence[int] = (),
    decrease_axis: Sequence[int] = (),
) -> Tensor:
    return _sliced(input, starts, ends, [1] * len(axes), axes, decrease_axis)


def strided_slice(
    input: Tensor,
    starts: Setting = None,
    ends: Setting = None,
    strides: Setting = None,
    *,
    axes: Sequence[int],
    infer_flags: Sequence[int] = (),
    decrease_axis: Sequence[int] = (),
) -> Tensor:
    return _sliced(input, starts, ends, ints(strides, "steps"), axes, decrease_axis)


def crop(x: Tensor, shape: Setting = None, offsets: Setting = None) -> Tensor:
    starts = ints(offsets, "where to cut") or [0] * x.rank
    wanted = [x.shape[i] - starts[i] if n == -1 else n for i, n in enumerate(ints(shape, "a shape"))]
    return _shared.box(x, starts, wanted)


crop_tensor = crop


def pad3d(
    x: Tensor,
    paddings: Setting = None,
    *,
    mode: str = "constant",
    pad_value: Setting = None,
    value: Setting = 0.0,
    data_format: str = "NCDHW",
) -> Tensor:
    """The last dimension comes first."""
    border = ints(paddings, "a border")
    images, last = channels_first(x, data_format)
    pairs = [(border[i], border[i + 1]) for i in range(0, len(border) - 1, 2)]
    return as_came(_bordered(images, pairs[::-1], mode, value if pad_value is None else pad_value), last)


def pad2d(
    x: Tensor,
    *,
    paddings: Setting,
    mode: str = "constant",
    pad_value: Setting = 0.0,
    data_format: str = "NCHW",
) -> Tensor:
    border = ints(paddings, "a border")
    images, last = channels_first(x, data_format)
    return as_came(_bordered(images, [(border[0], border[1]), (border[2], border[3])], mode, pad_value), last)


def pad(x: Tensor, *, paddings: Setting, pad_value: Setting = 0.0, pad_from_left_axis: bool = True) -> Tensor:
    """A border around each dimension."""
    border = ints(paddings, "a border")
    pairs = [(border[i], border[i + 1]) for i in range(0, len(border) - 1, 2)]
    return _bordered(x, pairs if pad_from_left_axis else pairs[::-1], "constant", pad_value)


def roll(x: Tensor, shifts: Setting = None, *, axis: Sequence[int] = ()) -> Tensor:
    return _torch.roll(x, shifts=ints(shifts, "how far to roll"), dims=list(axis))


def flip(x: Tensor, *, axis: Sequence[int]) -> Tensor:
    return _torch.flip(x, dims=axis)


reverse = flip


def pixel_shuffle(x: Tensor, *, upscale_factor: int, data_format: str = "NCHW") -> Tensor:
    images, last = channels_first(x, data_format)
    return as_came(_torch.pixel_shuffle(images, upscale_factor=upscale_factor), last)


def pixel_unshuffle(x: Tensor, *, downscale_factor: int, data_format: str = "NCHW") -> Tensor:
    images, last = channels_first(x, data_format)
    return as_came(_torch.pixel_unshuffle(images, downscale_factor=downscale_factor), last)


def channel_shuffle(x: Tensor, *, groups: int, data_format: str = "NCHW") -> Tensor:
    """Channel c of group g becomes channel c groups + g."""
    images, last = channels_first(x, data_format)
    return as_came(_torch.channel_shuffle(images, groups=groups), last)


def shuffle_channel(x: Tensor, *, group: int) -> Tensor:
    return _torch.channel_shuffle(x, groups=group)


def space_to_depth(x: Tensor, *, blocksize: int) -> Tensor:
    return _torch.pixel_unshuffle(x, downscale_factor=blocksize)


def meshgrid(x: Tensors) -> list[Tensor]:
    return _torch.meshgrid(several(x))


def tril(x: Tensor, *, diagonal: int = 0) -> Tensor:
    return _torch.tril(x, diagonal=diagonal)


def triu(x: Tensor, *, diagonal: int = 0) -> Tensor:
    return _torch.triu(x, diagonal=diagonal)


def tril_triu(x: Tensor, *, diagonal: int = 0, lower: bool = False) -> Tensor:
    return tril(x, diagonal=diagonal) if lower else triu(x, diagonal=diagonal)


def unfold(
    x: Tensor,
    *,
    kernel_sizes: Sequence[int],
    strides: Sequence[int],
    paddings: Sequence[int],
    dilations: Sequence[int],
) -> Tensor:
    """The cells of each window of an image, as a column; the border is top, left, bottom, right."""
    if len(paddings) == 2:
        paddings = [*paddings, *paddings]
    top, left, bottom, right = paddings
    wide = _shared.pad(x, (0, 0, top, left), (0, 0, bottom, right), "constant")
    return _torch.im2col(wide, kernel_size=kernel_sizes, dilation=dilations, padding=(0, 0), stride=strides)


def _sliced(
    x: Tensor,
    starts: Setting,
    ends: Setting,
    steps: Sequence[int],
    axes: Sequence[int],
    drop: Sequence[int],
) -> Tensor:
    """Parts along some axes, those without a length of their own left out."""
    firsts, lasts = ints(starts, "the start of a slice"), ints(ends, "the end of a slice")
    if not len(firsts) == len(lasts) == len(steps) == len(axes):
        raise EdgeKitError("E0401", f"a slice from {firsts[:8]} to {lasts[:8]} along {list(axes)[:8]}")
    gone = {x.axis(a) for a in drop}
    for axis, first, last, step in zip(axes, firsts, lasts, steps, strict=True):
        if step < 1:
            raise EdgeKitError("E0205", f"a slice in steps of {step} is not supported", hint="flip it")
        x = _torch.slice(x, dim=axis, start=first, end=last, step=step)
    if any(x.shape[a] != 1 for a in gone):
        raise EdgeKitError("E0401", f"{x.type} cannot lose the dimensions {sorted(gone)}")
    return x.reshape(*(n for i, n in enumerate(x.shape) if i not in gone))


def _bordered(x: Tensor, pairs: Sequence[tuple[int, int]], mode: str, value: Setting) -> Tensor:
    """With a border around the last dimensions."""
    if mode not in _MODES or len(pairs) > x.rank:
        raise EdgeKitError("E0203", f"a border of {list(pairs)[:4]} in mode {mode[:20]} for {x.type}")
    inner = [(0, 0)] * (x.rank - len(pairs)) + list(pairs)
    fill: Number = number(value, "what the border is made of")
    return _shared.pad(x, [a for a, _ in inner], [b for _, b in inner], _MODES[mode], fill)
