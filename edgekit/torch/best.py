"""The best of what training goes through, judged by samples that it does not learn from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from edgekit.core.arguments import array, checked
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes.batches import sample_axes
from edgekit.core.types import Array
from edgekit.samples.batches import arrays_of
from edgekit.torch.batches import results_at_once

Tensor = torch.Tensor
_SURE = 1.0  # standard errors
_AT_ONCE = 256  # samples


class Best:
    """The graph that scores best on held-out samples. `start` is what training has to beat, such as the graph
    of `edgekit.quantize_model`: it is kept until a later one is better by more than the standard error of the
    difference. `samples` are batches, as for `prepare_qat`, and `score` takes the outputs of all of them, in
    their order, and gives a number for each sample, or one for all: larger is better."""

    @checked
    def __init__(self, start: Graph, samples: Iterable[Any], score: Callable[..., Tensor | float]) -> None:
        self._samples = arrays_of(start, samples)
        if not self._samples:
            raise EdgeKitError("E0110", "there are no samples to judge by", hint="hold some out of training")
        self._score = score
        self._first = self._best = self._scores(start)
        self.graph = start

    @checked
    def offer(self, graph: Graph) -> bool:
        """Keep this graph if it is the best so far; of equals the earlier one stays."""
        scores = self._scores(graph)
        is_better = scores.mean() > self._best.mean() and _is_surely_more(scores - self._first)
        if is_better:
            self.graph, self._best = graph, scores
        return is_better

    @property
    def score(self) -> float:
        """Of the graph that is kept, the mean."""
        return float(self._best.mean())

    def _scores(self, graph: Graph) -> Array:
        batches = (self._samples[i : i + _AT_ONCE] for i in range(0, len(self._samples), _AT_ONCE))
        found = [results_at_once(graph, batch) for batch in batches]
        axes = sample_axes(graph)
        outputs = (np.concatenate([part[name] for part in found], axes[name]) for name in graph.outputs)
        return array(self._score(*map(torch.from_numpy, outputs)), "the score").astype(np.float64).reshape(-1)


def _is_surely_more(gains: Array) -> bool:
    """Is the mean more than 0, and than its standard error where there are several?"""
    error = gains.std(ddof=1) / len(gains) ** 0.5 if len(gains) > 1 else 0.0
    return bool(gains.mean() > _SURE * error)
