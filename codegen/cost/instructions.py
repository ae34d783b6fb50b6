"""How many instructions a run takes: estimated from calibrated kernels, or counted in an emulator.

A calibration (benchmarks/calibrate.py) says what a unit of work takes in a kernel, and how far that was off
on layers that had no part in it. Held-out networks (benchmarks/reliability/estimates.py) say how far the
sum is off, and what a layer takes whose kernel was not calibrated, roughly. See docs/adr/0051.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.cost import counting
from edgekit.codegen.cost.bench import compiled
from edgekit.codegen.cost.calibrations import Calibration, calibrations
from edgekit.codegen.cost.cost_features import Work, work
from edgekit.codegen.cost.cost_files import IN_NETWORKS, content
from edgekit.codegen.lowering.branches import Guard, Loop, costliest
from edgekit.codegen.program import Program
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Optimize

_MIN_REASON = 0.001  # of a run: what adds less to the error is not worth a word
_MIN_ERROR = 0.01  # of a kernel, however well its calibration fits


@dataclass(frozen=True)
class LayerInstructions:
    """One kernel call."""

    origin: str  # the layer of the source model
    kernel: str
    instructions: int | None  # None: its kernel is not calibrated, and not even a rough guess is known
    is_calibrated: bool = True
    is_extrapolated: bool = False  # work of a kind that calibration hardly saw
    guards: tuple[Guard | Loop, ...] = ()  # branches and loops that it is within


@dataclass(frozen=True)
class Instructions:
    """Of one run. `error` is that of the estimate, as a share; 0 where they were counted. `from_unknown` and
    `from_extrapolated` are the parts of it that layers add which are not calibrated, or not in such a mix."""

    layers: tuple[LayerInstructions, ...]
    error: float
    from_unknown: float = 0.0
    from_extrapolated: float = 0.0

    @property
    def total(self) -> int:
        """Of branches the more expensive sides."""
        costs = [layer.instructions or 0 for layer in self.layers]
        return int(costliest(costs, [layer.guards for layer in self.layers]))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Kernels that nothing is known of."""
        return tuple(dict.fromkeys(x.kernel for x in self.layers if not x.is_calibrated))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the error is larger than that of the calibrated layers, in words."""
        unknown = sum(not x.is_calibrated for x in self.layers)
        extrapolated = sum(x.is_extrapolated for x in self.layers)
        parts = (
            (unknown, "not calibrated", self.from_unknown),
            (extrapolated, "outside of the calibrated range", self.from_extrapolated),
        )
        return tuple(
            f"{count} {'layer is' if count == 1 else 'layers are'} {what}: ±{share:.1%}"
            for count, what, share in parts
            if count and share >= _MIN_REASON
        )


@dataclass(frozen=True)
class HeldOut:
    """What networks say that had no part in the calibration of a target: by which factor the errors of layers
    are too small for all of these networks, and what a layer takes of which nothing else is known."""

    networks: int
    factor: float
    terms: Mapping[str, float]
    error: float  # of such a layer, as a share
    kernels: Mapping[str, float] = field(
        default_factory=dict
    )  # errors, where they are above those of the fit


@cache
def held_out(core: str, optimize: Optimize) -> HeldOut | None:
    """None where no networks were counted. What they say of code for speed goes for code for size, too, where
    nothing else is known: most of it is that no kernel is calibrated, and guesses are rough."""
    parts = content(core).get("instructions", {})
    found = next((parts[key] for key in (optimize, "speed") if "networks" in parts.get(key, {})), None)
    if not found:
        return None
    errors = {name: fit[IN_NETWORKS] for name, fit in found["kernels"].items() if IN_NETWORKS in fit}
    return HeldOut(**found["networks"], kernels=errors)


@dataclass(frozen=True)
class InstructionSum:
    """Of some kernel calls: what each takes, None where nothing is known, and how far off the sum may be."""

    counts: tuple[float | None, ...]
    is_extrapolated: tuple[bool, ...]
    total: float
    from_kernels: float  # shares of the total
    from_unknown: float
    from_extrapolated: float

    @property
    def error(self) -> float:
        return self.from_kernels + self.from_unknown + self.from_extrapolated


def summed(
    calls: Sequence[tuple[str, Work]], known: Mapping[str, Calibration], whole: HeldOut | None
) -> InstructionSum:
    """Kernels with their work. Errors of layers with the same kernel have the same sign as often as not: they
    add up. An extrapolated layer counts its error twice, one that is not calibrated that of guesses."""
    rough = Calibration(whole.terms, whole.error) if whole else None
    seen = whole.kernels if whole else {}
    counts: list[float | None] = []
    extrapolated: list[bool] = []
    sure = doubt = beyond = guessed = 0.0
    for kernel, done in calls:
        source = known.get(kernel, rough)
        count = source.count(done) if source else None
        counts.append(count)
        extrapolated.append(kernel in known and known[kernel].is_extrapolated(done))
        if count is not None and kernel in known:
            error = max(known[kernel].error, seen.get(kernel, 0.0))
            sure, doubt = sure + count, doubt + count * error
            beyond += count * max(error, _MIN_ERROR) * extrapolated[-1]
        elif count is not None and rough:
            guessed += count * rough.error
    total = sum(count or 0.0 for count in counts)
    if whole:
        doubt, beyond = whole.factor * max(doubt, _MIN_ERROR * sure), whole.factor * beyond
    parts = [part / total if total else 0.0 for part in (doubt, guessed, beyond)]
    return InstructionSum(tuple(counts), tuple(extrapolated), total, *parts)


def estimated(program: Program, optimize: Optimize) -> Instructions | None:
    """From what is known of the kernels; None where that is nothing at all."""
    core = program.target.core
    known = calibrations(core, optimize)
    if not known:
        return None
    calls = [(line, done) for line, done in work(program)]
    found = summed([(line.kernel.function, done) for line, done in calls], known, held_out(core, optimize))
    if calls and not any(line.kernel.function in known for line, _ in calls):
        return None
    layers = tuple(
        LayerInstructions(
            line.origin,
            line.kernel.function,
            None if count is None else round(count),
            line.kernel.function in known,
            is_extrapolated,
            line.guards,
        )
        for (line, _), count, is_extrapolated in zip(calls, found.counts, found.is_extrapolated, strict=True)
    )
    return Instructions(layers, found.error, found.from_unknown, found.from_extrapolated)


def counted(program: Program, optimize: Optimize, *, by_registers: bool = False) -> Instructions:
    """By running the compiled library in an emulator."""
    target = program.target
    if control := next((line.origin for line in program.lines if line.guards), None):
        raise EdgeKitError(
            "E0503",
            "a run takes one path through branches and loops: what is counted says nothing of the others",
            f"node {control}",
            "without counting, estimates are of the most expensive path",
        )
    if not counting.can_count(target):
        raise EdgeKitError(
            "E0503", f"instructions of target {target.name} cannot be counted here", hint="see edgekit doctor"
        )
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        executable = compiled(program, Path(folder), toolchain.find(target), optimize)
        functions = counting.entered(program, optimize)
        parts = counting.count(target, executable, functions, by_registers=by_registers).parts
    totals = dict.fromkeys((line.c for line in program.lines), 0)
    for line, part in zip(program.executed, parts, strict=True):
        totals[line.c] += part
    layers = [(line, totals[line.c]) for line in program.lines]
    return Instructions(
        tuple(LayerInstructions(x.origin, x.kernel.function, n, guards=x.guards) for x, n in layers), 0.0
    )
