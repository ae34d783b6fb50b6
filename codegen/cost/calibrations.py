"""What a unit of work takes in kernels, in instructions: what benchmarks/calibrate.py found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from edgekit.codegen.cost.cost_features import Work

_BESIDE = 0.02  # of an estimate: so much more or less of a kind of work is no other mix

FOLDER = Path(str(files("edgekit.targets"))) / "instructions"


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
def content(core: str) -> dict[str, Any]:
    """The file of a processor, or of the one that takes as many; empty without."""
    path = FOLDER / f"{core}.json"
    if not path.is_file():
        return {}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content(found["like"]) if "like" in found else found


@cache
def calibrations(core: str, optimize: Literal["size", "speed"]) -> Mapping[str, Calibration]:
    """By kernel function; none for a processor that was not calibrated. The file of one that takes as many as
    another one names that."""
    return {
        name: Calibration(found["terms"], found["error"], found.get("shares", {}))
        for name, found in content(core).get(optimize, {}).items()
    }
