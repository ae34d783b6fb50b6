"""Cases of operators with a dimension of an operand made another: empty, or of one or two elements.

Which others have to change with it follows from the operator: its `infer` says what fits together.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from ops import cases as families
from support.integer_bench import Bench, Seeded
from support.integer_families import FAMILIES as BASIC
from support.more_integer_families import MORE, recurrent_layers
from support.op_cases import Case, expected

from edgekit.core.ops import Op
from edgekit.core.types import Array, Quant, Type

_DRAWN = 4  # quantized layers of each family
_FEW = 3  # dimensions that are tried together, in all combinations
_GATES = (1, 2, 3, 4)  # recurrent layers have so many rows of weights for each cell
Place = tuple[int, int] | str  # an operand and its dimension, or an attribute


@cache
def all_resized(length: int) -> tuple[Case, ...]:
    """Those of all operators, on plain and on quantized tensors."""
    found: dict[object, Case] = {}
    for base in (*_plain(), *_quantized()):
        for case in resized(base, length):
            found.setdefault((repr(case.op), tuple(case.types), case.constant), case)
    return tuple(found.values())


def _plain() -> Iterator[Case]:
    """The cases of the operators, where several types are stored alike one of them."""
    bases: dict[object, Case] = {}
    for module in pkgutil.iter_modules(families.__path__):
        for case in importlib.import_module(f"ops.cases.{module.name}").CASES:
            kinds = [(x.shape, x.quant is None, x.dtype.is_float) for x in case.types]
            bases.setdefault((repr(case.op), tuple(kinds)), case)
    return iter(bases.values())


def _quantized() -> Iterator[Case]:
    """Layers of integers, some of each family."""
    bench = Bench(Seeded(1))
    for _ in range(_DRAWN):
        for family in (*BASIC, *MORE, recurrent_layers):
            bench.case(family)
    graph = bench.builder.graph("layers", list(bench.inputs), bench.outputs)
    known = {**dict(graph.constants()), **bench.inputs}
    for node in graph.nodes:
        if all(name in known for name in node.inputs):
            operands = tuple(known[name] for name in node.inputs)
            constant = tuple(i for i, name in enumerate(node.inputs) if name not in bench.inputs)
            quants = tuple(graph.type(name).quant for name in node.inputs)
            results = [graph.type(name).quant for name in node.outputs]
            yield Case(node.op, operands, constant=constant, quants=quants, result=results)


def resized(case: Case, length: int) -> Iterator[Case]:
    """The case with each dimension of each operand in turn made so long, with as few others as the operator
    demands. A dimension that cannot be so long gives none."""
    seen = set()
    for operand, type in enumerate(case.types):
        for axis, size in enumerate(type.shape):
            if size <= length or any((operand, axis) in places for places in seen):
                continue
            for places in _around(case, (operand, axis), size, length):
                seen.add(places)
                yield _with(case, places, size, length)


def _around(case: Case, place: Place, size: int, length: int) -> Sequence[frozenset[Place]]:
    """The smallest sets of places around one that the operator accepts."""
    sizes = {(k, axis): n for k, type in enumerate(case.types) for axis, n in enumerate(type.shape)}
    others: list[Place] = [at for at, n in sizes.items() if at != place and n in {k * size for k in _GATES}]
    others += [name for name, row in _numbers(case.op) if size in row]

    def accepts(places: frozenset[Place]) -> bool:
        try:
            _op(case.op, places, size, length).infer(*_types(case, places, size, length))
        except TypeError:
            return False
        return True

    for count in range(_FEW):
        sets = [frozenset((place, *more)) for more in combinations(others, count)]
        if found := [places for places in sets if accepts(places)]:
            return found
    for places in (frozenset((place, *others)), frozenset(at for at in others if sizes.get(at) == size)):  # type: ignore[call-overload]  # attributes have no size
        if accepts(places := places | {place}):
            for at in sorted(places - {place}, key=str):
                places = places - {at} if accepts(places - {at}) else places
            return [places]
    return ()


def _numbers(op: Op) -> list[tuple[str, Sequence[Any]]]:
    """The attributes that are whole numbers, or several."""
    values = [(f.name, getattr(op, f.name)) for f in fields(op)]  # type: ignore[arg-type]  # a dataclass
    rows = [(name, value if isinstance(value, tuple) else (value,)) for name, value in values]
    return [(name, row) for name, row in rows if row and all(type(n) is int for n in row)]


def _op(op: Op, places: frozenset[Place], size: int, length: int) -> Op:
    changed: dict[str, Any] = {}
    for name, row in _numbers(op):
        if name in places:
            now = tuple(length if n == size else n for n in row)
            changed[name] = now if isinstance(getattr(op, name), tuple) else now[0]
    return replace(op, **changed) if changed else op  # type: ignore[type-var]  # a dataclass


def _types(case: Case, places: frozenset[Place], size: int, length: int) -> list[Type]:
    def shape(operand: int, type: Type) -> tuple[int, ...]:
        return tuple(n // size * length if (operand, i) in places else n for i, n in enumerate(type.shape))

    shapes = [shape(operand, type) for operand, type in enumerate(case.types)]
    return [replace(t, shape=s, quant=_cut(t.quant, s)) for t, s in zip(case.types, shapes, strict=True)]


def _cut(quant: Quant | None, shape: Sequence[int]) -> Quant | None:
    if quant is None or quant.axis is None:
        return quant
    n = shape[quant.axis]
    return replace(quant, scale=quant.scale[:n], zero=quant.zero[:n])


def _with(case: Case, places: frozenset[Place], size: int, length: int) -> Case:
    types = _types(case, places, size, length)
    pairs = zip(case.operands, types, strict=True)
    operands = tuple(x[tuple(slice(n) for n in type.shape)].copy() for x, type in pairs)
    quants = tuple(type.quant for type in types) if case.quants else ()
    op, largest = _op(case.op, places, size, length), _largest(case) if case.summed else 0
    made = replace(case, op=op, operands=operands, quants=quants, largest=largest)
    try:
        expected(made)
    except IndexError:  # of what is gone
        return replace(made, operands=tuple(map(_first, operands)))
    return made


@cache
def _largest(case: Case) -> float:
    """Of the results: fewer of them may all be small, and their errors as large as before."""
    return max(float(np.abs(y[np.isfinite(y)].astype(np.float64)).max(initial=0)) for y in expected(case))


def _first(x: Array) -> Array:
    return np.zeros_like(x) if x.dtype.kind == "i" and x.itemsize >= 4 else x
