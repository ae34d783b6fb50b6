"""Calls of public functions with wrong arguments, and what ends in something else than an EdgeKitError."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

import edgekit
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.core.types import Array, DType, Type

X = np.random.default_rng(0).normal(size=(8, 1, 4)).astype(np.float32)


def small() -> Graph:
    """Two layers, of which the first can lose channels."""
    b, random = Builder(), np.random.default_rng(1)
    name = b.input("x", Type(DType.F32, (1, 4)))
    for outputs, inputs, low in ((8, 4, 0.0), (3, 8, -np.inf)):
        shapes = ((outputs, inputs), (outputs,))
        weights = (b.const(random.normal(size=shape).astype(np.float32)) for shape in shapes)
        name = b.one(Dense(low), name, *weights, name=f"layer_{outputs}")
    return b.graph("small", ["x"], [name])


class Odd:
    """An object of a class of the user's own, which answers every question for an array by a failure."""

    def __array__(self, *_: object, **__: object) -> Array:
        raise ValueError("no array")

    def __repr__(self) -> str:
        raise ValueError("no text")


TEXTS = ("", "nonsense", "a\0b", "n" * 5_000, "../..", "ü" * 200, "/", "y.npy", "small.ek", "host", "int8")
NUMBERS = (True, -1, 0, 7, 3.5, float("nan"), float("inf"), 10**30, 1j, np.int64(1), np.float32(2))
ARRAYS = (
    *(X, X[0], X[:0], X[..., :2], X.astype(np.float64), X.astype(str), np.array(None), np.zeros(())),
    *(np.full_like(X, np.nan), np.arange(8), np.arange(8) / 3, np.zeros((2, 2, 2))),
)
LISTS = ([], [1], ["x"], [None], [[1.0], [2.0, 3.0]], [X[0], "x"], [X, X], (X,), (), set(), range(3), {})
DICTS = ({"x": 1}, {1: 2}, {"x": None}, {"x": "y"}, {"y": X}, {"x": X, "z": X}, {"x": [[1]]}, {"x": Odd()})
OBJECTS = (None, b"bytes", object(), Odd(), len, Path("nowhere.onnx"), Path(), small(), edgekit.Effort())
WRONG: list[Any] = [*TEXTS, *NUMBERS, *ARRAYS, *LISTS, *DICTS, *OBJECTS, edgekit.Settings(), map(str, "ab")]
# By a word of an annotation: what is right by its type, and may be wrong otherwise.
NEAR: dict[str, tuple[Any, ...]] = {
    "Inputs": (*ARRAYS, *LISTS, *DICTS, *TEXTS),
    "Model": TEXTS,
    "str": TEXTS,
    "int": NUMBERS,
    "float": NUMBERS,
    "Array": ARRAYS,
    "Sequence": LISTS,
    "Mapping": DICTS,
}


def wrong_calls(
    functions: Sequence[Callable[..., Any]],
    known: Mapping[str, Any],
    count: int,
    more: Mapping[str, Sequence[Any]] | None = None,
    seed: int = 20,
) -> Iterator[tuple[Callable[..., Any], dict[str, Any]]]:
    """Of each call one or two arguments are replaced. `known` has arguments for parameters that need them,
    and `more` values beside NEAR."""
    random = np.random.default_rng(seed)
    near = {**NEAR, **(more or {})}
    for function in islice(cycle(functions), count):
        parameters = {
            name: parameter
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is not parameter.VAR_KEYWORD
        }
        arguments = {name: known[name] for name in parameters if name in known}
        is_near = random.integers(2)
        for name in map(str, random.permutation(list(parameters))[: random.integers(1, 3)]):
            values = [
                value for word in near if word in str(parameters[name].annotation) for value in near[word]
            ]
            choice = values if values and is_near else WRONG
            arguments[name] = choice[random.integers(len(choice))]
        yield function, arguments


def faults_of(calls: Iterator[tuple[Callable[..., Any], dict[str, Any]]]) -> tuple[list[str], int]:
    """What ended in anything but an EdgeKitError, and how many calls were refused by one."""
    faults, refused = [], 0
    for function, arguments in calls:
        try:
            function(**arguments)
        except EdgeKitError as error:
            refused += 1
            if error.exit_code is Exit.BUG or not error.message:
                faults.append(f"{function.__name__}: {error}")
        except Exception as error:  # an unhandled exception: a fault
            shown = {name: type(value).__name__ for name, value in arguments.items()}
            faults.append(f"{function.__name__}({shown}): {type(error).__name__}: {error}")
    return faults, refused
