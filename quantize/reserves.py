"""What quantization does in any case, and what that takes: a search leaves as much of the budget."""

from __future__ import annotations

from edgekit.quantize.calibrated import UNSEEN_SHARE
from edgekit.quantize.calibration.search_budget import INTEGER, RANGE_WORK, pass_work
from edgekit.quantize.measure import Measure
from edgekit.quantize.rounding.refinement import refining_work

FORMATS_SHARE = 0.3  # of the budget: to look for the layers that need better formats
_MAYBE_SHARE = 0.05  # the same where it is not likely that any does


def ending(measure: Measure, fitting: int) -> float:
    """Ranges of all tensors, biases, samples that give no ranges, and the report, whose layers are measured
    on so many samples."""
    graph, some = measure.graph, min(fitting, len(measure.samples))
    layers = (1 + INTEGER) * pass_work(graph) * some if measure.only is not None else 0.0
    ranges = max(RANGE_WORK.values()) * len(graph.nodes)
    return ranges + refining_work(measure) + UNSEEN_SHARE * measure.budget.limit + layers


def better_formats(measure: Measure, *, is_likely: bool) -> float:
    """To find them, to correct biases once more, and to see other samples once more."""
    share = UNSEEN_SHARE + (FORMATS_SHARE if is_likely else _MAYBE_SHARE)
    return share * measure.budget.limit + refining_work(measure)
