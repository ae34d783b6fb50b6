"""Plain layouts of pack.py as loops, for loaders that pack weights where they run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgekit.codegen.kernels.pack import DIMS
from edgekit.core.ops._strided import contiguous
from edgekit.core.types import Array

_OUTER = re.compile(r"([A-Z]+)(?:/(\d+)(?:!(\d*))?)?")  # a dimension, or several, in blocks or not
_INNER = re.compile(r"([a-z]+)(\d+)")  # its blocks
_MAX_NESTS = 8  # of a constant: a loader had better not read a long list


@dataclass(frozen=True)
class Nest:
    """Elements of a tensor one behind the other, from outer to inner loop; zero where an axis ends before."""

    start: int  # in the tensor, in elements
    axes: tuple[tuple[int, int], ...]  # how many there are, and from one to the next
    loops: tuple[tuple[int, int, int], ...]  # how often, along which axis, and how far


def nests(tag: str, shape: Sequence[int], groups: int) -> tuple[Nest, ...]:
    """What makes the packed weights, one behind the other; none where the layout does more than move them."""
    tokens = tag.split()
    groups = groups if tokens[:1] == ["G"] else 1
    tokens = tokens[tokens[:1] == ["G"] :]
    names = DIMS.get(len(shape), "")
    if not names or not all(_OUTER.fullmatch(t) or _INNER.fullmatch(t) for t in tokens):
        return ()
    per_group = shape[0] // groups
    step = per_group * contiguous(shape)[0]
    parts = [*_parts(tokens, per_group)]
    if len(parts) == 1 and groups > 1:
        inner = _nest(tokens, names, shape, *parts[0])
        axes = (*inner.axes, (groups, step))
        return (Nest(inner.start, axes, ((groups, len(inner.axes), 1), *inner.loops)),)
    if groups * len(parts) > _MAX_NESTS:
        return ()
    found = [_nest(tokens, names, shape, *part) for _ in range(groups) for part in parts]
    return tuple(
        Nest(nest.start + i // len(parts) * step, nest.axes, nest.loops) for i, nest in enumerate(found)
    )


def _parts(tokens: Sequence[str], outputs: int) -> list[tuple[int, int, int]]:
    """Outputs whose blocks are of one size: the first, how many, and that size."""
    cut = next((m for t in tokens if (m := re.fullmatch(r"O/(\d+)(?:!(\d*))?", t))), None)
    if cut is None or cut[2] == "":
        return [(0, outputs, int(cut[1]) if cut else 1)]
    block, multiple = int(cut[1]), int(cut[2] or 1)  # of which the last block is one
    whole = outputs // block * block
    rest = outputs - whole
    return [part for part in ((0, whole, block), (whole, rest, -(-rest // multiple) * multiple)) if part[1]]


def _nest(
    tokens: Sequence[str], names: str, shape: Sequence[int], first: int, outputs: int, block: int
) -> Nest:
    """The loops of these outputs."""
    size = dict(zip(names, (outputs, *shape[1:]), strict=True))
    stride = dict(zip(names, contiguous(tuple(shape)), strict=True))
    outer = [m for t in tokens if (m := _OUTER.fullmatch(t))]
    places = {m[1].lower(): i for i, m in enumerate(outer)}
    widths = {m[1].lower(): block if m[1] == "O" else int(m[2] or 1) for m in outer}
    axes = tuple((prod(size[name] for name in m[1]), stride[m[1][-1]]) for m in outer)
    loops = []
    for token in tokens:
        if m := _INNER.fullmatch(token):
            loops.append((widths[m[1]], places[m[1]], 1))
        else:
            letters = token.partition("/")[0].lower()
            count, width = axes[places[letters]][0], widths[letters] if "/" in token else 1
            loops.append((-(-count // width), places[letters], width))
    longer = [loop for loop in loops if loop[0] != 1]
    return Nest(first * stride["O"], axes, tuple(longer or loops[-1:]))


def gathered(found: Sequence[Nest], tensor: Array) -> Array:
    """What these loops make of a tensor, flat."""
    flat = np.ascontiguousarray(tensor).reshape(-1)
    return np.concatenate([_gathered(nest, flat) for nest in found])


def _gathered(nest: Nest, flat: Array) -> Array:
    shape = [count for count, _, _ in nest.loops]
    along = [np.zeros(shape, np.int64) for _ in nest.axes]
    for i, (count, axis, step) in enumerate(nest.loops):
        along[axis] += (np.arange(count) * step).reshape([-1 if k == i else 1 for k in range(len(shape))])
    places = nest.start + sum(at * stride for at, (_, stride) in zip(along, nest.axes, strict=True))
    inside = np.all([at < size for at, (size, _) in zip(along, nest.axes, strict=True)], axis=0)
    return np.where(inside, flat[np.where(inside, places, 0)], flat.dtype.type(0)).reshape(-1)
