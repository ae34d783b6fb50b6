"""A device's own times of layers beside the estimate: which layers are slower there than they should be."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from edgekit.codegen.library_map import LibraryMap
from edgekit.core.target import Target
from edgekit.profiling.layer_log import LayerLog

_SECONDS = {"us": 1e-6, "ms": 1e-3, "ns": 1e-9}


@dataclass(frozen=True)
class ProfiledLayer:
    """A layer on the device. What is of the library is empty where only a log is known."""

    name: str
    origin: str
    kernel: str
    macs: int | None
    measured: float  # median of the runs
    share: float
    estimated: int | None  # instructions
    estimated_share: float | None

    @property
    def ratio(self) -> float | None:
        """How much larger its share is than estimated: 2 is twice as slow as the other layers suggest."""
        return self.share / self.estimated_share if self.estimated_share else None


@dataclass(frozen=True)
class Profile:
    """Runs on a device."""

    name: str  # of the library; empty where only a log is known
    target: str
    log: str
    unit: str
    runs: int
    dropped: int  # runs that lack layers
    median: float  # of the sums of runs
    least: float
    most: float
    milliseconds: float | None
    estimated: int | None  # instructions of a run
    layers: tuple[ProfiledLayer, ...]

    @property
    def per_instruction(self) -> float | None:
        """Units of the log for an estimated instruction: cycles per instruction, mostly."""
        return self.median / self.estimated if self.estimated else None


def profile(log: LayerLog, file: str, unit: str, found: LibraryMap | None, target: Target | None) -> Profile:
    """What the log says, beside the map of the library, if that is known."""
    medians = [log.median(name) for name in log.names]
    total = sum(medians) or 1.0
    run = found.run if found else None
    counts = [layer.instructions for layer in run.layers] if run else [None] * len(medians)
    estimated = sum(count or 0 for count in counts)
    layers = []
    for i, (name, value, count) in enumerate(zip(log.names, medians, counts, strict=True)):
        layer = found.layers[i] if found else None
        layers.append(
            ProfiledLayer(
                name,
                layer.origin if layer else "",
                layer.kernel if layer else "",
                layer.macs if layer else None,
                value,
                value / total,
                count,
                count / estimated if count is not None and estimated else None,
            )
        )
    unit = log.unit or unit
    median = statistics.median(log.totals)
    seconds = _SECONDS.get(unit, 1 / target.clock if unit == "cycles" and target and target.clock else None)
    return Profile(
        name=found.name if found else "",
        target=target.name if found and target else "",
        log=file,
        unit=unit,
        runs=len(log.runs),
        dropped=log.dropped,
        median=median,
        least=min(log.totals),
        most=max(log.totals),
        milliseconds=None if seconds is None else 1e3 * median * seconds,
        estimated=estimated or None,
        layers=tuple(layers),
    )
