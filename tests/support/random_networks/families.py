"""The families of random networks, how many there are of each, and what becomes of a block of them."""

from __future__ import annotations

import importlib
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from support.random_networks.judge import Verdict, differences, judged, named, shrunk
from support.random_networks.trial import STEPS, Recipe, RuntimeRefusalError, Trial, UnfitError

from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target
from edgekit.core.errors import EdgeKitError
from edgekit.onnx_backend import compile_programs

_FAST = ("-O0", "-w")  # each program runs once


@dataclass(frozen=True)
class Family:
    """`make` is imported when it is used: torch is heavy. `share` is in thousandths of all networks; of
    `refused` thousandths an importer may say that it does not take them."""

    words: str
    make: str
    share: int
    refused: int


FAMILIES = {
    "onnx": Family("ONNX, against ONNX Runtime", "onnx_family.make", 320, 10),
    "rare": Family("ONNX of rare forms, against ONNX Runtime", "onnx_family.make", 100, 30),
    "qdq": Family("quantized ONNX, against ONNX Runtime", "quantized_family.make", 80, 10),
    "int8": Family("TFLite with integers, against LiteRT", "tflite_family.integers", 250, 10),
    "real": Family("TFLite with floats, against LiteRT", "tflite_family.reals", 170, 10),
    "tonnx": Family("ONNX exported by torch.onnx, against torch", "torch_family.onnx_files", 40, 30),
    "torch": Family("torch.export, against torch", "torch_family.programs", 40, 30),
}


def make(recipe: Recipe) -> Trial:
    module, _, function = FAMILIES[recipe.family].make.partition(".")
    made: Trial = getattr(importlib.import_module(f"support.random_networks.{module}"), function)(recipe)
    return made


def whole(family: str, seed: int) -> Recipe:
    return Recipe(family, seed, tuple(range(STEPS)))


@dataclass
class Block:
    """What became of some networks of one family."""

    family: str
    first: int
    networks: int = 0
    compiled: int = 0
    unfit: int = 0  # the other runtime does not take them, either
    operators: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)  # recipe: the error
    wrong: dict[str, str] = field(default_factory=dict)  # recipe: what differs

    def record(self) -> dict[str, Any]:
        return asdict(self)


def run(family: str, seeds: Sequence[int], compiled: int = 0, wanted: int | None = None) -> Block:
    """Judge the networks of these seeds in the simulator, the first `compiled` also in C. With `wanted`,
    seeds are drawn until there are as many networks that the other runtime takes."""
    block = Block(family, seeds[0])
    counts: Counter[str] = Counter()
    sample: list[tuple[Trial, Verdict]] = []
    for seed in seeds:
        if block.networks == wanted:
            break
        recipe = whole(family, seed)
        try:
            trial = make(recipe)
        except (UnfitError, RuntimeRefusalError):
            block.unfit += 1
            continue
        block.networks += 1
        counts.update(trial.operators)
        verdict = judged(trial)
        if verdict.refused:
            block.refused[str(recipe)] = verdict.refused
        elif verdict.wrong:
            smaller = smallest(recipe)
            block.wrong[str(smaller)] = judged(make(smaller)).wrong
        elif len(sample) < compiled and verdict.graph is not None and not verdict.graph.states:
            sample.append((trial, verdict))
    block.operators = dict(counts)
    block.compiled = len(sample)
    block.wrong |= wrong_in_c(sample)
    return block


def smallest(recipe: Recipe) -> Recipe:
    """The fewest steps with which a network is still wrong."""
    return shrunk(recipe, make, lambda trial: bool(judged(trial).wrong))


def wrong_in_c(sample: Sequence[tuple[Trial, Verdict]]) -> dict[str, str]:
    """The same networks in C, all in one executable, against the same truth."""
    host = target.load("host")
    wrong: dict[str, str] = {}
    programs: dict[str, tuple[Trial, Program]] = {}
    for i, (trial, verdict) in enumerate(sample):
        assert verdict.graph is not None
        try:
            programs[f"net{i}"] = trial, compile_graph(verdict.graph.with_name(f"net{i}"), host)
        except EdgeKitError as error:
            wrong[str(trial.recipe)] = f"no C: {error}"
    if not programs:
        return wrong
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        every = [program for _, program in programs.values()]
        driver, errors = compile_programs(every, Path(folder), "size", _FAST)
        for name, (trial, program) in programs.items():
            if name in errors:
                wrong[str(trial.recipe)] = f"C does not compile: {errors[name]}"
                continue
            found = driver.run(program, named(program.graph, trial.inputs))
            if words := differences(trial, [found[port] for port in program.graph.outputs]):
                wrong[str(trial.recipe)] = f"in C, {words}"
    return wrong
