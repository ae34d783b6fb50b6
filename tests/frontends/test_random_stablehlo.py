"""StableHLO operators with attributes drawn at random compute what torch or numpy computes."""

import zlib
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.random_attributes import Draw
from support.tools import require_module

from edgekit.converters import read
from edgekit.core import simulate
from edgekit.core.types import Array

Drawn = tuple[str, list[Array], Array]  # the operator as text of %0, %1, ...; operands; what should come out
SEEDS = 8
_WORDS = {"float32": "f32", "int32": "i32"}


def type_of(x: Array) -> str:
    return f"tensor<{''.join(f'{n}x' for n in x.shape)}{_WORDS[str(x.dtype)]}>"


def computed(folder: Path, text: str, operands: list[Array], result: str) -> Array:
    """Operands are arguments, unless the operator has to know them: constants of the text come first."""
    arguments = ", ".join(f"%{i}: {type_of(x)}" for i, x in enumerate(operands))
    path = folder / "net.mlir"
    path.write_text(
        f"module @net {{\nfunc.func public @main({arguments}) -> ({result}) {{\n{text}\n"
        f"return %y : {result}\n}}\n}}\n"
    )
    graph = read.read(path)
    (y,) = simulate.run(graph, dict(zip(graph.inputs, operands, strict=True))).values()
    return y


def listed(numbers: Any) -> str:
    return str([*map(int, numbers)])


def called(name: str, attributes: str, operands: list[Array], y: Array) -> str:
    """In the generic form."""
    places = ", ".join(f"%{i}" for i in range(len(operands)))
    types = ", ".join(map(type_of, operands))
    return f'%y = "stablehlo.{name}"({places}) <{{{attributes}}}> : ({types}) -> {type_of(y)}'


def in_order(labels: list[str], d: Draw) -> list[str]:
    return [labels[i] for i in d.rng.permutation(len(labels))]


