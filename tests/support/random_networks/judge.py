"""Judges what EdgeKit makes of a random network, and makes networks that it gets wrong smaller.

The rule. Where nothing is rounded (movements, comparisons, whole numbers) and in integer TFLite files
every bit is that of the other runtime. Elsewhere a result may be off by ROUNDING of the largest
magnitude of its tensor, and by SPREAD times how far results of the other runtime itself lie apart: with
some units of noise in the last place of inputs and of each value on the way (Monte Carlo arithmetic),
and with its optimizations. So a network that amplifies rounding errors is judged by how much it does.
Quantized ONNX files: see quantized_family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from support.random_networks.trial import Recipe, RuntimeRefusalError, Trial, UnfitError

from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

ROUNDING = 1e-5
SPREAD = 10.0

Make = Callable[[Recipe], Trial]


@dataclass(frozen=True)
class Verdict:
    """`wrong` says what differs; `refused` is the error of an importer that does not take the network."""

    wrong: str = ""
    refused: str = ""
    graph: Graph | None = None


def judged(trial: Trial) -> Verdict:
    """The simulator on the imported, simplified graph."""
    try:
        graph = simplify(trial.read())
        verify(graph)
    except EdgeKitError as error:
        return Verdict(refused=str(error).splitlines()[0])
    except Exception as error:  # whatever it is, it is a finding
        return Verdict(wrong=f"{type(error).__name__} at import: {error}")
    try:
        found = simulate.run(graph, named(graph, trial.inputs))
    except Exception as error:
        return Verdict(wrong=f"{type(error).__name__} in the simulator: {error}")
    return Verdict(differences(trial, list(found.values())), graph=graph)


def named(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs by the names that the reader gave them."""
    if set(graph.inputs) <= set(inputs):  # exporters leave out unused inputs
        return {name: inputs[name] for name in graph.inputs}
    return dict(zip(graph.inputs, inputs.values(), strict=True))


def differences(trial: Trial, found: list[Array]) -> str:
    """What is wrong with these outputs; nothing where they are right."""
    truth = trial.truth
    if len(found) != len(truth.outputs):
        return f"{len(found)} outputs instead of {len(truth.outputs)}"
    for i, (mine, right) in enumerate(zip(found, truth.outputs, strict=True)):
        if (mine.shape, mine.dtype) != (right.shape, right.dtype):
            return f"output {i} is {mine.dtype}{list(mine.shape)} instead of {right.dtype}{list(right.shape)}"
        if right.dtype.kind != "f" or truth.exact[i]:
            allowed = trial.slack[i] if trial.slack else 0.0
        else:
            largest = float(np.abs(right).max(initial=0))
            allowed = ROUNDING * largest + SPREAD * truth.spread[i] + (trial.slack[i] if trial.slack else 0.0)
        if (off := distance(mine, right)) > allowed:
            return f"output {i}, {right.dtype}{list(right.shape)}, is {off:.3g} off, {allowed:.3g} allowed"
    return ""


def distance(a: Array, b: Array) -> float:
    """The largest difference; infinite where one is no number and the other is."""
    wide = np.float64 if a.dtype.kind == "f" else np.int64
    with np.errstate(invalid="ignore"):  # infinities of one sign
        off = np.abs(a.astype(wide) - b.astype(wide)).astype(float)
    same = (a == b) | ((a != a) & (b != b))  # not a number
    off = np.where(same, 0.0, np.where(np.isnan(off), np.inf, off))
    return float(off.max(initial=0))


def shrunk(recipe: Recipe, make: Make, is_bad: Callable[[Trial], bool]) -> Recipe:
    """Fewer steps that are still bad: each is left out in turn."""

    def holds(steps: tuple[int, ...]) -> bool:
        try:
            return is_bad(make(Recipe(recipe.family, recipe.seed, steps)))
        except (UnfitError, RuntimeRefusalError):
            return False

    steps = recipe.steps
    while True:
        shorter = next(
            (s for i in reversed(range(len(steps))) if holds(s := steps[:i] + steps[i + 1 :])), None
        )
        if not shorter:
            return Recipe(recipe.family, recipe.seed, steps)
        steps = shorter
