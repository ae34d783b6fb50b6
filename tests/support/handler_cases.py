"""Cases of single operators of readers: a handler alone, against numpy or torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from support.tools import require_module

from edgekit.converters.frontend import handlers, tensors
from edgekit.converters.tensor import Tensor
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.types import Array, type_of


def rand(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


X, Y = rand(2, 3, 4), rand(2, 3, 4, seed=1)
ROWS, IMAGE = rand(3, 5), rand(2, 4, 3, 6)
POSITIVE = np.abs(X) + np.float32(0.1)
MASK = X > 0
PLACES = np.array([[1, 0], [2, 1]], np.int32)
FLOATS = np.array([[-1, 0, 7], [2, 1, 3]], np.float32)  # places, as MXNet has them
COLUMN = rand(4, seed=2)


@dataclass(frozen=True)
class Known:
    """An operand that the file holds."""

    data: Array


@dataclass(frozen=True)
class Case:
    kind: str
    operands: tuple[Any, ...]  # arrays are inputs, lists of them several; other things are settings
    settings: dict[str, Any]
    expected: Any  # an array, or several

    def __str__(self) -> str:
        return f"{self.kind}-{','.join(map(str, self.settings.values()))}"[:60]


def case(kind: str, *operands: Any, expected: Any, **settings: Any) -> Case:
    return Case(kind, operands, settings, expected)


def computed(package: ModuleType, case: Case) -> list[Array]:
    """What a handler makes of operands."""
    builder = Builder()
    inputs: dict[str, Array] = {}

    def placed(given: Any) -> Any:
        if isinstance(given, Known):
            return Tensor(builder, builder.const(given.data))
        if isinstance(given, np.ndarray):
            inputs[builder.input(f"x{len(inputs)}", type_of(given))] = given
            return Tensor(builder, list(inputs)[-1])
        return [placed(part) for part in given] if isinstance(given, list) else given

    settings = {key: placed(part) for key, part in case.settings.items()}
    made = handlers(package)[case.kind](*map(placed, case.operands), **settings)
    several = (each if isinstance(each, list) else [each] for each in tensors(made))
    given = [t for part in several for t in part if t is not None]
    names = [t.name if isinstance(t, Tensor) else builder.const(np.asarray(t)) for t in given]
    found = simulate.run(builder.graph("net", list(inputs), list(dict.fromkeys(names))), inputs)
    return [found[name] for name in names]


def check(package: ModuleType, case: Case) -> None:
    found = computed(package, case)
    expected = case.expected() if callable(case.expected) else case.expected
    wanted: Sequence[Array] = expected if isinstance(expected, list | tuple) else [expected]
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert (one.shape, one.dtype.kind) == (np.shape(other), np.asarray(other).dtype.kind)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def of_torch(function: str, *operands: Any, **settings: Any) -> Callable[[], Array]:
    """A function of torch.nn.functional, or of torch."""

    def result() -> Array:
        torch = require_module("torch")
        given = [torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in operands]
        named = {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in settings.items()}
        of = torch.nn.functional if hasattr(torch.nn.functional, function) else torch
        found: Array = getattr(of, function)(*given, **named).numpy()
        return found

    return result


def normalized(x: Array, shape: tuple[int, ...]) -> Array:
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def softmax(x: Array, axis: int) -> Array:
    y = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(y / y.sum(axis, keepdims=True))


def slid(x: Array, size: int) -> Array:
    """Sums of squares of so many channels around each."""
    half = size // 2
    wide = np.pad(x * x, ((0, 0), (half, half), (0, 0), (0, 0)))
    return sum(wide[:, i : i + x.shape[1]] for i in range(size))  # type: ignore[return-value]
