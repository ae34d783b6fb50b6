"""What a unit of work takes in kernels, in instructions: what benchmarks/calibrate.py found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from edgekit.codegen.cost.cost_features import Work
from edgekit.codegen.cost.cost_files import FOLDER, content, kernel_fit
from edgekit.core.target import Optimize

_BESIDE = 0.02  # of an estimate: so much more or less of a kind of work is no other mix


@dataclass(frozen=True)
class Calibration:
    """What a unit of each kind of work takes in a kernel."""

    terms: Mapping[str, float]
    error: float  # the root of the mean square of relative errors
    # Of an estimate, how much each term made up in calibration, at least and at most.
    shares: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def count(self, done: Work) -> float:
        return counted(self.terms, done)

    def is_extrapolated(self, done: Work) -> bool:
        """Is the mix of work one that calibration did not see?"""
        count = self.count(done)
        for name, (least, most) in self.shares.items():
            share = self.terms[name] * done.get(name, 0) / count if count else least
            if not least - _BESIDE <= share <= most + _BESIDE:
                return True
        return False


def counted(terms: Mapping[str, float], done: Work) -> float:
    """Instructions, if a unit of each kind of work takes so many."""
    return sum(factor * done.get(name, 0) for name, factor in terms.items())


@cache
def calibration(core: str, optimize: Optimize, kernel: str) -> Calibration | None:
    """Of one kernel function; None where it was not calibrated."""
    fit = kernel_fit(core, optimize, kernel)
    return _calibration(fit) if fit else None


@cache
def calibrations(core: str, optimize: Optimize) -> Mapping[str, Calibration]:
    """By kernel function; none for a processor that was not calibrated."""
    known = content(core).get("instructions", {}).get(optimize, {})
    return {name: _calibration(fit) for name, fit in known.get("kernels", {}).items()}


def _calibration(fit: Mapping[str, Any]) -> Calibration:
    return Calibration(fit["terms"], fit["error"], fit.get("shares", {}))


def calibrated() -> list[str]:
    """The processors of which something is known, by name."""
    return [
        name for name in sorted(path.stem for path in FOLDER.glob("*.toml")) if calibrations(name, "speed")
    ]
