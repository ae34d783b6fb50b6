"""Whatever is given to a public function: it works, or an EdgeKitError refuses it, and nothing else does."""

import inspect
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import edgekit
from edgekit import api
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.core.types import Array, DType, Type

CALLS = 2_000
SETTINGS = (api.Effort, api.Gate, api.Limits, api.Pruning, api.Settings)
FUNCTIONS = [
    f
    for name in api.__all__
    if inspect.isfunction(f := getattr(api, name)) and inspect.signature(f).parameters
]
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


def given(folder: Path) -> dict[str, Any]:
    """Arguments for the parameters that need them, with which functions do something in a short time."""
    edgekit.save(small(), folder / "small.ek")
    np.save(folder / "y.npy", np.arange(8) % 3)
    (folder / "log.txt").write_text("layer_8 10\nlayer_3 20\n")
    arguments = dict.fromkeys(("model", "graph", "a", "b"), small())
    return arguments | {
        "path": "y.npy",
        "log": "log.txt",
        "folder": "made",
        "text": "once",
        "inputs": X,
        "samples": X,
        "labels": np.arange(8) % 3,
        "wanted": edgekit.Pruning(ratio=0.5),
        "limits": edgekit.Limits(),
        "effort": edgekit.Effort(trials=1),
    }


def wrong_calls(known: dict[str, Any], seed: int = 20) -> Iterator[tuple[Callable[..., Any], dict[str, Any]]]:
    """Of each call one or two arguments are replaced."""
    random = np.random.default_rng(seed)
    for function in islice(cycle((*FUNCTIONS, *SETTINGS)), CALLS):
        parameters = {
            name: parameter
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is not parameter.VAR_KEYWORD
        }
        arguments = {name: known[name] for name in parameters if name in known and function in FUNCTIONS}
        is_near = random.integers(2)
        for name in map(str, random.permutation(list(parameters))[: random.integers(1, 3)]):
            near = [
                value for word in NEAR if word in str(parameters[name].annotation) for value in NEAR[word]
            ]
            choice = near if near and is_near else WRONG
            arguments[name] = choice[random.integers(len(choice))]
        yield function, arguments


def test_no_call_ends_with_anything_but_an_edgekit_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    faults, refused = [], 0
    for function, arguments in wrong_calls(given(tmp_path)):
        try:
            function(**arguments)
        except EdgeKitError as error:
            refused += 1
            if error.exit_code is Exit.BUG or not error.message:
                faults.append(f"{function.__name__}: {error}")
        except Exception as error:  # which is what must not happen
            shown = {name: type(value).__name__ for name, value in arguments.items()}
            faults.append(f"{function.__name__}({shown}): {type(error).__name__}: {error}")
    assert not faults, "\n".join(faults)
    assert refused > CALLS // 2


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (lambda: edgekit.build(small(), optimize="fast"), "unknown optimize: fast", "size, speed"),
        (lambda: edgekit.build(small(), cores="2"), "cores is str '2'", "it takes a whole number"),
        (lambda: edgekit.build(small(), package="npm"), "package is str 'npm'", "a sequence of text"),
        (lambda: edgekit.load("a\0b"), "is no path", ""),
        (lambda: edgekit.Effort(trials=1.5), "trials is float 1.5", "it takes a whole number"),  # type: ignore[arg-type]  # wrong
        (lambda: edgekit.Gate(labels="y.npy"), "labels is str 'y.npy'", "an array or None"),  # type: ignore[arg-type]  # wrong
    ],
)
def test_an_error_names_the_argument_and_what_it_takes(
    call: Callable[[], object], message: str, hint: str
) -> None:
    with pytest.raises(EdgeKitError) as found:
        call()
    assert message in found.value.message
    assert hint in found.value.hint


def test_means_may_be_an_array() -> None:
    mean, std = np.array([0.5, 1, 2, 3], np.float32), np.array([2.0] * 4)
    arrays = edgekit.convert(small(), mean=mean, std=std)  # type: ignore[arg-type]  # an array for a list
    lists = edgekit.convert(small(), mean=mean.tolist(), std=std.tolist())
    x = np.arange(4, dtype=np.uint8)[None]
    assert np.array_equal(edgekit.run(arrays, x)["layer_3"], edgekit.run(lists, x)["layer_3"])
