"""Masks of attention to a cache, recognized: which positions a query sees, as comparisons say it.

A mask is a condition, or numbers that are added: 0, or so low that nothing is left of a weight. Conditions
compare 0, 1, 2, ..., the positions of keys, with positions that are known in a run: up to one of them (causal
masks, lengths of what is filled), and from one of them on (sliding windows). All are numbers apart from
one tensor of positions, and a window has one size for all queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.logic import And, Less, LessOrEqual, Not, Or, Where
from edgekit.core.ops.reshape import Reshape
from edgekit.core.passes import Edit
from edgekit.core.passes.match import constant_operand, number
from edgekit.core.types import Array, DType

MASKED = -1e30  # scores from here down have no weight beside any other
_POSITIONS = (DType.S32, DType.S64)


@dataclass(frozen=True)
class Seen:
    """The positions up to which queries see keys, and how many of them: 0 for all."""

    at: str
    window: int


@dataclass(frozen=True)
class Condition:
    """A tensor of truths, and whether it is true of what is not seen."""

    name: str
    is_negated: bool


def of_numbers(edit: Edit, name: str) -> list[Condition] | None:
    """What is asked where a mask is 0 and lowers everything else; None for other numbers."""
    if number(edit, name) == 0:
        return []
    node = edit.producer(through_reshapes(edit, name))
    if node is not None and isinstance(node.op, Add):
        parts = [of_numbers(edit, part) for part in node.inputs]
        return [c for part in parts if part for c in part] if None not in parts else None
    if node is None or not isinstance(node.op, Where):
        return None
    condition, *values = node.inputs
    a, b = (number(edit, value) for value in values)
    if (a == 0 and is_low(b)) or (b == 0 and is_low(a)):
        return [Condition(condition, is_negated=a != 0)]
    return None


def is_low(value: float | None) -> bool:
    return value is not None and value <= MASKED


def seen(edit: Edit, conditions: Iterable[Condition], queries: int, keys: int) -> Seen | None:
    """None where anything else is asked."""
    bounds = [_bound(edit, c, queries, keys) for condition in conditions for c in _parts(edit, condition)]
    known = [bound for bound in bounds if bound is not None]
    last = [bound for bound in known if bound.is_last]
    if len(known) != len(bounds) or not last or len({bound.terms.base for bound in known}) != 1:
        return None
    upper = np.minimum.reduce([np.broadcast_to(bound.offset, queries) for bound in last])
    lower = [np.broadcast_to(bound.offset, queries) for bound in known if not bound.is_last]
    sizes = upper - np.maximum.reduce(lower) + 1 if lower else np.full(queries, keys)
    window = int(sizes[0])
    if window < 1 or (sizes != window).any():
        return None
    return Seen(_named(edit, [bound.terms for bound in last], upper), window if window < keys else 0)


def through_reshapes(edit: Edit, name: str) -> str:
    """What a name is a reshape of."""
    while (node := edit.producer(name)) is not None and isinstance(node.op, Reshape):
        name = node.inputs[0]
    return name


def _parts(edit: Edit, condition: Condition) -> Iterable[Condition]:
    """The conditions that all have to hold; those that always do are left out."""
    name, is_negated = through_reshapes(edit, condition.name), condition.is_negated
    data, node = edit.data(name), edit.producer(name)
    if data is not None and (data != is_negated).all():
        return
    if node is not None and isinstance(node.op, Not):
        yield from _parts(edit, Condition(node.inputs[0], not is_negated))
    elif node is not None and isinstance(node.op, Or if is_negated else And):
        for part in node.inputs:
            yield from _parts(edit, Condition(part, is_negated))
    else:
        yield Condition(name, is_negated)


@dataclass(frozen=True)
class _Terms:
    """A sum of a tensor and constants: `steps` are tensors on the way, with what is added to the base."""

    base: str
    steps: Sequence[tuple[str, Array]]

    @property
    def offset(self) -> Array:
        return self.steps[0][1]


@dataclass(frozen=True)
class _Bound:
    """Keys are seen up to the position `terms` and a number for each query, or from there on."""

    terms: _Terms
    offset: Array
    is_last: bool


def _bound(edit: Edit, condition: Condition, queries: int, keys: int) -> _Bound | None:
    node = edit.producer(condition.name)
    if node is None or not isinstance(node.op, Less | LessOrEqual):
        return None
    shape = edit.type(condition.name).shape
    rows = prod(shape[:-1])
    if shape[-1:] != (keys,) or rows not in (1, queries) or (rows > 1 and shape[-2] != queries):
        return None
    smaller, larger = node.inputs[::-1] if condition.is_negated else node.inputs
    strict = isinstance(node.op, Less) != condition.is_negated
    for keys_of, at, is_last in ((smaller, larger, True), (larger, smaller, False)):
        order = edit.data(keys_of)
        if order is None or order.shape[-1:] != (keys,) or order.reshape(-1).tolist() != [*range(keys)]:
            continue
        column = edit.type(at)
        if column.dtype not in _POSITIONS or column.size != rows or column.shape[-1:] not in ((), (1,)):
            return None
        terms = _terms(edit, at)
        return _Bound(terms, terms.offset - strict if is_last else terms.offset + strict, is_last)
    return None


def _terms(edit: Edit, name: str) -> _Terms:
    """Constants have one number, or one for each query."""
    steps: list[tuple[str, Array]] = [(name, np.zeros(1, np.int64))]
    while (node := edit.producer(name)) is not None:
        added = np.zeros(1, np.int64)
        if isinstance(node.op, Add) and (found := constant_operand(edit, node)):
            next_name, data = found[0], edit.data(found[1])
            assert data is not None, "a constant was found"
            if data.size not in (1, edit.type(name).size):
                break
            added = data.reshape(-1).astype(np.int64)
        elif isinstance(node.op, Reshape | Cast) and edit.type(node.inputs[0]).dtype in _POSITIONS:
            (next_name,) = node.inputs
        else:
            break
        name = next_name
        steps = [(step, offset + added) for step, offset in steps] + [(name, np.zeros(1, np.int64))]
    return _Terms(name, steps)


def _named(edit: Edit, sums: Sequence[_Terms], offset: Array) -> str:
    """The base and this offset as a vector: a tensor that is there, or a new one."""
    for terms in sums:
        for name, found in terms.steps:
            if edit.type(name).size == offset.size and (np.broadcast_to(found, offset.shape) == offset).all():
                return edit.one(Reshape(offset.shape), name)
    base = sums[0].base
    flat = edit.one(Reshape((edit.type(base).size,)), base)
    return edit.one(Add(), flat, edit.const(offset.astype(edit.type(base).dtype.numpy)))
