"""Sizes that count selected rows: sums of constants and of counts that are known at run time, with bounds.

So `100 - n` cells after `n` rows are known to make 100, and `min(n, 100)` is `n` where that is no more.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.fixed import int_range
from edgekit.core.ir import Node
from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Add, Clip, Max, Min, Mul, Neg, Sub
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.logic import Equal, Less, LessOrEqual, Not, Where
from edgekit.core.ops.non_max_suppression import NonMaxSuppression
from edgekit.core.ops.non_zero import NonZero
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import DType, Type

_MAX_ELEMENTS = 64  # of what may be a shape
_MAX_TERMS = 256  # of a sum
SELECTS = (NonMaxSuppression, NonZero)
_MOVES = (Cast, Concat, Expand, Gather, Reshape, Slice, Transpose)
_SUMS = (Add, Clip, Max, Min, Mul, Neg, Not, Reduce, Sub)
_COMPARES = (Equal, Less, LessOrEqual)
_EXACT = 1 << 24  # from here on not every whole number is a float32


@dataclass(frozen=True)
class Number:
    """What is known at run time: a count, or the least of two sizes."""

    key: Hashable
    least: int
    most: int


@dataclass(frozen=True)
class Size:
    """A constant and numbers with their factors, added up."""

    constant: int = 0
    terms: frozenset[tuple[Number, int]] = frozenset()

    def __add__(self, other: Size) -> Size:
        factors = dict(self.terms)
        for number, factor in other.terms:
            factors[number] = factors.get(number, 0) + factor
        return Size(self.constant + other.constant, frozenset((n, f) for n, f in factors.items() if f))

    def __neg__(self) -> Size:
        return self.times(-1)

    def __sub__(self, other: Size) -> Size:
        return self + -other

    def times(self, factor: int) -> Size:
        terms = (
            frozenset((n, f * factor) for n, f in self.terms) if factor else frozenset[tuple[Number, int]]()
        )
        return Size(self.constant * factor, terms)

    @property
    def least(self) -> int:
        return self.constant + sum(f * (n.least if f > 0 else n.most) for n, f in self.terms)

    @property
    def most(self) -> int:
        return -(-self).least

    @property
    def is_known(self) -> bool:
        return not self.terms

    def at_most(self, other: Size, key: Hashable) -> Size:
        """The least of both; the key stands for it where that is known at run time only."""
        if (self - other).most <= 0:
            return self
        if (other - self).most <= 0:
            return other
        least = Number(key, min(self.least, other.least), min(self.most, other.most))
        return Size(0, frozenset({(least, 1)}))


Sizes = NDArray[np.object_]


def count_of(builder: Builder, node: Node) -> Size:
    """How many rows an operator selects."""
    return Size(0, frozenset({(Number(node.outputs[-1], 0, room(builder, node)), 1)}))


@dataclass
class Notes:
    """What is known of the edges of a graph in the making that nodes compute."""

    sizes: dict[str, Sizes | None] = field(default_factory=dict)
    rows: dict[str, Any] = field(default_factory=dict)  # those of selected_rows.py that no operator tells
    traced: dict[str, Any] = field(default_factory=dict)  # and those that operators do, of so many nodes
    nodes: int = 0
    last: Node | None = None

    def forget(self, name: str) -> None:
        for known in (self.sizes, self.rows, self.traced):
            known.pop(name, None)


def notes(builder: Builder) -> Notes:
    if not isinstance(builder.notes, Notes):
        builder.notes = Notes()
    return builder.notes


def sizes(x: Tensor) -> Sizes | None:
    """The elements of a tensor as sizes; None where something else than counts decides them."""
    builder = x.builder
    known = notes(builder).sizes
    constants: dict[str, Sizes | None] = {}  # whose names others may get
    found = ChainMap(constants, known)
    queue = [x.name]
    while queue:
        name = queue[-1]
        node = builder.producers.get(name) if builder.data(name) is None else None
        missing = (
            [one for one in _needs(builder, name, node) if one not in found] if name not in found else ()
        )
        if missing:
            queue += missing
            continue
        queue.pop()
        if name not in found:
            (constants if node is None else known)[name] = _sizes(builder, name, node, found)
    return found[x.name]


def size(x: Tensor) -> Size | None:
    """The only element of a tensor as a size."""
    found = sizes(x)
    return None if found is None or found.size != 1 else found.reshape(1)[0]


def _needs(builder: Builder, name: str, node: Node | None) -> Sequence[str]:
    """The operands by which the sizes are found."""
    if node is None or not _fits(builder.type(name)) or builder.data(name) is not None:
        return ()
    if isinstance(node.op, Where):
        compared = builder.producers.get(node.inputs[0])
        return (*node.inputs, *(compared.inputs if compared and isinstance(compared.op, _COMPARES) else ()))
    if isinstance(node.op, Clip) and builder.data(node.inputs[2]) == np.inf:
        return node.inputs[:2]
    return node.inputs if isinstance(node.op, (*_MOVES, *_SUMS, *_COMPARES)) else ()


def _fits(type: Type) -> bool:
    return (
        type.size <= _MAX_ELEMENTS and (type.dtype is DType.F32 or not type.dtype.is_float) and not type.quant
    )


def _range(dtype: DType) -> tuple[int, int]:
    """The whole numbers that are exact in all computations."""
    if dtype is DType.BOOL:
        return 0, 1
    return (-_EXACT, _EXACT) if dtype.is_float else int_range(dtype)


def _sizes(builder: Builder, name: str, node: Node | None, found: Mapping[str, Sizes | None]) -> Sizes | None:
    type, data = builder.type(name), builder.data(name)
    if not _fits(type):
        return None
    if data is not None:
        if type.dtype.is_float and not (np.abs(data) <= _EXACT).all():
            return None
        whole = data.astype(np.int64)
        return (
            _objects([Size(int(v)) for v in whole.reshape(-1)], type.shape) if (whole == data).all() else None
        )
    if node is None:
        return None
    if isinstance(node.op, SELECTS):
        is_count = name == node.outputs[-1]
        return _objects([count_of(builder, node)], ()) if is_count else None
    if isinstance(node.op, Reduce) and found[node.inputs[0]] is None:
        return _number_of(builder, name, node, node.op)
    needs = _needs(builder, name, node)
    ins = [one for one in (found.get(one) for one in needs) if one is not None]
    if not ins or len(ins) < len(needs):
        return None
    if isinstance(node.op, Where):
        made: Sizes | None = _chosen(name, builder.producers.get(node.inputs[0]), ins, type.shape)
    else:
        made = _computed(name, node.op, ins, type.shape)
    least, most = _range(type.dtype)
    fits = made is not None and all(
        least <= one.least <= one.most <= most and len(one.terms) <= _MAX_TERMS for one in made.reshape(-1)
    )
    return made if fits else None


def room(builder: Builder, node: Node) -> int:
    """The most rows that an operator may select."""
    return builder.type(node.outputs[0]).shape[isinstance(node.op, NonZero)]


def _computed(name: str, op: Op, ins: Sequence[Sizes], shape: Sequence[int]) -> Sizes | None:
    match op:
        case Cast():
            return ins[0]
        case Neg():
            return _each(lambda a, _: -a, ins[0], ins[0], shape)
        case Add():
            return _each(Size.__add__, ins[0], ins[1], shape)
        case Sub():
            return _each(Size.__sub__, ins[0], ins[1], shape)
        case Min():
            keys = iter(range(prod(shape)))
            return _each(lambda a, b: a.at_most(b, (name, next(keys))), ins[0], ins[1], shape)
        case Max():
            keys = iter(range(prod(shape)))
            return _each(lambda a, b: -(-a).at_most(-b, (name, next(keys))), ins[0], ins[1], shape)
        case Clip():
            keys = iter(range(prod(shape)))
            low = _each(lambda a, b: -(-a).at_most(-b, (name, next(keys))), ins[0], ins[1], shape)
            return low if len(ins) == 2 else None
        case Reduce(kind, axes):
            return _reduced(name, kind, axes, ins[0], shape)
        case Not():
            return _each(lambda a, _: Size(1) - a, ins[0], ins[0], shape)
        case Equal() | Less() | LessOrEqual():
            keys = iter(range(prod(shape)))
            return _each(lambda a, b: _compared(op, a, b, (name, next(keys))), ins[0], ins[1], shape)
        case Mul():
            a, b = ins if all(one.is_known for one in ins[1].reshape(-1)) else ins[::-1]
            if not all(one.is_known for one in b.reshape(-1)):
                return None
            return _each(lambda x, y: x.times(y.constant), a, b, shape)
    return _moved(op, ins)


def _compared(op: Op, a: Size, b: Size, key: Hashable) -> Size:
    """1 where it holds, 0 where not, as far as bounds tell."""
    least, most = (a - b).least, (a - b).most
    match op:
        case Equal():
            holds, fails = least == most == 0, least > 0 or most < 0
        case Less():
            holds, fails = most < 0, least >= 0
        case _:
            holds, fails = most <= 0, least > 0
    return Size(int(holds)) if holds or fails else Size(0, frozenset({(Number(key, 0, 1), 1)}))


def _chosen(name: str, compared: Node | None, ins: Sequence[Sizes], shape: Sequence[int]) -> Sizes:
    """One of two sizes, which others may decide, such as the least of both."""
    holds, yes, no, *sides = (np.broadcast_to(one, shape).reshape(-1) for one in ins)
    has_order = compared is not None and isinstance(compared.op, Less | LessOrEqual)
    made = []
    for i, (h, a, b) in enumerate(zip(holds, yes, no, strict=True)):
        pair = (sides[0][i], sides[1][i]) if has_order else None
        if a == b or h.is_known:
            made.append(a if h.constant or a == b else b)
        elif pair == (a, b):
            made.append(a.at_most(b, (name, i)))
        elif pair == (b, a):
            made.append(-(-a).at_most(-b, (name, i)))
        else:
            one = Number((name, i), min(a.least, b.least), max(a.most, b.most))
            made.append(Size(0, frozenset({(one, 1)})))
    return _objects(made, shape)


def _number_of(builder: Builder, name: str, node: Node, op: Reduce) -> Sizes | None:
    """How many of some conditions hold, as a sum."""
    (x,) = node.inputs
    cells = builder.type(x).size // max(builder.type(name).size, 1)
    fits = cells <= _range(builder.type(name).dtype)[1]
    if op.kind != "sum" or not fits or not _is_condition(builder, x):
        return None
    shape = builder.type(name).shape
    numbers = [Number((name, i), 0, cells) for i in range(prod(shape))]
    return _objects([Size(0, frozenset({(one, 1)})) for one in numbers], shape)


def _is_condition(builder: Builder, name: str) -> bool:
    """Are the elements 0 or 1?"""
    queue, seen = [name], set[str]()
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        node, data = builder.producers.get(name), builder.data(name)
        if builder.type(name).dtype is DType.BOOL or (data is not None and np.isin(data, (0, 1)).all()):
            continue
        if node is None or data is not None or not isinstance(node.op, Cast | Reshape | Where):
            return False
        queue += node.inputs[isinstance(node.op, Where) :]
    return True


def _reduced(name: str, kind: str, axes: Sequence[int], x: Sizes, shape: Sequence[int]) -> Sizes | None:
    """Sums, or the least or largest, along dimensions."""
    if not x.size or kind not in ("sum", "max", "min"):
        return None
    kept = [i for i in range(x.ndim) if i not in axes]
    lines = x.transpose(*kept, *axes).reshape(prod(shape), -1)
    made = []
    for i, line in enumerate(lines):
        total = line[0]
        for j, one in enumerate(line[1:]):
            if kind == "sum":
                total = total + one
            else:
                total = (
                    total.at_most(one, (name, i, j))
                    if kind == "min"
                    else -(-total).at_most(-one, (name, i, j))
                )
        made.append(total)
    return _objects(made, shape)


def _moved(op: Op, ins: Sequence[Sizes]) -> Sizes | None:
    """Elements in other places."""
    given = list(ins)
    index: list[NDArray[np.int64]] = []
    if isinstance(op, Gather):
        if not all(one.is_known for one in given[1].reshape(-1)):
            return None
        at = given.pop()
        index = [np.array([one.constant for one in at.reshape(-1)], np.int64).reshape(at.shape)]
    start, places = 0, []
    for one in given:
        places.append(np.arange(start, start + one.size).reshape(one.shape))
        start += one.size
    every = [one for array in given for one in array.reshape(-1)]
    (moved,) = op.eval(*places, *index)
    return _objects([every[i] for i in moved.reshape(-1)], moved.shape)


def _each(of: Callable[[Size, Size], Size], a: Sizes, b: Sizes, shape: Sequence[int]) -> Sizes:
    pairs = zip(np.broadcast_to(a, shape).reshape(-1), np.broadcast_to(b, shape).reshape(-1), strict=True)
    return _objects([of(x, y) for x, y in pairs], shape)


def _objects(made: Sequence[Size], shape: Sequence[int]) -> Sizes:
    array = np.empty(len(made), object)
    array[:] = made
    return array.reshape(shape)
