"""Ranges by trial: for each group of tensors the candidate that leaves the least noise in the outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.core.types import Array, DType
from edgekit.quantize.calibration.observe import RANGES, Range, Statistics, minmax
from edgekit.quantize.calibration.scales import given, scales, tied
from edgekit.quantize.integers.int8 import Quantized, Weights, quantize
from edgekit.quantize.measure import Measure, Trial
from edgekit.quantize.mixed_precision.formats import Formats, wide_anyway
from edgekit.quantize.mixed_precision.mixed_range_concat import NO_MIXED_RANGE, MixedRangeConcats

_GAIN_DB = 0.02  # less is chance
# Besides the methods that have names, trials clip all that was seen to a share of it.
_SHARES = (0.95, 0.9, 0.8, 0.65)
_INT8 = Formats()
Pick = Callable[[Statistics], Range]


def _clipped(share: float) -> Pick:
    def pick(s: Statistics) -> Range:
        low, high = minmax(s)
        return low * share, high * share

    return pick


PICKS: Mapping[str, Pick] = {**RANGES, **{f"{share:.0%}": _clipped(share) for share in _SHARES}}


@dataclass(frozen=True)
class CalibratedTensors:
    """What calibration knows of the tensors of a graph."""

    graph: Graph
    ranges: Mapping[str, Mapping[str, Range]]  # by method, then by name
    means: Mapping[str, Array]
    weights: Weights
    given_weights: Mapping[str, DType]  # the formats of weights that are not int8, by layer
    wide: frozenset[str]  # tensors that are int16 in any case
    concats: MixedRangeConcats

    @staticmethod
    def of(
        graph: Graph,
        statistics: Mapping[str, Statistics],
        given_weights: Mapping[str, DType] | None = None,
        concats: MixedRangeConcats = NO_MIXED_RANGE,
    ) -> CalibratedTensors:
        ranges = {
            method: {name: pick(seen) for name, seen in statistics.items()} for method, pick in PICKS.items()
        }
        means = {name: s.means for name, s in statistics.items()}
        return CalibratedTensors(graph, ranges, means, {}, given_weights or {}, wide_anyway(graph), concats)

    def quantized(self, methods: Mapping[str, str], formats: Formats = _INT8) -> Quantized:
        formats = replace(formats, wide=formats.wide | self.wide, real=formats.real | self.concats.real)
        # What has 16 bits needs no clipping.
        methods = {name: "minmax" if name in formats.wide else m for name, m in methods.items()}
        ranges = {name: self.ranges[m][name] for name, m in methods.items()}
        quants = scales(self.graph, ranges, self.concats.mixed_range)
        formats = replace(formats, weights={**self.given_weights, **formats.weights})
        return quantize(self.graph, quants, self.means, weights=self.weights, formats=formats)


@dataclass(frozen=True)
class RangeChoice:
    """The method for each tensor, and what it leads to."""

    methods: Mapping[str, str]
    trial: Trial
    quality: float


def best_single(tensors: CalibratedTensors, measure: Measure, progress: Progress) -> RangeChoice:
    """The best method for all tensors."""
    best: RangeChoice | None = None
    for method in RANGES:
        progress(f"trying {method} for all tensors")
        methods = dict.fromkeys(tensors.means, method)
        trial = measure.trial(tensors.quantized(methods))
        quality = measure.quality(trial)
        if best is None or quality > best.quality + _GAIN_DB:
            best = RangeChoice(methods, trial, quality)
    assert best is not None
    return best


def choose(
    tensors: CalibratedTensors, measure: Measure, start: RangeChoice, progress: Progress
) -> Mapping[str, str]:
    """The method for each tensor: those of `start`, improved group by group, in order."""
    names = list(tensors.means)
    best, trial, quality = start.methods, start.trial, start.quality
    group = tied(tensors.graph, tensors.concats.mixed_range)
    order = list(dict.fromkeys(group[name] for name in names))
    settled = {group[name] for name in (*given(tensors.graph), *tensors.wide)}
    for number, root in enumerate(order, 1):
        if root in settled:
            continue
        progress(f"choosing ranges, tensor {number} of {len(order)}, {quality:.1f} dB")
        members = [name for name in names if group[name] == root]
        tried = {_ends(tensors, members, best[members[0]])}
        for method in PICKS:
            ends = _ends(tensors, members, method)
            if ends in tried:
                continue
            tried.add(ends)
            methods = {**best, **dict.fromkeys(members, method)}
            found = measure.trial(tensors.quantized(methods), trial)
            if (better := measure.quality(found)) > quality + _GAIN_DB:
                best, trial, quality = methods, found, better
    return best


def _ends(tensors: CalibratedTensors, members: list[str], method: str) -> tuple[Range, ...]:
    return tuple(tensors.ranges[method][name] for name in members)
