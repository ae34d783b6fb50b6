"""Ranges by trial: for each group of tensors the candidate that leaves the least noise in the outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from edgekit.core.progress import Progress
from edgekit.quantize.calibration.calibrated_tensors import EXTREMES, HEADROOM, PICKS, CalibratedTensors
from edgekit.quantize.calibration.cross_fit import CrossFit, CrossTrial
from edgekit.quantize.calibration.observe import RANGES
from edgekit.quantize.calibration.scales import given, last_values, tied
from edgekit.quantize.calibration.search_budget import integer_work, node_work

_GAIN_DB = 0.02  # less is chance
_SHOWN_SHARE = 0.01  # of a budget: below, there is no need to speak of it
PATIENCE = 6  # groups in a row that gain nothing, behind which the others do not either
_LEAST_SPREAD = 0.05  # bits; shares are tried where all methods agree, too


@dataclass(frozen=True)
class RangeChoice:
    """The method for each tensor, and what it leads to."""

    methods: Mapping[str, str]
    trial: CrossTrial  # empty where another choice is better: values of all tensors take memory
    quality: float


METHODS = (*RANGES, *HEADROOM)


def singles(
    fit: CrossFit,
    progress: Progress,
    among: Iterable[str] = METHODS,
    before: Mapping[str, RangeChoice] | None = None,
) -> dict[str, RangeChoice]:
    """Each method for all tensors, and those that were tried before, the best first."""
    found = dict(before or {})
    for method in among:
        if found and not fit.budget.left:
            break
        progress(f"trying {method} for all tensors")
        found[method] = _single(fit, method)
        best = max(found, key=lambda name: found[name].quality)
        found |= {name: replace(found[name], trial=()) for name in found if name != best}
    return dict(sorted(found.items(), key=lambda pair: -pair[1].quality))


def _single(fit: CrossFit, method: str) -> RangeChoice:
    methods = {**dict.fromkeys(fit.tensors.means, method), **_last(fit.tensors)}
    trial = fit.trial(methods)
    return RangeChoice(methods, trial, fit.quality(trial))


def choose(fit: CrossFit, start: RangeChoice, progress: Progress, patience: float = PATIENCE) -> RangeChoice:
    """The method for each tensor: those of `start`, improved group by group, as far as the budget goes, until
    so many groups in a row gain nothing."""
    best, trial, quality = start.methods, start.trial, start.quality
    budget, groups, idle = fit.budget, _affordable(fit), 0
    for number, members in enumerate(groups, 1):
        if not budget.left:
            break
        if idle >= patience:
            progress(f"the last {idle} tensors gained nothing: {len(groups) - number + 1} keep their ranges")
            break
        before = quality
        spent = f", {budget.share:.0%} of the budget" if budget.share > _SHOWN_SHARE else ""
        progress(f"choosing ranges, tensor {number} of {len(groups)}, {quality:.1f} dB{spent}")
        tried = {fit.ends(members, best[members[0]])}
        for method in PICKS:
            ends = fit.ends(members, method)
            if ends in tried or not budget.left:
                continue
            tried.add(ends)
            methods = {**best, **dict.fromkeys(members, method)}
            found = fit.trial(methods, trial)
            if (better := fit.quality(found)) > quality + _GAIN_DB and fit.is_surely_better(found, trial):
                best, trial, quality = methods, found, better
        idle = idle + 1 if quality == before else 0
    return RangeChoice(best, trial, quality)


def work(fit: CrossFit, samples: int) -> float:
    """What trials of all methods for all tensors take, each on so many samples."""
    batches = len(fit.halves)
    return sum(
        len(PICKS) * integer_work(part, samples, batches, nodes) for _, part, nodes in _groups(fit.tensors)
    )


def _affordable(fit: CrossFit) -> list[list[str]]:
    """The tensors whose ranges there is time to choose, those that share one together: where the methods
    differ most for what their trials cost. Inputs come first, whose noise goes through all layers, and then
    those where the methods differ most."""
    groups = _groups(fit.tensors)
    costs = [len(PICKS) * integer_work(part, fit.samples, fit.batches, nodes) for _, part, nodes in groups]
    worth = [_spread(fit, members) / cost for (members, *_), cost in zip(groups, costs, strict=True)]
    chosen, left = [], fit.budget.left
    for i in sorted(range(len(groups)), key=lambda i: -worth[i]):
        if costs[i] <= left:
            left -= costs[i]
            chosen.append(groups[i][0])
    inputs = {*fit.tensors.graph.inputs}
    return sorted(chosen, key=lambda members: (inputs.isdisjoint(members), -_spread(fit, members)))


def _groups(tensors: CalibratedTensors) -> list[tuple[list[str], float, int]]:
    """Tensors that share a range, where it can be chosen; the work of one sample that depends on it, and the
    nodes."""
    graph = tensors.graph
    group = tied(graph, tensors.concats.mixed_range)
    settled = {group[name] for name in (*given(graph), *tensors.wide, *_last(tensors))}
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


def _last(tensors: CalibratedTensors) -> dict[str, str]:
    """What outputs are, or follow from element by element, has room for what was not seen: there a clipped
    value is an error that no later layer makes up for, and trials on few samples do not meet it."""
    return {name: EXTREMES for name in last_values(tensors.graph) if name in tensors.means}


def _spread(fit: CrossFit, members: list[str]) -> float:
    """How far the methods differ, in bits of resolution."""
    widths = [
        max(max(high, 0.0) - min(low, 0.0) for low, high in fit.ends(members, method)) for method in RANGES
    ]
    return math.log2(max(widths) / max(min(widths), 1e-30)) + _LEAST_SPREAD if max(widths) else 0.0
