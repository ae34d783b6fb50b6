"""Seeded ways to damage TFLite models of one operator: in what they say, and in their bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
from support.mutants import BYTES, FLOATS, NUMBERS
from support.tflite_writer import Operator, Tensor, model

_DTYPES = ("float32", "int32", "uint8", "int64", "bool", "int16", "int8", "float16")
_SMALL = [n for n in NUMBERS if -(1 << 31) <= n < 1 << 31]


def mutant(seed: int, makers: Mapping[str, Callable[[np.random.Generator], Operator]]) -> tuple[str, bytes]:
    """A damaged model, and how it came to be."""
    rng = Random(seed)
    kind = rng.choice(sorted(makers))
    op = makers[kind](np.random.default_rng(seed))
    if seed % 4 == 0:
        how = rng.choice(BYTES)
        return f"{seed}: {kind}, {how.__name__}", how(model(op), rng)
    done = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        change = rng.choice(CHANGES)
        changed = change(op, rng)
        op = changed if _writable(changed) else op
        done.append(change.__name__)
    return f"{seed}: {kind}, {', '.join(done)}", model(op)


def _writable(op: Operator) -> bool:
    """Does the writer manage to say it? Some numbers do not fit the fields of the format."""
    try:
        model(op)
    except Exception:
        return False
    return True


def _with_tensor(op: Operator, rng: Random, change: Callable[[Tensor], Tensor]) -> Operator:
    operands, results = list(op.inputs), list(op.outputs)
    side: list[Any] = rng.choice([operands, operands, results])
    at = rng.randrange(len(side)) if side else 0
    if side and side[at] is not None:
        side[at] = change(side[at])
    return replace(op, inputs=operands, outputs=results)


def change_option(op: Operator, rng: Random) -> Operator:
    names = sorted(op.values)
    if not names:
        return op
    name = rng.choice(names)
    new: Any = rng.choice(FLOATS) if isinstance(op.values[name], float) else rng.choice(_SMALL)
    return replace(op, values={**op.values, name: new})


def change_shape(op: Operator, rng: Random) -> Operator:
    def change(t: Tensor) -> Tensor:
        shape = list(t.shape) or [1]
        shape[rng.randrange(len(shape))] = rng.choice(_SMALL)
        return replace(t, shape=tuple(shape[: rng.choice([len(shape), len(shape), len(shape) - 1])]))

    return _with_tensor(op, rng, change)


def change_type(op: Operator, rng: Random) -> Operator:
    return _with_tensor(op, rng, lambda t: replace(t, dtype=rng.choice(_DTYPES)))


def change_scale(op: Operator, rng: Random) -> Operator:
    def change(t: Tensor) -> Tensor:
        scale: Sequence[float] = [rng.choice([*FLOATS, 1e-30, 1e30, 1.0]) for _ in t.scale or [1]]
        return replace(t, scale=scale, zero=[rng.choice([0, 0, -128, 127, 128, 1 << 40]) for _ in scale])

    return _with_tensor(op, rng, change)


def change_axis(op: Operator, rng: Random) -> Operator:
    return _with_tensor(op, rng, lambda t: replace(t, axis=rng.choice([-1, 0, 1, 3, 9])))


def more_scales(op: Operator, rng: Random) -> Operator:
    return _with_tensor(
        op, rng, lambda t: replace(t, scale=[*t.scale, 0.5], zero=[*t.zero, *[0] * rng.randint(0, 2)])
    )


def change_data(op: Operator, rng: Random) -> Operator:
    def change(t: Tensor) -> Tensor:
        if t.data is None or t.data.dtype.kind not in "if":
            return t
        flat = t.data.reshape(-1).copy()
        kind = rng.randrange(3)
        if kind == 0 and flat.size:
            numbers = (
                FLOATS
                if flat.dtype.kind == "f"
                else [n for n in _SMALL if abs(n) <= np.iinfo(flat.dtype).max]
            )
            flat[rng.randrange(flat.size)] = rng.choice(numbers)
            return replace(t, data=flat)
        return replace(t, data=flat[:-1] if kind == 1 else np.append(flat, flat[:1]))

    return _with_tensor(op, rng, change)


def toggle_data(op: Operator, rng: Random) -> Operator:
    """A constant becomes an input, an input a constant of zeros."""

    def change(t: Tensor) -> Tensor:
        if t.data is not None:
            return replace(t, data=None)
        return replace(t, data=np.zeros(t.shape, t.dtype)) if all(0 <= n < 100 for n in t.shape) else t

    return _with_tensor(op, rng, change)


def change_operands(op: Operator, rng: Random) -> Operator:
    inputs = list(op.inputs)
    kind = rng.randrange(4)
    if kind == 0 and inputs:
        del inputs[rng.randrange(len(inputs))]
    elif kind == 1 and inputs:
        inputs[rng.randrange(len(inputs))] = None
    elif kind == 2 and (op.inputs or op.outputs):
        inputs.append(rng.choice([*op.inputs, *op.outputs]))
    else:
        rng.shuffle(inputs)
    return replace(op, inputs=inputs)


def change_results(op: Operator, rng: Random) -> Operator:
    return replace(op, outputs=rng.choice([[], [*op.outputs, *op.outputs], op.outputs[:-1]]))


def change_operator(op: Operator, rng: Random) -> Operator:
    kinds = [
        "ADD",
        "CONV_2D",
        "FULLY_CONNECTED",
        "MEAN",
        "SOFTMAX",
        "STRIDED_SLICE",
        "PACK",
        "RANGE",
        "FILL",
        "WHILE",
    ]
    return replace(op, kind=rng.choice(kinds))


CHANGES: list[Callable[[Operator, Random], Operator]] = [
    change_option,
    change_option,
    change_shape,
    change_shape,
    change_type,
    change_scale,
    change_scale,
    change_axis,
    more_scales,
    change_data,
    change_data,
    toggle_data,
    change_operands,
    change_results,
    change_operator,
]
