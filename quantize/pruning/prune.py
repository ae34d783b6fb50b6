"""Pruning as users ask for it: shares of channels, multiplications, weights or blocks, or bytes of flash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes.simplify import simplify
from edgekit.core.progress import Progress
from edgekit.core.types import Array
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.pruning.blocks import with_zero_blocks
from edgekit.quantize.pruning.cost import Costs
from edgekit.quantize.pruning.plan import Pruned, Pruning, PruningPlan, ZeroBlocks

_TRIALS = 6
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
    plan = PruningPlan.of(graph, samples, wanted.criterion, progress, labels, costs)
    counts = _counts(plan, wanted, flash, progress)
    masked = plan.masked(counts, fit=wanted.fit, progress=progress) if counts else plan.network.graph
    smaller = simplify(masked)
    shares: Mapping[str, float] = {}
    if wanted.blocks is not None:
        smaller, shares = with_zero_blocks(
            smaller, plan.fitting, wanted.blocks, wanted.tile, fit=wanted.fit, progress=progress
        )
        smaller = simplify(smaller)
    blocks = tuple(ZeroBlocks(name, share, masked.origin(name)) for name, share in shares.items())
    smaller = replace(smaller, source=masked.source)  # these channels were not dead in the model
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
    whole = flash(plan.network.graph)
    if whole <= budget:
        return [0] * len(plan.candidates)
    low, high = 0.0, 1.0  # shares of weights: one that fits, and one that does not
    best: Sequence[int] | None = None
    share, taken = budget / whole, whole
    for trial in range(_TRIALS):
        progress(f"measuring flash, trial {trial + 1}: {share:.0%} of the weights")
        try:
            counts = plan.as_liked(wanted, partial(plan.counts_of_weights, share))
        except EdgeKitError:  # beyond what pruning can do
            low = share
            share = (low + high) / 2
            continue
        taken = flash(plan.prune(counts, fit=False, progress=lambda step: None)[0])
        if taken <= budget:
            low, best = share, counts
            if taken >= (1 - _CLOSE) * budget:
                break
        else:
            high = share
        # What is left over or missing is mostly weights; half-way where that leads out of bounds.
        share += (budget - taken) / whole
        if not low < share < high:
            share = (low + high) / 2
    if best is None:
        hint = (
            f"the smallest that was tried takes {taken:,} bytes; --weights int4 or --optimize size may help"
        )
        raise EdgeKitError("E0605", f"pruning does not reach {budget:,} bytes of flash", hint=hint)
    return best
