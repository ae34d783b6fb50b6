"""Slices, shapes, borders, joins and orders of dimensions, in the words of each reader."""

from collections.abc import Callable, Iterator
from math import prod

import numpy as np
from support.handler_cases import Case, case
from support.random_attributes import Draw

Found = Iterator[tuple[str, Case]]
Family = Callable[[Draw], Found]


def slices(d: Draw) -> Found:
    rank = d.pick(2, 3, 4)
    x = d.x(*d.numbers(rank, 3, 7))
    count = d.pick(*range(1, rank + 1))
    parts = [d.bounds(n) for n in x.shape[:count]]
    steps = d.steps(count)
    whole = tuple(slice(a, b, s) for (a, b), s in zip(parts, steps, strict=True))
    begin, end = (tuple(p[i] for p in parts) for i in range(2))
    if all(n for n in x[whole].shape):
        yield "mxnet", case("slice", x, begin=begin, end=end, step=steps, expected=x[whole])
        # Bits of the masks say where a bound is open; what stands there then means nothing.
        masks = [sum((b is None) << i for i, b in enumerate(bounds)) for bounds in (begin, end)]
        given = [[d.pick(0, 1, 9) if b is None else b for b in bounds] for bounds in (begin, end)]
        yield (
            "mindspore",
            case("StridedSlice", x, *map(tuple, given), steps, *masks, expected=x[whole]),
        )
    axis = d.axis(rank)
    (a, b), n = d.bounds(x.shape[axis]), x.shape[axis]
    cells = np.arange(n)[a:b]
    if len(cells):
        yield "mxnet", case("slice_axis", x, axis=axis, begin=a, end=b, expected=x.take(cells, axis))


def slices_by_axes(d: Draw) -> Found:
    """Dimensions of size 1 may go."""
    rank = d.pick(2, 3, 4)
    x = d.x(*d.numbers(rank, 2, 6))
    axes = sorted(a % rank for a in d.axes(rank))
    gone = [a for a in axes if d.coin()]
    starts = [d.pick(*range(-x.shape[a], x.shape[a])) for a in axes]
    first = [s % x.shape[a] for s, a in zip(starts, axes, strict=True)]
    ends = [f + 1 if a in gone else d.pick(x.shape[a], 99) for f, a in zip(first, axes, strict=True)]
    whole = [slice(None)] * rank
    for a, s, e in zip(axes, first, ends, strict=True):
        whole[a] = slice(s, e)
    wanted = x[tuple(whole)]
    wanted = wanted.reshape([n for i, n in enumerate(wanted.shape) if i not in gone])
    if wanted.ndim:
        yield (
            "paddle",
            case("slice", x, starts, ends, axes=axes, decrease_axis=gone, expected=wanted),
        )


