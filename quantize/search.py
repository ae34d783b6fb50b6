"""Ranges by trial: for each group of tensors the candidate that leaves the least noise in the outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from edgekit.ir import Array, Graph
from edgekit.quantize.int8 import Quantized, Weights, quantize
from edgekit.quantize.measure import Measure, Trial
from edgekit.quantize.observe import RANGES, Range, Statistics
from edgekit.quantize.scales import SOFTMAX, scales, tied

_GAIN_DB = 0.02  # less is chance
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Choice:
    """How the range of each tensor was chosen, and the graph that follows."""

    methods: Mapping[str, str]
    quantized: Quantized


@dataclass(frozen=True)
class Tensors:
    """What calibration knows of the tensors of a graph."""

    graph: Graph
    ranges: Mapping[str, Mapping[str, Range]]  # by method, then by name
    means: Mapping[str, Array]
    weights: Weights

    @staticmethod
    def of(graph: Graph, statistics: Mapping[str, Statistics]) -> Tensors:
        ranges = {
            method: {name: pick(seen) for name, seen in statistics.items()} for method, pick in RANGES.items()
        }
        return Tensors(graph, ranges, {name: s.means for name, s in statistics.items()}, {})

    def quantized(self, methods: Mapping[str, str], *, float_io: bool = True) -> Quantized:
        quants = scales(self.graph, {name: self.ranges[m][name] for name, m in methods.items()})
        return quantize(self.graph, quants, self.means, float_io=float_io, weights=self.weights)


def choose(tensors: Tensors, measure: Measure, tell: Tell) -> dict[str, str]:
    """The method for each tensor: the best single one, then improved group by group, in order."""
    names = list(tensors.ranges["minmax"])
    best: dict[str, str] = {}
    trial: Trial | None = None
    quality = float("-inf")
    for method in RANGES:
        tell(f"trying {method} for all tensors")
        found = measure.trial(tensors.quantized(dict.fromkeys(names, method)))
        if measure.quality(found) > quality + _GAIN_DB:
            best, trial, quality = dict.fromkeys(names, method), found, measure.quality(found)
    group = tied(tensors.graph)
    order = list(dict.fromkeys(group[name] for name in names))
    softmax = {group[name] for name in names if _is_softmax(tensors, name)}
    for number, root in enumerate(order, 1):
        if root in softmax:
            continue
        tell(f"choosing ranges, tensor {number} of {len(order)}, {quality:.1f} dB")
        members = [name for name in names if group[name] == root]
        tried = {_ends(tensors, members, best[members[0]])}
        for method in RANGES:
            ends = _ends(tensors, members, method)
            if ends in tried:
                continue
            tried.add(ends)
            methods = best | dict.fromkeys(members, method)
            found = measure.trial(tensors.quantized(methods), trial)
            if (better := measure.quality(found)) > quality + _GAIN_DB:
                best, trial, quality = methods, found, better
    return best


def _ends(tensors: Tensors, members: list[str], method: str) -> tuple[Range, ...]:
    return tuple(tensors.ranges[method][name] for name in members)


def _is_softmax(tensors: Tensors, name: str) -> bool:
    return scales(tensors.graph, {name: (0.0, 1.0)})[name] == SOFTMAX
