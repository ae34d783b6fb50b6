"""int8 for the matrices that are too noisy in int4: those with the most noise for their bytes come first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.core.types import Array, Value
from edgekit.quantize.integers.int8 import Quantized
from edgekit.quantize.measure import Measure, Trial, with_chance
from edgekit.quantize.mixed_precision.noise_sources import by_halves

_MAX_STEPS = 32  # samples, or steps of a sequence, on which the noise of a matrix is measured
_LEAST_GAIN_DB = 0.5  # that a round is to bring
_ROUNDS = 8


@dataclass(frozen=True)
class WeightSearch:
    """`narrow` are the matrices that may be int4, with the numbers that it keeps of them; `made` gives the
    graph with some of them in int8."""

    measure: Measure
    narrow: Mapping[str, Array]
    made: Callable[[Set[str]], Quantized]
    progress: Progress

    @property
    def graph(self) -> Graph:
        return self.measure.graph

    def run(self, plain: Trial, wanted: float, *, with_doubt: bool) -> frozenset[str]:
        """The matrices that need int8 so that the outputs have what is wanted; with doubt, more where other
        samples may have less."""
        found: frozenset[str] = frozenset()
        missing = self._missing(plain, wanted, with_doubt)
        if missing <= 0:
            return found
        noise = self._alone(10 ** (-wanted / 10))
        waiting = sorted(noise, key=lambda name: noise[name] / self.narrow[name].size)
        aim = wanted
        for _ in range(_ROUNDS):
            if not waiting:
                break
            found |= {waiting.pop()}
            while sum(noise[name] for name in waiting) > 10 ** (-aim / 10):
                found |= {waiting.pop()}
            trial = self.measure.trial(self.made(found))
            self.progress(
                f"{len(found)} of {len(self.narrow)} matrices in int8, {self.measure.worst(trial)[0]:.1f} dB"
            )
            missing = self._missing(trial, wanted, with_doubt)
            if missing <= 0:
                break
            aim += max(missing, _LEAST_GAIN_DB)
        return found

    def _missing(self, trial: Trial, wanted: float, with_doubt: bool) -> float:
        """dB at the worst output."""
        quality = self.measure.worst(trial)[0]
        surely = self.measure.surely(trial)[0] if with_doubt else quality
        return with_chance(wanted, quality, surely) - quality

    def _alone(self, wanted: float) -> dict[str, float]:
        """The noise that each matrix causes in int4, all others in floats, as a share of the signal."""
        few = self.measure.on(self.measure.samples[:_MAX_STEPS])

        def noise(names: Sequence[str]) -> float:
            values = {name: Value(self.graph.type(name), self.narrow[name]) for name in names}
            graph = replace(self.graph, values={**self.graph.values, **values})
            return float(few.noises(few.trial(Quantized(graph, same, {}))).sum())

        same = {name: name for name in self.graph.values}
        return by_halves(list(self.narrow), noise, wanted, few.budget, self.progress)
