"""Ranges by trial: for each group of tensors the candidate that leaves the least noise in the outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.core.types import Array, DType, Quant
from edgekit.quantize.calibration.observe import RANGES, Range, Statistics, minmax
from edgekit.quantize.calibration.scales import given, scales, tied
from edgekit.quantize.calibration.search_budget import integer_work, node_work
from edgekit.quantize.integers.int8 import Quantized, Weights, quantize
from edgekit.quantize.measure import Measure, Trial
from edgekit.quantize.mixed_precision.formats import Formats, wide_anyway
from edgekit.quantize.mixed_precision.mixed_range_concat import NO_MIXED_RANGE, MixedRangeConcats

_GAIN_DB = 0.02  # less is chance
_SHOWN_SHARE = 0.01  # of a budget: below, there is no need to speak of it
_LEAST_SPREAD = 0.05  # bits; shares are tried where all methods agree, too
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

    def quants(self, methods: Mapping[str, str]) -> dict[str, Quant]:
        """The scale of each tensor."""
        ranges = {name: self.ranges[m][name] for name, m in methods.items()}
        return scales(self.graph, ranges, self.concats.mixed_range)

    def quantized(self, methods: Mapping[str, str], formats: Formats = _INT8) -> Quantized:
        formats = replace(formats, wide=formats.wide | self.wide, real=formats.real | self.concats.real)
        # What has 16 bits needs no clipping.
        quants = self.quants({name: "minmax" if name in formats.wide else m for name, m in methods.items()})
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
) -> RangeChoice:
    """The method for each tensor: those of `start`, improved group by group, in order, as far as the budget
    of `measure` goes."""
    best, trial, quality = start.methods, start.trial, start.quality
    budget, groups = measure.budget, _affordable(tensors, measure)
    for number, members in enumerate(groups, 1):
        if not budget.left:
            break
        spent = f", {budget.share:.0%} of the budget" if budget.share > _SHOWN_SHARE else ""
        progress(f"choosing ranges, tensor {number} of {len(groups)}, {quality:.1f} dB{spent}")
        tried = {_ends(tensors, members, best[members[0]])}
        for method in PICKS:
            ends = _ends(tensors, members, method)
            if ends in tried or not budget.left:
                continue
            tried.add(ends)
            methods = {**best, **dict.fromkeys(members, method)}
            found = measure.trial(tensors.quantized(methods), trial)
            if (better := measure.quality(found)) > quality + _GAIN_DB:
                best, trial, quality = methods, found, better
    return RangeChoice(best, trial, quality)


def work(tensors: CalibratedTensors, samples: int) -> float:
    """What trials of all methods for all tensors take, each on so many samples."""
    return sum(len(PICKS) * integer_work(part, samples, 1, nodes) for _, part, nodes in _groups(tensors))


def _affordable(tensors: CalibratedTensors, measure: Measure) -> list[list[str]]:
    """The tensors whose ranges there is time to choose, those that share one together: where the methods
    differ most for what their trials cost. In the order of the graph."""
    groups = _groups(tensors)
    count, batches = len(measure.samples), len(measure.stacks)
    costs = [len(PICKS) * integer_work(part, count, batches, nodes) for _, part, nodes in groups]
    worth = [_spread(tensors, members) / cost for (members, *_), cost in zip(groups, costs, strict=True)]
    chosen, left = set(), measure.budget.left
    for i in sorted(range(len(groups)), key=lambda i: -worth[i]):
        if costs[i] <= left:
            left -= costs[i]
            chosen.add(i)
    return [members for i, (members, *_) in enumerate(groups) if i in chosen]


def _groups(tensors: CalibratedTensors) -> list[tuple[list[str], float, int]]:
    """Tensors that share a range, where it can be chosen; the work of one sample that depends on it, and the
    nodes."""
    graph = tensors.graph
    group = tied(graph, tensors.concats.mixed_range)
    settled = {group[name] for name in (*given(graph), *tensors.wide)}
    members: dict[str, list[str]] = {}
    for name in tensors.means:
        if group[name] not in settled:
            members.setdefault(group[name], []).append(name)
    # Bit i of `after` is set where a value depends on node i or is made by it.
    after: dict[str, int] = {}
    works = [node_work(graph, node) for node in graph.nodes]
    for i, node in reversed(list(enumerate(graph.nodes))):
        made = reduce(or_, (after.get(name, 0) for name in node.outputs), 1 << i)
        after |= {name: after.get(name, 0) | made for name in (*node.inputs, *node.outputs)}
    found: list[tuple[list[str], float, int]] = []
    for names in members.values():
        bits = reduce(or_, (after.get(name, 0) for name in names), 0)
        found.append((names, sum(part for i, part in enumerate(works) if bits >> i & 1), bits.bit_count()))
    return found


def _spread(tensors: CalibratedTensors, members: list[str]) -> float:
    """How far the methods differ, in bits of resolution."""
    widths = [
        max(max(high, 0.0) - min(low, 0.0) for low, high in _ends(tensors, members, method))
        for method in RANGES
    ]
    return math.log2(max(widths) / max(min(widths), 1e-30)) + _LEAST_SPREAD if max(widths) else 0.0


def _ends(tensors: CalibratedTensors, members: list[str], method: str) -> tuple[Range, ...]:
    return tuple(tensors.ranges[method][name] for name in members)
