"""What calibration knows of the tensors of a graph: ranges by each method, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from edgekit.core.ir import Graph
from edgekit.core.passes.channels import ranges
from edgekit.core.types import Array, DType, Quant
from edgekit.quantize.calibration.function_ranges import (
    applied,
    giving_function,
    least_error_behind,
    reading_function,
)
from edgekit.quantize.calibration.observe import RANGES, Range, Statistics, extremes, far, minmax
from edgekit.quantize.calibration.scales import scales
from edgekit.quantize.calibration.search_budget import FUNCTION_RANGE_WORK, RANGE_WORK, SearchBudget
from edgekit.quantize.integers.int8 import Quantized, Weights, quantize
from edgekit.quantize.mixed_precision.formats import Formats, wide_anyway
from edgekit.quantize.mixed_precision.int16_outputs import int16_outputs
from edgekit.quantize.mixed_precision.mixed_range_concat import NO_MIXED_RANGE, MixedRangeConcats

EXTREMES = "extremes"
# Besides the methods that have names, trials clip what was seen to a share of it, or leave room for more.
_SHARES = (0.95, 0.9, 0.8, 0.65)
HEADROOM = (EXTREMES, "120%", "150%", "200%")  # for all tensors alike, where there are few samples
WIDE = "wide"  # of 16 bits, some are to spare: what lies beyond all that was seen is not clipped at once
_INT8 = Formats()
Pick = Callable[[Statistics], Range]


def _clipped(share: float) -> Pick:
    def pick(s: Statistics) -> Range:
        low, high = minmax(s)
        return low * share, high * share

    return pick


PICKS: Mapping[str, Pick] = {
    **RANGES,
    EXTREMES: extremes,
    **{f"{share:.0%}": _clipped(share) for share in (2.0, 1.5, 1.2, *_SHARES)},
}


@dataclass(frozen=True)
class GivenFormats:
    """Formats that are settled before any is searched."""

    weights: Mapping[str, DType] = field(default_factory=dict)  # that are not int8, by layer
    has_int16_outputs: bool = False  # in 16 bits, where dense layers give outputs that leave as floats


@dataclass(frozen=True)
class CalibratedTensors:
    """What calibration knows of the tensors of a graph."""

    graph: Graph
    statistics: Mapping[str, Statistics]
    means: Mapping[str, Array]
    weights: Weights
    given: GivenFormats
    wide: frozenset[str]  # tensors that are int16 in any case
    fractional: frozenset[str]  # outputs in parts of the steps of int8, where no format is asked for
    concats: MixedRangeConcats
    budget: SearchBudget = field(default_factory=SearchBudget)  # pays for ranges
    _ranges: dict[tuple[str, str], Range] = field(default_factory=dict)  # some methods take a while

    @staticmethod
    def of(
        graph: Graph,
        statistics: Mapping[str, Statistics],
        given: GivenFormats | None = None,
        concats: MixedRangeConcats = NO_MIXED_RANGE,
        budget: SearchBudget | None = None,
    ) -> CalibratedTensors:
        given, budget = given or GivenFormats(), budget or SearchBudget()
        means = {name: s.means for name, s in statistics.items()}
        fractional = (
            int16_outputs(graph, concats, given.weights) if given.has_int16_outputs else frozenset[str]()
        )
        wide = wide_anyway(graph)
        return CalibratedTensors(graph, statistics, means, {}, given, wide, fractional, concats, budget)

    def range(self, name: str, method: str) -> Range:
        """Of a tensor, by a method: not beyond what the graph can compute."""
        if (name, method) not in self._ranges:
            seen = self.statistics[name]
            low, high = self._picked(name, method)
            least, most = self._limits[name]
            self._ranges[name, method] = max(low, min(least, seen.low)), min(high, max(most, seen.high))
        return self._ranges[name, method]

    def _picked(self, name: str, method: str) -> Range:
        """What a method makes of what was seen. Where there is room for more and a function is applied to the
        tensor, its result counts; that of a rising or falling one has room for what it makes of the ends."""
        seen = self.statistics[name]
        if method not in (EXTREMES, WIDE):
            self.budget.pay(RANGE_WORK.get(method, 0.0))
            return PICKS[method](seen)
        if (function := reading_function(self.graph, name)) and method == EXTREMES:
            self.budget.pay(FUNCTION_RANGE_WORK)
            return least_error_behind(seen, applied(function))
        if function := giving_function(self.graph, name):
            ends = np.array(self.range(function.inputs[0], method))
            low, high = sorted(applied(function)(ends).tolist())
            if math.isfinite(high - low):
                return low, high
        return extremes(seen) if method == EXTREMES else far(seen)

    @cached_property
    def _limits(self) -> Mapping[str, Range]:
        """What is proven of each tensor, whatever the inputs are."""
        proven = ranges(self.graph, self.statistics)
        return {
            name: (float(proven[name].lo.min()), float(proven[name].hi.max())) for name in self.statistics
        }

    def quants(self, methods: Mapping[str, str]) -> dict[str, Quant]:
        """The scale of each tensor."""
        ranges = {name: self.range(name, method) for name, method in methods.items()}
        return scales(self.graph, ranges, self.concats.mixed_range)

    def quantized(self, methods: Mapping[str, str], formats: Formats = _INT8) -> Quantized:
        wide, real = formats.wide | self.wide, formats.real | self.concats.real
        quants = self.quants({name: WIDE if name in wide else m for name, m in methods.items()})
        weights = {**self.given.weights, **formats.weights}
        formats = replace(formats, wide=wide, fractional=self.fractional - wide, real=real, weights=weights)
        return quantize(self.graph, quants, self.means, weights=self.weights, formats=formats)
