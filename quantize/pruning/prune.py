"""Pruning as users ask for it: shares of channels, multiplications, weights or blocks, or bytes of flash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.core.simulate import check_work
from edgekit.core.types import Array
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.pruning.blocks import with_zero_blocks
from edgekit.quantize.pruning.cost import Costs
from edgekit.quantize.pruning.plan import Pruned, Pruning, PruningPlan, ZeroBlocks

_TRIALS = 6
_SMALLEST = 8  # networks that are measured where none of these trials fits
_SMALL_SHARES = (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15)  # of multiplications or weights, for these
_CLOSE = 0.02  # of the budget: near enough from below


def prune(
    graph: Graph,
    samples: Sequence[Sample],
    wanted: Pruning,
    progress: Progress = lambda step: None,
    flash: Callable[[Graph], int] | None = None,
    labels: Array | None = None,
    costs: Costs | None = None,
) -> tuple[Graph, Pruned]:
    """A smaller graph of the same inputs and outputs. `flash` tells what the library of a graph takes;
    `labels` are the classes of the samples, and `costs` tells what layers take on the target."""
    check_work(graph)
    plan = PruningPlan.of(graph, samples, wanted.criterion, progress, labels, costs)
    counts = _counts(plan, wanted, flash, progress)
    masked = plan.masked(counts, fit=wanted.fit, progress=progress) if counts else plan.network.graph
    smaller = plan.network.simplified(masked)
    shares: Mapping[str, float] = {}
    if wanted.blocks is not None:
        smaller, shares = with_zero_blocks(
            smaller, plan.fitting, wanted.blocks, wanted.tile, fit=wanted.fit, progress=progress
        )
    blocks = tuple(ZeroBlocks(name, share, masked.origin(name)) for name, share in shares.items())
    return smaller, replace(plan.report(smaller, counts), blocks=blocks)


def _counts(
    plan: PruningPlan, wanted: Pruning, flash: Callable[[Graph], int] | None, progress: Progress
) -> Sequence[int]:
    """How many units of each group go; nothing where none do."""
    if not wanted.of_channels:
        return ()
    if wanted.flash is None:
        return plan.counts(wanted)
    assert flash is not None, "a limit of flash needs a measure"
    return _counts_for_flash(plan, wanted, wanted.flash, flash, progress)


def _counts_for_flash(
    plan: PruningPlan, wanted: Pruning, budget: int, flash: Callable[[Graph], int], progress: Progress
) -> Sequence[int]:
    """How many units of each group go, so that the library of what is left takes no more than this. `flash`
    tells what it takes."""
    whole = flash(plan.network.whole)
    if whole <= budget:
        return [0] * len(plan.candidates)
    tried: dict[tuple[int, ...], int] = {}

    def taken_by(counts: Sequence[int]) -> int:
        key = tuple(counts)
        if key not in tried:
            progress(f"measuring flash, trial {len(tried) + 1}")
            tried[key] = flash(plan.prune(counts, fit=False, progress=lambda step: None)[0])
        return tried[key]

    low, high = 0.0, 1.0  # shares of weights: one that fits, or is beyond pruning, and one that does not
    share = budget / whole
    for _ in range(_TRIALS):
        try:
            taken = taken_by(plan.as_liked(wanted, partial(plan.counts_of_weights, share)))
        except EdgeKitError:  # beyond what pruning can do
            low = share
            share = (low + high) / 2
            continue
        if (1 - _CLOSE) * budget <= taken <= budget:
            break
        low, high = (share, high) if taken <= budget else (low, share)
        # What is left over or missing is mostly weights; half-way where that leads out of bounds.
        share += (budget - taken) / whole
        if not low < share < high:
            share = (low + high) / 2
    if min(tried.values(), default=whole) > budget:
        for counts in _fewest(plan, wanted):
            taken_by(counts)
    if fits := [counts for counts, taken in tried.items() if taken <= budget]:
        return max(fits, key=plan.weights_left)
    least = min(tried.values())
    hint = f"--flash {least} is the least here; in int4 weights take half: edgekit quantize --dtype int4"
    message = f"pruning does not reach {budget:,} bytes of flash: the smallest library takes {least:,} bytes"
    raise EdgeKitError("E0605", message, hint=hint)


def _fewest(plan: PruningPlan, wanted: Pruning) -> Sequence[Sequence[int]]:
    """The counts with the fewest weights that any goal leads to: all but a multiple goes in each group, or
    small shares of multiplications or weights are left. Fewer weights need not make the smaller library."""
    multiples = [wanted.multiple]
    while 2 * multiples[-1] <= wanted.liked:
        multiples.append(2 * multiples[-1])
    found = {tuple(candidate.steps(n)[-1] for candidate in plan.candidates) for n in multiples}
    for share in _SMALL_SHARES:
        for asked in (replace(wanted, flash=None, macs=share), replace(wanted, flash=None, weights=share)):
            with suppress(EdgeKitError):  # beyond what pruning can do
                found.add(tuple(plan.counts(asked)))
    return sorted(found, key=lambda counts: (plan.weights_left(counts), counts))[:_SMALLEST]