def reshapes(d: Draw) -> Found:
    """By codes: the shape that they stand for is known from how they were drawn."""
    rank = d.pick(2, 3, 4)
    shape = tuple(d.pick(2, 3, 4, 6) for _ in range(rank))
    x = d.x(*shape)
    codes: list[int] = []
    made: list[int] = []
    at = 0
    while at < rank:
        choice = d.pick("copy", "number", "join", "split", "rest")
        if choice == "join" and at + 1 < rank:
            codes.append(-3)
            made.append(shape[at] * shape[at + 1])
            at += 1
        elif choice == "split":
            first = d.pick(*(n for n in range(1, shape[at] + 1) if shape[at] % n == 0))
            pair = (first, shape[at] // first)
            codes += [-4, *d.pick(pair, (-1, pair[1]), (pair[0], -1))]
            made += pair
        elif choice == "rest":
            codes.append(-2)
            made += shape[at:]
            break
        else:
            codes.append(0 if choice == "copy" else shape[at])
            made.append(shape[at])
        at += 1
    yield "mxnet", case("Reshape", x, shape=tuple(codes), expected=x.reshape(made))

    first = d.pick(*range(rank + 1))
    count = d.pick(*range(rank - first + 1))
    inner = list(shape[first : first + count])
    if len(inner) > 1 and d.coin():
        inner[:2] = [prod(inner[:2])]
    said = [0 if n == shape[first + i] and d.coin() else n for i, n in enumerate(inner)]
    if said and d.coin():
        said[d.pick(*range(len(said)))] = -1
    wanted = (*shape[:first], *inner, *shape[first + count :])
    behind = first + count == rank
    yield (
        "caffe",
        case(
            "Reshape",
            x,
            shape=tuple(said),
            axis=d.either(first, first - rank - 1),
            num_axes=d.either(count, -1) if behind else count,
            expected=x.reshape(wanted),
        ),
    )
    start = d.axis(rank)
    end = d.pick(*range(start % rank, rank))
    flat = x.reshape(*shape[: start % rank], -1, *shape[end + 1 :])
    yield "caffe", case("Flatten", x, axis=start, end_axis=end, expected=flat)
    yield "mindspore", case("FlattenExt", x, start, d.either(end, end - rank), expected=flat)


def borders(d: Draw) -> Found:
    rank, mode = d.pick(3, 4), d.pick("constant", "edge", "reflect")
    x = d.x(*d.numbers(rank, 3, 5))
    pairs = [(0, 0), (0, 0), *(d.numbers(2, 0, 2) for _ in range(rank - 2))]
    value = {"constant_values": np.float32(1.5)} if mode == "constant" else {}
    wanted = np.pad(x, pairs, mode, **value)  # type: ignore[call-overload]  # of a mode that varies
    flat = tuple(n for pair in pairs for n in pair)
    yield "mxnet", case("Pad", x, mode=mode, pad_width=flat, constant_value=1.5, expected=wanted)
    if rank == 4:
        words = {"mode": mode, "pad_value": 1.5}
        yield "paddle", case("pad2d", x, paddings=flat[4:], **words, expected=wanted)
    if mode == "constant":
        yield "paddle", case("pad", x, paddings=flat, pad_value=1.5, expected=wanted)
    size = d.numbers(2, 1, 3)
    cut = tuple((n - m) // 2 for n, m in zip(x.shape[-2:], size, strict=True))
    centre = x[..., cut[0] : cut[0] + size[0], cut[1] : cut[1] + size[1]]
    place = "channels_first"
    yield (
        "keras_layers",
        case("CenterCrop", x, height=size[0], width=size[1], data_format=place, expected=centre),
    )
    if rank == 4:
        yield "mxnet", case("Crop", x, h_w=size, center_crop=True, expected=centre)
        offset = tuple(d.pick(*range(n - m + 1)) for n, m in zip(x.shape[-2:], size, strict=True))
        there = x[..., offset[0] : offset[0] + size[0], offset[1] : offset[1] + size[1]]
        yield "mxnet", case("Crop", x, h_w=size, offset=offset, expected=there)
        yield "caffe", case("Crop", x, d.x(*x.shape[:2], *size), axis=2, offset=offset, expected=there)


def orders(d: Draw) -> Found:
    rank = d.pick(2, 3, 4)
    x = d.x(*d.numbers(rank, 2, 5))
    axes = tuple(int(a) for a in d.rng.permutation(rank))
    yield "mxnet", case("transpose", x, axes=axes, expected=x.transpose(axes))
    yield "mindspore", case("Transpose", x, axes, expected=x.transpose(axes))
    named = axes[: d.pick(*range(1, rank + 1))]
    every = (*named, *sorted(set(range(rank)) - set(named)))  # others come behind
    yield "caffe", case("Permute", x, order=named, expected=x.transpose(every))
    a, b = d.axis(rank), d.axis(rank)
    yield "mxnet", case("SwapAxis", x, dim1=a, dim2=b, expected=x.swapaxes(a, b))
    some = d.axes(rank)
    yield "mxnet", case("reverse", x, axis=some, expected=np.flip(x, some))
    yield "paddle", case("flip", x, axis=some, expected=np.flip(x, some))
    yield "mindspore", case("ReverseV2", x, some, expected=np.flip(x, some))
    shifts = tuple(d.pick(*range(-4, 5)) for _ in some)
    yield "paddle", case("roll", x, shifts, axis=some, expected=np.roll(x, shifts, some))


def joins(d: Draw) -> Found:
    rank = d.pick(2, 3, 4)
    shape = list(d.numbers(rank, 2, 4))
    axis = d.axis(rank)
    parts = []
    for n in d.numbers(d.pick(2, 3), 1, 4):
        shape[axis] = n
        parts.append(d.x(*shape))
    whole = np.concatenate(parts, axis)
    yield "mxnet", case("Concat", *parts, dim=axis, expected=whole)
    yield "mindspore", case("Concat", parts, axis, expected=whole)
    yield "paddle", case("concat", parts, axis, expected=whole)
    yield "keras", case("Concatenate", parts, axis=axis, expected=whole)
    ends = np.cumsum([p.shape[axis] for p in parts])[:-1]
    points = tuple(int(e) for e in ends)
    yield (
        "caffe",
        case("Slice", whole, tops=len(parts), axis=axis, slice_point=points, expected=parts),
    )
    yield "keras", case("Split", whole, indices_or_sections=points, axis=axis, expected=parts)
    sizes = [p.shape[axis] for p in parts]
    yield "paddle", case("split", whole, sizes, axis, expected=parts)
    yield "mindspore", case("SplitWithSize", whole, tuple(sizes), axis, expected=parts)
    same = [parts[0], 2 * parts[0], -parts[0]]
    place = d.axis(rank + 1)
    stacked = np.stack(same, place)
    yield "mxnet", case("stack", *same, axis=place, expected=stacked)
    yield "mindspore", case("Stack", same, place, expected=stacked)
    yield "paddle", case("stack", same, axis=place, expected=stacked)
    yield "paddle", case("unbind", stacked, axis=place, expected=same)
    yield "mindspore", case("Unstack", stacked, place, expected=same)
    yield (
        "mxnet",
        case("SliceChannel", stacked, num_outputs=3, axis=place, squeeze_axis=True, expected=same),
    )


def copies(d: Draw) -> Found:
    rank = d.pick(1, 2, 3)
    x = d.x(*d.numbers(rank, 2, 4))
    times = d.numbers(rank + d.pick(0, 1), 1, 3)
    yield "mxnet", case("tile", x, reps=times, expected=np.tile(x, times))
    axis, n = d.axis(rank), d.pick(1, 2, 3)
    yield "mxnet", case("repeat", x, repeats=n, axis=axis, expected=x.repeat(n, axis))
    places = d.rng.integers(0, x.shape[axis], d.numbers(d.pick(1, 2), 1, 4)).astype(np.int32)
    taken = x.take(places, axis)
    yield "mxnet", case("take", x, places.astype(np.float32), axis=axis, expected=taken)
    yield "mindspore", case("Gather", x, places, axis, expected=taken)
    if places.ndim == 1:
        yield "paddle", case("gather", x, places, axis, expected=taken)
        yield "paddle", case("index_select", x, places, axis=axis, expected=taken)
    rows, ids = d.x(5, 3), d.rng.permutation(5)[:3].astype(np.int32)
    new = d.x(3, 3)
    placed = rows.copy()
    placed[ids] = new
    yield "paddle", case("scatter", rows, ids, new, expected=placed)


FAMILIES: tuple[Family, ...] = (slices, slices_by_axes, reshapes, borders, orders, joins, copies)
