"""Better biases, and with high effort better weights, as far as samples that were held out agree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.core.types import Value
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.calibration.search_budget import SearchBudget, pass_work
from edgekit.quantize.measure import Measure, Trial
from edgekit.quantize.rounding.bias_correction import ExactMeans, LayerPair, correct_biases
from edgekit.quantize.rounding.weight_rounding import rounded

_CORRECTING = 32  # samples that biases are corrected with, at most
_SHARE = 0.05  # of the budget, for one correction
CORRECTION = (
    4.0  # float passes: one of the graph, one of its layers on integers, and one of these, twice as long
)
_ROUNDING = 128  # samples that weights are rounded with, at most
_MEMORY = 2**29  # bytes for values of all those samples at once, about


def exact_means(
    graph: Graph, samples: Sequence[Sample], budget: SearchBudget, share: float = _SHARE
) -> ExactMeans:
    """What biases are corrected by: as many samples as a share of the budget pays for."""
    count = budget.samples(share, CORRECTION * pass_work(graph), _CORRECTING)
    return ExactMeans(graph, samples[:count])


def refining_work(measure: Measure) -> float:
    """What `refined` takes, at most."""
    limit = _SHARE * measure.budget.limit
    return 2 * measure.trial_work() + min(limit, CORRECTION * pass_work(measure.graph) * _CORRECTING)


def refined(
    plain: Trial, exact: ExactMeans, measure: Measure, progress: Progress, rounding: Sequence[Sample] = ()
) -> Trial:
    """The best of a trial, with other biases, and, if there are samples for `rounding`, with other weights.
    Neither these nor those of `exact` have a part in `measure`."""
    progress("correcting biases")
    measure.budget.pay(CORRECTION * pass_work(exact.graph) * len(exact.samples))
    found = [plain, measure.trial(correct_biases(plain.quantized, exact))]
    if rounding:
        enough = ExactMeans(exact.graph, rounding[: _affordable(exact.graph)])
        number = count(1)

        def better(pair: LayerPair, before: Value) -> Value:
            progress(f"rounding weights, layer {next(number)}")
            return rounded(pair, before)

        found.append(measure.trial(correct_biases(plain.quantized, enough, better)))
    return max(reversed(found), key=lambda trial: (measure.worst(trial)[0], measure.quality(trial)))


def _affordable(graph: Graph) -> int:
    """How many samples both graphs can be computed on in step."""
    largest = max((graph.type(name).bytes for node in graph.nodes for name in node.outputs), default=1)
    return max(4, min(_ROUNDING, _MEMORY // (4 * max(largest, 1))))
