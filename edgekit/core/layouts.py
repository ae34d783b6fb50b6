"""Layouts: values that lie in memory with their dimensions in another order, before any transpose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

Shape = tuple[int, ...]
Dims = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Layout:
    """A dense tensor of `shape` is stored; its dimensions `dims[i]`, outermost first, are dimension i of the
    value. Each stored dimension belongs to one dimension of the value. NCHW stored as NHWC has dims
    ((0,), (3,), (1,), (2,)); then flattened ((0,), (3, 1, 2))."""

    shape: Shape
    dims: Dims

    @property
    def value_shape(self) -> Shape:
        return tuple(prod(self.shape[d] for d in group) for group in self.dims)

    @property
    def is_plain(self) -> bool:
        """Is the value stored as it is, up to a reshape? Dimensions of size 1 count: they may grow."""
        order = [d for group in self.dims for d in group]
        return order == sorted(order)

    def axis(self, dim: int) -> int | None:
        """The stored dimension that is dimension `dim` of the value; None where several are."""
        group = self.dims[dim]
        return group[0] if len(group) == 1 else None

    def transposed(self, perm: Sequence[int]) -> Layout:
        """Of the value with its dimensions in another order."""
        return Layout(self.shape, tuple(self.dims[p] for p in perm))

    @property
    def ends_alike(self) -> bool:
        """Is the last dimension of the value the last one in memory?"""
        return self.axis(-1) == len(self.shape) - 1

    def resized(self, shape: Sequence[int]) -> Layout:
        """Of a value of the same rank whose dimensions have other sizes. A dimension that changes must be a
        single one in memory, or become 1 or come from 1."""
        stored = list(self.shape)
        for group, n, m in zip(self.dims, self.value_shape, shape, strict=True):
            if n != m:
                assert len(group) == 1 or 1 in (n, m), f"{self} does not resize to {shape}"
                for d in group:
                    stored[d] = 1
                stored[group[0]] = m
        return Layout(tuple(stored), self.dims)

    def with_size(self, dim: int, n: int) -> Layout:
        """Of the value with n cells in one dimension."""
        shape = self.value_shape
        return self.resized((*shape[:dim], n, *shape[dim + 1 :]))

    def without(self, dims: Iterable[int]) -> Layout:
        """Of the value without some dimensions (of size 1, or about to vanish)."""
        gone = set(dims)
        lost = {d for i in gone for d in self.dims[i]}
        place = {d: k for k, d in enumerate(d for d in range(len(self.shape)) if d not in lost)}
        shape = tuple(n for d, n in enumerate(self.shape) if d not in lost)
        kept = (group for i, group in enumerate(self.dims) if i not in gone)
        return Layout(shape, tuple(tuple(place[d] for d in group) for group in kept))

    def extended(self, rank: int) -> Layout:
        """Of the value with dimensions of size 1 in front, as broadcasting adds them."""
        extra = rank - len(self.dims)
        behind = (tuple(d + extra for d in group) for group in self.dims)
        return Layout((1,) * extra + self.shape, (*((i,) for i in range(extra)), *behind))

    def reshaped(self, shape: Shape) -> Layout | None:
        """Of the value with another shape, where stored dimensions can be split such that they fit."""
        old = self.value_shape
        if 0 in shape:
            return None
        head = 0
        while head < min(len(old), len(shape)) and old[head] == shape[head]:
            head += 1
        tail = 0
        while tail < min(len(old), len(shape)) - head and old[-1 - tail] == shape[-1 - tail]:
            tail += 1
        middle = _regrouped(self, self.dims[head : len(old) - tail], shape[head : len(shape) - tail])
        if middle is None:
            return None
        groups = [[((d,), self.shape[d]) for d in g] for g in self.dims]
        # A new dimension of size 1 lies behind the one that it follows.
        before: tuple[float, ...] = groups[head - 1][-1][0] if head else (-1,)
        for i, group in enumerate(middle):
            if not group:
                middle[i] = [((*before, 9), 1)]
            before = middle[i][-1][0]
        return _assembled([*groups[:head], *middle, *groups[len(old) - tail :]])


# A piece of a stored dimension: where it lies (pieces sort as they lie in memory) and its size.
Piece = tuple[tuple[float, ...], int]


def plain(shape: Sequence[int]) -> Layout:
    """The layout of a tensor as it is."""
    return Layout(tuple(shape), tuple((i,) for i in range(len(shape))))


def common_split(a: Layout, b: Layout) -> tuple[Layout, Layout] | None:
    """Two layouts of values of one shape with their stored dimensions split until both have the same ones;
    those of size 1 are left out. None where no such split exists."""
    pieces_a, pieces_b = [], []
    for group_a, group_b in zip(a.dims, b.dims, strict=True):
        sizes = _refined([a.shape[d] for d in group_a], [b.shape[d] for d in group_b])
        if sizes is None:
            return None
        pieces_a.append(_split([((d,), a.shape[d]) for d in group_a], sizes))
        pieces_b.append(_split([((d,), b.shape[d]) for d in group_b], sizes))
    return _assembled(pieces_a), _assembled(pieces_b)


def permutation(a: Layout, b: Layout) -> tuple[int, ...]:
    """The transpose that turns what `a` stores into what `b` stores, for two layouts of `common_split`."""
    groups = zip(a.dims, b.dims, strict=True)
    source = {d_b: d_a for of_a, of_b in groups for d_a, d_b in zip(of_a, of_b, strict=True)}
    return tuple(source[d] for d in range(len(b.shape)))


def folded(shape: Shape, perm: Sequence[int]) -> tuple[Shape, tuple[int, ...]]:
    """The same transpose, neighbours that stay neighbours as one dimension; no dimensions: nothing moves."""
    runs: list[list[int]] = []
    for p in perm:
        if runs and runs[-1][-1] + 1 == p:
            runs[-1].append(p)
        else:
            runs.append([p])
    if len(runs) <= 1:
        return (), ()
    first = sorted(run[0] for run in runs)
    sizes = {run[0]: prod(shape[d] for d in run) for run in runs}
    return tuple(sizes[d] for d in first), tuple(first.index(run[0]) for run in runs)


def _regrouped(layout: Layout, dims: Dims, shape: Shape) -> list[list[Piece]] | None:
    """The pieces of some dimensions grouped into other sizes; [] for each size of 1."""
    rest: list[Piece] = [((d,), layout.shape[d]) for group in dims for d in group if layout.shape[d] != 1]
    rest.reverse()
    groups: list[list[Piece]] = []
    for n in shape:
        group: list[Piece] = []
        while n != 1:
            if not rest:
                return None
            place, size = rest.pop()
            if n % size == 0 and size:
                group.append((place, size))
                n //= size
            elif size % n == 0 and n:
                group.append(((*place, 0), n))
                rest.append(((*place, 1), size // n))
                n = 1
            else:
                return None
        groups.append(group)
    return groups


def _refined(a: Sequence[int], b: Sequence[int]) -> list[int] | None:
    """The coarsest sizes into which both lists of sizes, of one product, split; without ones."""
    if 0 in a or 0 in b:
        return None
    cuts = sorted({prod(sizes[i:]) for sizes in (a, b) for i in range(len(sizes))} | {1}, reverse=True)
    sizes = []
    for large, small in pairwise(cuts):
        if large % small:
            return None
        sizes.append(large // small)
    return sizes


def _split(pieces: Sequence[Piece], sizes: Sequence[int]) -> list[Piece]:
    """The pieces split into `sizes`, which refine them."""
    result: list[Piece] = []
    rest = [piece for piece in reversed(pieces) if piece[1] != 1]
    for n in sizes:
        place, size = rest.pop()
        if size == n:
            result.append((place, size))
        else:
            result.append(((*place, 0), n))
            rest.append(((*place, 1), size // n))
    return result


def _assembled(groups: Sequence[Sequence[Piece]]) -> Layout:
    order = sorted(piece for group in groups for piece in group)
    place = {where: i for i, (where, _) in enumerate(order)}
    dims = (tuple(place[where] for where, _ in group) for group in groups)
    return Layout(tuple(n for _, n in order), tuple(dims))


@dataclass(frozen=True)
class Want:
    """An operand as an operator wants it: in this layout, as a tensor of this shape."""

    layout: Layout
    shape: Shape
