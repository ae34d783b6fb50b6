"""A random network of one family: the file or module, its inputs, what another runtime computes from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from edgekit.core.ir import Graph
from edgekit.core.types import Array

STEPS = 10
MAX_ELEMENTS = 3000  # of a value: networks are many, and small
MAX_MAGNITUDE = 300.0
NOISE = 2.0**-22  # relative: four units in the last place of a float


class UnfitError(Exception):
    """A step that fits none of the values so far; it is left out."""


class RuntimeRefusalError(Exception):
    """The other runtime, or its exporter, does not take a network."""


@dataclass(frozen=True)
class Recipe:
    """How a network is made again: the same steps give the same network."""

    family: str
    seed: int
    steps: tuple[int, ...]

    def __str__(self) -> str:
        steps = ",".join(map(str, self.steps))
        return f"{self.family}:{self.seed}:{steps}"

    @classmethod
    def parse(cls, text: str) -> Recipe:
        family, seed, steps = text.split(":")
        return cls(family, int(seed), tuple(int(step) for step in steps.split(",")))


@dataclass(frozen=True)
class Truth:
    """What the other runtime computes. `spread` is for each output how far results lie apart that are equally
    right: with noise in the last places of each value, with optimizations and without."""

    outputs: Sequence[Array]
    spread: Sequence[float]
    exact: Sequence[bool]  # nothing is rounded: equal bits are expected


@dataclass(frozen=True)
class Trial:
    recipe: Recipe
    operators: frozenset[str]
    inputs: Mapping[str, Array]  # in the order of the model
    truth: Truth
    read: Callable[[], Graph]  # the graph as it is imported, not simplified
    slack: Sequence[float] = field(
        default=()
    )  # for quantized files: a unit of each output, several layers deep


def noisy(values: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """Inputs with noise in the last places of floats: operators that cancel amplify it."""
    rng = np.random.default_rng(seed)
    return {
        name: (x * (1 + rng.uniform(-NOISE, NOISE, x.shape))).astype(x.dtype) if x.dtype.kind == "f" else x
        for name, x in values.items()
    }


def spread(right: Sequence[Array], others: Sequence[Sequence[Array]]) -> list[float]:
    """The largest difference of each output."""
    return [
        max((float(np.abs(y.astype(float) - o[i].astype(float)).max(initial=0)) for o in others), default=0.0)
        for i, y in enumerate(right)
    ]
