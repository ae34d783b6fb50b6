"""Weight layouts: re-tiles constants offline as the tag in a kernel's file says; devices pack nothing.

A tag lists the dimensions of the packed weights from outer to inner. Capitals are the dimensions of the
graph's tensor, in its order O H W I (or O I); O/16 ... o16 cuts O into blocks of 16, the last of which is
narrower where O is no multiple; a leading G cuts O into the call's groups first.

Layouts for vector instructions are tiled: blocks are whole, filled up with zeros. O/8! ... o8 says so, O/8~
that the first elements fill up the last block; O/16!4 in front, that the last block is narrower, filled up to
a multiple of 4; WI is W and I as one dimension; i4(0213) is the order of elements in a block, digits and
letters from a on; with o16(2x2x4) a block has these dimensions, and the first two change places; with
o16(zip8) neighbouring parts of 8 alternate, but for an odd last one; hwi4/2 ... o4/2 ... hwi2 o2 cut blocks
again, so that two inputs of two outputs are side by side; and behind a colon comes the type that
they are stored in, a factor, and what is added:
`O/8! H WI/4! wi4(0213) o8 : s16 x2`, `O : s8 x-1 +-1`; `carry`
makes pairs of bytes, 256 b + a in 16 bits, and `excess` adds 8 to three of four numbers of 4 bits, so that
the highest one in 16 bits alone has a sign. `winograd` in front takes weights of 3 by 3 cells
at the 6 by 6 points of Winograd's algorithm, `strided` at the 4 by 4 of conv2d.strided.c, `tiles` at those of
winograd_dsp.h; `blocks` leaves out
those that are zero (block_sparsity.py), `light` makes weights side by side smaller (overflow_safe.py);
`same! 4` is four times the first element, where all are equal. `phases {stride_h}x{stride_w}` in front lays
together the taps that leave the same rests by these numbers. Braces hold expressions over parameters and
facts of the call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from edgekit.codegen.kernels.block_sparsity import is_stream, stream, tiled
from edgekit.codegen.kernels.overflow_safe import is_light, light, light_layout, lightened
from edgekit.core.ops._strided import Strides, contiguous
from edgekit.core.tiles import occupied
from edgekit.core.types import Array, DType

DIMS = {1: "O", 2: "OI", 3: "OWI", 4: "OHWI"}
_TOKEN = re.compile(r"([A-Za-z]+)(?:/(\d+)(?:!|(~))?)?(\d+)?(?:/(\d+))?(?:\((\w+)\))?$")
_EXPRESSION = re.compile(r"\{.*?\}")
_PHASES = re.compile(r"phases (\d+)x(\d+) ")
_SAME = "same! "
_NARROWER = re.compile(r"^O/(\d+)!(\d+)")
_HALVES = np.array([[1, 0, 0], [1, 0, 1], [0, 0, 1], [0, 1, 0]])  # conv2d.strided.c's u, u + w, w and v
# At 1, -1, 0 and infinity, and at 1, infinity, 0 and -1: the rows and columns of winograd_dsp.h.
_TILE_ROWS = np.array([[1, 1, 1], [1, -1, 1], [1, 0, 0], [0, 0, 1]])
_TILE_COLUMNS = np.array([[1, 1, 1], [0, 0, 2], [2, 0, 0], [1, -1, 1]])


@dataclass(frozen=True)
class PackedBlock:
    """One dense piece of the packed weights: `shape`, `strides`, `start` in the source, put at `at`."""

    shape: tuple[int, ...]
    strides: Strides
    start: int
    at: int


def blocks(tag: str, shape: tuple[int, ...], groups: int) -> Iterator[PackedBlock]:
    """The pieces, one behind the other, that make up the packed weights."""
    names = DIMS[len(shape)]
    order = tag.split()
    size = dict(zip(names, shape, strict=True))
    stride = dict(zip(names, contiguous(shape), strict=True))
    if order[0] == "G":
        order = order[1:]
    else:
        groups = 1
    cut = next((int(m[1]) for d in order if (m := re.fullmatch(r"O/(\d+)", d))), 0)
    inner = [d for d in order if not d.startswith("O/")]
    assert sorted(d[0].upper() for d in inner) == sorted(names), f"pack tag {tag!r} does not fit {names}"
    per_group = size["O"] // groups
    at = 0
    for group in range(groups):
        for first in range(0, per_group, cut or per_group):
            width = min(cut or per_group, per_group - first)
            here = size | {"O": width}
            dims = tuple(here[d[0].upper()] for d in inner)
            steps = tuple(stride[d[0].upper()] for d in inner)
            yield PackedBlock(dims, steps, (group * per_group + first) * stride["O"], at)
            at += prod(dims)


def is_tiled(tag: str) -> bool:
    """Are all blocks of this layout whole?"""
    return any(sign in tag for sign in "!~:")


def stored_dtype(tag: str) -> DType | None:
    """The type that a layout states behind its colon; integers of four bits are stored two in a byte."""
    words = [word for word in _EXPRESSION.sub("", tag).partition(":")[2].split() if word[0] not in "x+"]
    if not words:
        return None
    dtype = DType(words[-1])
    return DType.S8 if dtype in (DType.S4, DType.U4) else dtype


def pack(tag: str, weights: Array, groups: int = 1) -> Array:
    """The packed weights, flat; those of four bits two in a byte, as int4.h reads them."""
    for word, (rows, columns) in _POINTS.items():
        if tag.startswith(word):
            return pack(tag.removeprefix(word), _at(rows, columns, weights), groups)
    if tag.startswith(_SAME):
        return weights.reshape(-1)[:1].repeat(int(tag.removeprefix(_SAME)))
    if phases := _PHASES.match(tag):
        high, wide = int(phases[1]), int(phases[2])
        taps = (weights[:, i::high, j::wide] for i in range(high) for j in range(wide))
        return np.concatenate([pack(tag[phases.end() :], phase, groups) for phase in taps])
    if is_stream(tag):
        layout, outputs, inputs = tiled(tag)
        return stream(_tiled(layout, weights, groups), occupied(weights, outputs, inputs), inputs)
    if is_light(tag):
        layout, outputs, inputs = light_layout(tag)
        rest, added = lightened(weights, outputs, inputs)
        return light(_tiled(layout, rest, groups), weights - rest, outputs, added)
    if is_tiled(tag):
        return _tiled(tag, weights, groups)
    flat = np.ascontiguousarray(weights).reshape(-1)
    out = np.empty_like(flat)
    for b in blocks(tag, weights.shape, groups):
        steps = tuple(s * flat.itemsize for s in b.strides)
        piece = np.lib.stride_tricks.as_strided(flat[b.start :], b.shape, steps, writeable=False)
        out[b.at : b.at + piece.size] = piece.reshape(-1)
    return _nibbles(out) if DType.of(out.dtype) is DType.S4 else out


def stream_size(tag: str, weights: Array) -> int:
    """How many words a stream of blocks has, without making it."""
    _, outputs, inputs = tiled(tag)
    words = outputs * inputs * (stored_dtype(tag) or DType.of(weights.dtype)).numpy.itemsize // 4
    pairs = np.maximum(1, (occupied(weights, outputs, inputs).sum(axis=1) + 1) // 2)
    return int((1 + 2 * pairs * (1 + words)).sum())


def _at(rows: Array, columns: Array, weights: Array) -> Array:
    """Weights of 3 by 3 cells, O H W I, at points in each direction."""
    values = np.einsum("ij,ojkc,lk->oilc", rows, weights.astype(np.float64), columns)
    return np.asarray(values.astype(np.float32))


def _points() -> Array:
    """Those of winograd_f32.h: 0, +-p, +-q and infinity."""
    p, q = 0.5**0.5, 2**0.5
    polynomials = [[1, point, point * point] for point in (0, p, -p, q, -q)]
    scale = np.array([1, *(2 * p * p * (p * p - q * q),) * 2, *(2 * q * q * (q * q - p * p),) * 2])
    return np.concatenate([np.array(polynomials) / scale[:, None], [[0, 0, 1]]])


_POINTS = {
    "winograd ": (_points(), _points()),
    "strided ": (_HALVES, _HALVES),
    "tiles ": (_TILE_ROWS, _TILE_COLUMNS),
}


def _nibbles(integers: Array) -> Array:
    pairs = np.append(integers, np.zeros(integers.size % 2, integers.dtype)).astype(np.int8).reshape(-1, 2)
    return ((pairs[:, 0] & 15) | (pairs[:, 1] << 4)).astype(np.int8)


def _tiled(tag: str, weights: Array, groups: int) -> Array:
    if tag.startswith("G ") and _NARROWER.match(tag[2:]):
        return np.concatenate([_tiled(tag[2:], part, 1) for part in np.split(weights, groups)])
    if narrower := _NARROWER.match(tag):
        width, unit = int(narrower[1]), int(narrower[2])
        whole = weights.shape[0] // width * width
        last = -(-(weights.shape[0] - whole) // unit) * unit
        parts = [(w, piece) for w, piece in ((width, weights[:whole]), (last, weights[whole:])) if piece.size]
        return np.concatenate([_tiled(_NARROWER.sub(f"O/{w}!", tag), piece, groups) for w, piece in parts])
    layout, _, storage = tag.partition(":")
    tokens = [m for t in layout.split() if (m := _TOKEN.match(t)) is not None]
    assert len(tokens) == len(layout.split()), f"pack tag {tag!r} is not understood"
    names = list(DIMS[weights.ndim])
    if tokens[0][1] == "G":
        names.insert(0, "G")
        groups = groups if len(weights) > 1 else 1  # or one number for all outputs
        weights = weights.reshape(groups, weights.shape[0] // groups, *weights.shape[1:])
    axes: list[str] = []  # of the array that grows here, in its order
    array = weights
    for letters in _merged(names, [t[1].upper() for t in tokens]):
        at, count = len(axes), len(letters)
        array = array.reshape(*array.shape[:at], -1, *array.shape[at + count :])
        block = next((int(t[2]) for t in tokens if t[1] == letters and t[2]), 0)
        axes.append(letters)
        if block:
            if short := -array.shape[at] % block:
                rest = np.take(array, range(short), axis=at, mode="wrap")
                is_repeated = any(t[1] == letters and t[3] for t in tokens)
                array = np.concatenate([array, rest if is_repeated else np.zeros_like(rest)], axis=at)
            array = array.reshape(*array.shape[:at], -1, block, *array.shape[at + 1 :])
            axes.append(letters.lower())
            order = next((t[6] for t in tokens if t[1] == letters.lower() and t[6]), "")
            array = np.take(array, _order(order, block), axis=at + 1) if order else array
            if cut := next((int(t[5]) for t in tokens if t[1] == letters.lower() and t[5]), 0):
                array = array.reshape(*array.shape[: at + 1], -1, cut, *array.shape[at + 2 :])
                axes[-1:] = [f"{letters.lower()}/", letters.lower()]
    wanted = [f"{t[1]}/" if t[5] else t[1] for t in tokens]
    assert sorted(axes) == sorted(wanted), f"pack tag {tag!r} does not fit {names}"
    array = array.transpose([axes.index(name) for name in wanted])
    if array.dtype == DType.S4.numpy:
        array = array.astype(np.int8)  # what is added has more bits
    for word in storage.split():
        match word[0]:
            case "x":
                array = array * int(word[1:])
            case "+":
                array = array + int(word[1:])
            case "c":  # carry: the higher byte of a pair is 1 less where the lower one is negative
                array = array.copy()
                array[..., 1::2] -= array[..., 0::2] < 0
            case "e":  # excess: three of four numbers have no sign, the last one is as it is
                array = (array + np.array([8, 8, 8, 0], np.int8)) & 15
            case _:
                array = array.astype(DType(word).numpy)
    flat = np.ascontiguousarray(array).reshape(-1)
    return _nibbles(flat) if flat.dtype == DType.U4.numpy else flat


def _order(text: str, count: int) -> list[int]:
    """Of elements in a block: 021 by digits, 4x2x4 as the first two of three dimensions change places, zip8
    as neighbouring parts of 8 alternate."""
    if text.startswith("zip"):
        size = int(text.removeprefix("zip"))
        pairs = count // (2 * size) * 2 * size
        order = np.arange(pairs).reshape(-1, 2, size).swapaxes(1, 2).reshape(-1).tolist()
        return [*order, *range(pairs, count)]
    if "x" not in text:
        return [int(digit, 36) for digit in text]
    sizes = [int(size) for size in text.split("x")]
    return [*np.arange(np.prod(sizes)).reshape(sizes).swapaxes(0, 1).reshape(-1).tolist()]


def _merged(names: list[str], wanted: list[str]) -> list[str]:
    """The dimensions, those together that a tag names together."""
    text, found = "".join(names), []
    while text:
        found.append(max((w for w in wanted if text.startswith(w)), key=len))
        text = text[len(found[-1]) :]
    return found
