"""The samples of a calibration: half of them are held out, to judge ranges that the others give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.quantize.calibration.observe import Observer, Statistics
from edgekit.quantize.calibration.sample_batches import Sample

_MAX_HELD, _MAX_KEPT = 64, 128  # samples in memory: held out, and others
JUDGED_EVERY = 4  # of the samples, one of so many has no part in anything but the judgement
_OUTSIDE = 0.1  # of a tensor's power: more beyond what other samples show is worth a warning


def observed(graph: Graph, samples: Sequence[Sample], batch_size: int) -> Mapping[str, Statistics]:
    """What samples show of each tensor."""
    observer = Observer(graph, batch_size)
    for sample in samples:
        observer.add(sample)
    return observer.statistics


def held_out() -> Iterator[bool]:
    """Which samples are held out: the second one, and one of every two that follow, at random but alike in
    each run. Every second sample would be one class of data that take turns."""
    yield from (False, True)
    draws = np.random.default_rng(0)
    while True:
        is_first = bool(draws.integers(2))
        yield from (is_first, not is_first)


def judging(graph: Graph, count: int) -> range:
    """Which of so many samples judge only: every fourth, or all of fewer than four. Of a stream the last
    quarter, since a step is much like the one before."""
    if graph.states:
        return range(count - -(-count // JUDGED_EVERY), count)
    return range(count)[JUDGED_EVERY - 1 :: JUDGED_EVERY] or range(count)


@dataclass(frozen=True)
class CalibrationSamples:
    """Samples that were kept, and what all of them showed."""

    statistics: Mapping[str, Statistics]
    held_statistics: Mapping[str, Statistics]
    kept: Sequence[Sample]
    held: Sequence[Sample]
    count: int
    held_count: int
    batch_size: int  # how many run at once

    @staticmethod
    def of(graph: Graph, samples: Iterable[Sample], progress: Progress) -> CalibrationSamples:
        """One pass. A single sample serves for both."""
        observer, apart = Observer(graph), Observer(graph)
        kept: list[Sample] = []
        held: list[Sample] = []
        total = f" of {len(samples)}" if isinstance(samples, Sized) else ""
        for number, (sample, is_held) in enumerate(zip(samples, held_out(), strict=False), 1):
            progress(f"calibrating, sample {number}{total}")
            if is_held:
                apart.batch_size = observer.batch_size
                apart.add(sample)
                if len(held) < _MAX_HELD:
                    held.append(sample)
            else:
                observer.add(sample)
                if len(kept) < _MAX_KEPT:
                    kept.append(sample)
        if not observer.seen:
            raise EdgeKitError(
                "E0110", "there is no calibration sample", hint="a hundred typical inputs are plenty"
            )
        count, statistics = observer.seen + apart.seen, observer.statistics
        apart.batch_size = observer.batch_size
        batch_size = max(observer.batch_size, 1)
        return CalibrationSamples(
            statistics, apart.statistics, kept, held or kept, count, apart.seen, batch_size
        )

    def together(self) -> dict[str, Statistics]:
        """Of all samples."""
        held = self.held_statistics
        return {name: s + held[name] if name in held else s for name, s in self.statistics.items()}

    @property
    def in_memory(self) -> int:
        """How many there are."""
        return len(self.kept) + len(self.held) * bool(self.held_count)

    def again(self, graph: Graph) -> CalibrationSamples:
        """What the samples in memory show of another form of the graph."""
        held = observed(graph, self.held if self.held_count else [], self.batch_size)
        return replace(self, statistics=observed(graph, self.kept, self.batch_size), held_statistics=held)

    def outside(self) -> list[tuple[str, float]]:
        """Tensors of which one half of the samples has much beyond what the other shows, as a share of its
        power."""
        found = []
        for name, apart in self.held_statistics.items():
            seen = self.statistics[name]
            share = max(apart.share_beyond(seen), seen.share_beyond(apart))
            if share > _OUTSIDE:
                found.append((name, share))
        return found
