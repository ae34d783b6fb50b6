"""How many instructions a run takes: estimated from calibrated kernels, or counted in an emulator.

A calibration (benchmarks/calibrate.py) says what a unit of work takes in a kernel, and how far that was off
on layers that had no part in it. Kernels without one are named, and count nothing.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from edgekit.codegen import counting, toolchain
from edgekit.codegen.bench import compiled
from edgekit.codegen.program import Program
from edgekit.codegen.render import Optimize
from edgekit.codegen.work import work
from edgekit.errors import EdgeKitError

FOLDER = Path(str(files("edgekit.targets"))) / "instructions"


@dataclass(frozen=True)
class LayerInstructions:
    """One kernel call."""

    origin: str  # the layer of the source model
    kernel: str
    instructions: int | None  # None: its kernel is not calibrated


@dataclass(frozen=True)
class Instructions:
    """Of one run. `error` is that of the estimate, as a share; 0 where they were counted."""

    layers: tuple[LayerInstructions, ...]
    error: float

    @property
    def total(self) -> int:
        return sum(layer.instructions or 0 for layer in self.layers)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Kernels that nothing is known of."""
        return tuple(dict.fromkeys(x.kernel for x in self.layers if x.instructions is None))


@dataclass(frozen=True)
class Calibration:
    """What a unit of each kind of work takes in a kernel."""

    terms: Mapping[str, float]
    error: float  # the root of the mean square of relative errors


@cache
def calibrations(core: str, optimize: Optimize) -> Mapping[str, Calibration]:
    """By kernel function; none for a processor that was not calibrated. The file of one that takes as many as
    another one names that."""
    path = FOLDER / f"{core}.json"
    if not path.is_file():
        return {}
    content = json.loads(path.read_text(encoding="utf-8"))
    if "like" in content:
        return calibrations(content["like"], optimize)
    known = content.get(optimize, {})
    return {name: Calibration(found["terms"], found["error"]) for name, found in known.items()}


def estimated(program: Program, optimize: Optimize) -> Instructions | None:
    """From what is known of the kernels; None where that is nothing at all."""
    known = calibrations(program.target.core, optimize)
    layers: list[LayerInstructions] = []
    doubt = total = 0.0
    for line, done in work(program):
        found = known.get(line.kernel.function)
        count = sum(factor * done.get(name, 0) for name, factor in found.terms.items()) if found else None
        if found and count is not None:
            # Errors of layers with the same kernel have the same sign as often as not: they add up.
            doubt, total = doubt + count * found.error, total + count
        layers.append(
            LayerInstructions(line.origin, line.kernel.function, None if count is None else round(count))
        )
    if known and (total or not layers):
        return Instructions(tuple(layers), doubt / total if total else 0.0)
    return None


def counted(program: Program, optimize: Optimize) -> Instructions:
    """By running the compiled library in an emulator."""
    target = program.target
    if not counting.can_count(target):
        raise EdgeKitError(
            "E0503", f"instructions of target {target.name} cannot be counted here", hint="see edgekit doctor"
        )
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        executable = compiled(program, Path(folder), toolchain.find(target), optimize)
        functions = counting.layer_functions(program, optimize)
        parts = counting.count(target, executable, functions).parts
    layers = zip(program.lines, parts, strict=True)
    return Instructions(tuple(LayerInstructions(x.origin, x.kernel.function, n) for x, n in layers), 0.0)