def convolution(d: Draw) -> Drawn:
    torch = require_module("torch")
    n, groups = d.pick(1, 2, 2), d.pick(1, 1, 2)
    kernel, size, holes = d.numbers(n, 1, 3), d.numbers(n, 4, 7), d.numbers(n, 1, 2)
    apart = d.numbers(n, 1, 2) if d.coin() else (1,) * n
    stride = d.numbers(n, 1, 2) if max(apart) == 1 else (1,) * n
    low, high = (
        tuple(d.pick(*range((k - 1) * h + 1)) for k, h in zip(kernel, holes, strict=True)) for _ in "lh"
    )
    flips = [d.coin() for _ in range(n)]
    x = d.x(d.pick(1, 2), groups * d.pick(1, 2), *size)
    w = d.x(groups * d.pick(1, 2), x.shape[1] // groups, *kernel)
    wide = np.zeros((*x.shape[:2], *((m - 1) * a + 1 for m, a in zip(size, apart, strict=True))), np.float32)
    wide[(..., *(slice(None, None, a) for a in apart))] = x
    wide = np.pad(wide, [(0, 0), (0, 0), *zip(low, high, strict=True)])
    turned = np.flip(w, [i + 2 for i in range(n) if flips[i]]).copy()
    conv = getattr(torch.nn.functional, f"conv{n}d")
    right = conv(torch.from_numpy(wide), torch.from_numpy(turned), None, stride, 0, holes, groups).numpy()
    space = [*map(str, range(n))]
    ins, weights, outs = (in_order([*first, *space], d) for first in ("bf", "oi", "bf"))
    x = x.transpose([["b", "f", *space].index(label) for label in ins])
    w = w.transpose([["o", "i", *space].index(label) for label in weights])
    right = right.transpose([["b", "f", *space].index(label) for label in outs])
    window = {
        "stride": stride,
        "pad": [*zip(low, high, strict=True)],
        "lhs_dilate": apart,
        "rhs_dilate": holes,
    }
    said = ", ".join(
        f"{key} = {list(map(list, v)) if key == 'pad' else listed(v)}" for key, v in window.items()
    )
    said += f", reverse = {str(flips).lower()}"
    orders = f"[{', '.join(ins)}]x[{', '.join(weights)}]->[{', '.join(outs)}]"
    text = (
        f"%y = stablehlo.convolution(%0, %1) dim_numbers = {orders}, window = {{{said}}} "
        f"{{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} : "
        f"({type_of(x)}, {type_of(w)}) -> {type_of(right)}"
    )
    return text, [x, w], right


def dot_general(d: Draw) -> Drawn:
    shared, inner, left, right = (
        d.numbers(d.pick(*counts), 2, 4) for counts in ((0, 1, 2), (1, 2), (0, 1, 2), (0, 1))
    )
    letters = iter("abcdefghijkl")
    names = [[next(letters) for _ in part] for part in (shared, inner, left, right)]
    sizes = dict(zip((c for part in names for c in part), (*shared, *inner, *left, *right), strict=True))
    first, second = (in_order([*names[0], *names[1], *names[k]], d) for k in (2, 3))
    a, b = (d.x(*(sizes[c] for c in part)) for part in (first, second))
    wanted = "".join(names[0] + [c for c in first if c in names[2]] + [c for c in second if c in names[3]])
    y = np.einsum(f"{''.join(first)},{''.join(second)}->{wanted}", a, b)
    batch, contracted = (
        [[part.index(c) for c in chosen] for part in (first, second)] for chosen in names[:2]
    )
    said = f"batching_dims = {batch[0]} x {batch[1]}, " if names[0] else ""
    text = (
        f"%y = stablehlo.dot_general %0, %1, {said}contracting_dims = {contracted[0]} x {contracted[1]}, "
        f"precision = [DEFAULT, DEFAULT] : ({type_of(a)}, {type_of(b)}) -> {type_of(y)}"
    )
    return text, [a, b], y


def gather(d: Draw) -> Drawn:
    """As the specification has it, cell by cell; places outside are moved back."""
    rank = d.pick(2, 3, 4)
    x = d.x(*d.numbers(rank, 2, 5))
    axes = [a % rank for a in d.axes(rank)]
    gone = sorted(a for a in axes if d.coin())
    size = [1 if a in gone else d.pick(*range(1, n + 1)) for a, n in enumerate(x.shape)]
    batch = d.numbers(d.pick(0, 1, 2), 1, 3)
    places = d.rng.integers(-1, 6, (*batch, len(axes))).astype(np.int32)
    own = [n for a, n in enumerate(size) if a not in gone]
    offsets = sorted(int(i) for i in d.rng.permutation(len(batch) + len(own))[: len(own)])
    y = np.zeros((*batch, *own), np.float32)
    for at in np.ndindex(*batch):
        first = [0] * rank
        for a, place in zip(axes, places[at], strict=True):
            first[a] = min(max(int(place), 0), x.shape[a] - size[a])
        y[at] = x[tuple(slice(f, f + n) for f, n in zip(first, size, strict=True))].reshape(own)
    others = iter(range(len(batch)))
    order = [len(batch) + offsets.index(i) if i in offsets else next(others) for i in range(y.ndim)]
    y = y.transpose(order)
    numbers = (
        f"offset_dims = {offsets}, collapsed_slice_dims = {gone}, start_index_map = {axes}, "
        f"index_vector_dim = {len(batch)}"
    )
    attributes = (
        f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: {listed(size)[1:-1]}>"
    )
    return called("gather", attributes, [x, places], y), [x, places], y


def pad(d: Draw) -> Drawn:
    rank = d.pick(1, 2, 3)
    x = d.x(*d.numbers(rank, 3, 5))
    inside = d.numbers(rank, 0, 2)
    low, high = (tuple(d.pick(-1, 0, 1, 2) for _ in range(rank)) for _ in "lh")
    y = np.full([(n - 1) * (g + 1) + 1 for n, g in zip(x.shape, inside, strict=True)], 2.5, np.float32)
    y[tuple(slice(None, None, g + 1) for g in inside)] = x
    y = np.pad(y, [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)], constant_values=2.5)
    y = y[tuple(slice(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(low, high, y.shape, strict=True))]
    text = (
        f"%c = stablehlo.constant dense<2.5> : tensor<f32>\n%y = stablehlo.pad %0, %c, low = {list(low)}, "
        f"high = {list(high)}, interior = {list(inside)} : ({type_of(x)}, tensor<f32>) -> {type_of(y)}"
    )
    return text, [x], y


def reduce(d: Draw) -> Drawn:
    rank, name = d.pick(1, 2, 3), d.pick("add", "maximum", "minimum", "multiply")
    x = d.x(*d.numbers(rank, 2, 4))
    axes = tuple(sorted(a % rank for a in d.axes(rank)))
    start = np.float32(d.pick(-0.5, 0.75))
    join = {"add": np.add, "maximum": np.maximum, "minimum": np.minimum, "multiply": np.multiply}[name]
    y = np.asarray(join.reduce(x, axis=axes, initial=start))
    text = (
        f"%c = stablehlo.constant dense<{start}> : tensor<f32>\n%y = stablehlo.reduce(%0 init: %c) applies "
        f"stablehlo.{name} across dimensions = {list(axes)} : ({type_of(x)}, tensor<f32>) -> {type_of(y)}"
    )
    return text, [x], y


def windows(d: Draw) -> Drawn:
    rank, name = d.pick(2, 3, 4), d.pick("add", "maximum", "minimum")
    x = d.x(*d.numbers(rank, 3, 6))
    moving = sorted(a % rank for a in d.axes(rank))[:2]
    size, step, low, high = (
        [d.pick(*choices) if a in moving else base for a in range(rank)]
        for choices, base in (((1, 2, 3), 1), ((1, 2), 1), ((0, 1), 0), ((0, 1), 0))
    )
    low, high = ([min(p, s - 1) for p, s in zip(pads, size, strict=True)] for pads in (low, high))
    join, start = {"add": (np.add, 0), "maximum": (np.maximum, -np.inf), "minimum": (np.minimum, np.inf)}[
        name
    ]
    wide = np.pad(x, [*zip(low, high, strict=True)], constant_values=start)
    cells = np.lib.stride_tricks.sliding_window_view(wide, size)[tuple(slice(None, None, s) for s in step)]
    y = np.asarray(join.reduce(cells, axis=tuple(range(rank, 2 * rank))))
    init = {"add": "0.0", "maximum": "0xFF800000", "minimum": "0x7F800000"}[name]
    pads = str([[a, b] for a, b in zip(low, high, strict=True)])
    text = (
        f"%c = stablehlo.constant dense<{init}> : tensor<f32>\n"
        f'%y = "stablehlo.reduce_window"(%0, %c) <{{window_dimensions = array<i64: {listed(size)[1:-1]}>, '
        f"window_strides = array<i64: {listed(step)[1:-1]}>, "
        f"padding = dense<{pads}> : tensor<{rank}x2xi64>}}> "
        "({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        f"%r = stablehlo.{name} %a, %b : tensor<f32>\nstablehlo.return %r : tensor<f32>\n}}) : "
        f"({type_of(x)}, tensor<f32>) -> {type_of(y)}"
    )
    return text, [x], y


def replaced(d: Draw) -> Drawn:
    """A box, which is moved back where it would reach over the end."""
    rank = d.pick(1, 2, 3)
    x = d.x(*d.numbers(rank, 2, 6))
    update = d.x(*(d.pick(*range(1, n + 1)) for n in x.shape))
    starts = [d.pick(*range(-1, n + 2)) for n in x.shape]
    y = x.copy()
    first = [min(max(s, 0), n - m) for s, n, m in zip(starts, x.shape, update.shape, strict=True)]
    y[tuple(slice(f, f + m) for f, m in zip(first, update.shape, strict=True))] = update
    names = [f"%c{i}" for i in range(rank)]
    numbers = "\n".join(
        f"{name} = stablehlo.constant dense<{s}> : tensor<i32>" for name, s in zip(names, starts, strict=True)
    )
    types = ", ".join([type_of(x), type_of(update), *["tensor<i32>"] * rank])
    text = (
        f"{numbers}\n%y = stablehlo.dynamic_update_slice %0, %1, {', '.join(names)} : "
        f"({types}) -> {type_of(x)}"
    )
    return text, [x, update], y


def moved(d: Draw) -> Drawn:
    rank = d.pick(1, 2, 3, 4)
    x = d.x(*d.numbers(rank, 2, 5))
    match d.pick("transpose", "slice", "broadcast", "reverse", "concatenate"):
        case "transpose":
            axes = d.rng.permutation(rank)
            y = x.transpose(axes)
            text = f"%y = stablehlo.transpose %0, dims = {listed(axes)} : ({type_of(x)}) -> {type_of(y)}"
        case "slice":
            starts = [d.pick(*range(n)) for n in x.shape]
            ends = [d.pick(*range(s + 1, n + 1)) for s, n in zip(starts, x.shape, strict=True)]
            steps = d.numbers(rank, 1, 3)
            parts = list(zip(starts, ends, steps, strict=True))
            y = x[tuple(slice(*part) for part in parts)]
            said = ", ".join(":".join(map(str, part)) for part in parts)
            text = f"%y = stablehlo.slice %0 [{said}] : ({type_of(x)}) -> {type_of(y)}"
        case "broadcast":
            places = sorted(int(p) for p in d.rng.permutation(rank + 1)[:rank])
            wide = [d.pick(1, 2, 3)] * (rank + 1)
            for place, n in zip(places, x.shape, strict=True):
                wide[place] = n
            shape = [n if i in places else 1 for i, n in enumerate(wide)]
            y = np.broadcast_to(x.reshape(shape), wide)
            text = f"%y = stablehlo.broadcast_in_dim %0, dims = {places} : ({type_of(x)}) -> {type_of(y)}"
        case "reverse":
            axes = [a % rank for a in d.axes(rank)]
            y = np.flip(x, axes)
            text = f"%y = stablehlo.reverse %0, dims = {axes} : {type_of(x)}"
        case _:
            axis = d.pick(*range(rank))
            other = d.x(*(d.pick(1, 3) if i == axis else n for i, n in enumerate(x.shape)))
            y = np.concatenate([x, other, x], axis)
            types = ", ".join(map(type_of, (x, other, x)))
            return (
                f"%y = stablehlo.concatenate %0, %1, %0, dim = {axis} : ({types}) -> {type_of(y)}",
                [x, other],
                y,
            )
    return text, [x], y


@pytest.mark.parametrize(
    "draw",
    [convolution, dot_general, gather, pad, reduce, windows, replaced, moved],
    ids=lambda draw: draw.__name__,
)
def test_attributes_mean_what_they_say(draw: Callable[[Draw], Drawn], tmp_path: Path) -> None:
    for seed in range(SEEDS):
        text, operands, right = draw(Draw(zlib.crc32(draw.__name__.encode()), seed))
        if not prod(right.shape):
            continue
        try:
            found = computed(tmp_path, text, operands, type_of(right))
            assert found.shape == right.shape
            np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)
        except Exception as error:
            error.add_note(text)
            raise
