"""A network that was looked at: it can be pruned to any degree from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf

import numpy as np

from edgekit.core import simulate
from edgekit.core.arguments import check_fields
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.recurrent import Recurrent
from edgekit.core.progress import Progress
from edgekit.core.types import Array
from edgekit.quantize.calibration.calibration_samples import judging
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.gate import answer
from edgekit.quantize.measure import scores_of, sqnr
from edgekit.quantize.pruning import criteria
from edgekit.quantize.pruning.activation_moments import observe
from edgekit.quantize.pruning.adjust import adjusted
from edgekit.quantize.pruning.allocate import Candidate, masks, to_share, uniform
from edgekit.quantize.pruning.cost import Costs, PruningCost
from edgekit.quantize.pruning.fit import fitted
from edgekit.quantize.pruning.groups import Network

_MAX_SAMPLES = 1024  # to look at layers, and to fit them
_MAX_TRYING = 256  # to see how much a group matters
_MAX_ADJUSTING = 8192  # to adjust all of them together
_MEMORY = 2**29  # bytes for values of all samples at once, about
_TRIED_SHARE = 0.5  # of a group, taken out to see how much it matters
_WORK = 2e11  # multiplications for all of these trials, about


@dataclass(frozen=True)
class Pruning:
    """How a model is pruned. One of the first five is given, at most, or blocks, or both."""

    ratio: float | None = None  # of the channels of each group, to take out
    macs: float | None = None  # share of multiplications to be left, at most
    weights: float | None = None  # share of weights to be left, at most
    instructions: float | None = None  # share of instructions to be left, at most, where they are known
    flash: int | None = None  # bytes of the compiled library, at most
    blocks: float | None = None  # share of blocks of weights to make zero, after that
    tile: tuple[int, int] = (1, 4)  # outputs and inputs of a block
    criterion: str = ""  # empty: reconstruction with data, l2 without
    multiple: int = 1  # numbers of channels that are left are multiples of this
    liked: int = 1  # and of this one, where with it pruning gets as far as it should
    fit: bool = True  # make up for what is gone, where there is data

    def __post_init__(self) -> None:
        check_fields(self)
        shares = [x for x in (self.ratio, self.macs, self.weights, self.instructions) if x is not None]
        given = len(shares) + (self.flash is not None)
        if given > 1 or not (given or self.blocks):
            hint = "one of --ratio, --macs, --weights, --instructions and --flash; or --blocks, or both"
            what = f"{given} pruning goals are given" if given else "no pruning goal is given"
            raise EdgeKitError("E0101", what, hint=hint)
        shares += [] if self.blocks is None else [self.blocks]
        if not all(0 < share < 1 for share in shares):
            wrong = next(share for share in shares if not 0 < share < 1)
            raise EdgeKitError(
                "E0103", f"{wrong:g} is not a share that can be pruned", hint="between 0 and 1"
            )

    @property
    def of_channels(self) -> bool:
        """Do any go?"""
        asked = (self.ratio, self.macs, self.weights, self.instructions, self.flash)
        return any(x is not None for x in asked)


@dataclass(frozen=True)
class PrunedGroup:
    """Channels that went together."""

    name: str  # of their first tensor
    before: int
    after: int
    origin: str = ""  # the layer that it comes from


@dataclass(frozen=True)
class ZeroBlocks:
    """A layer, and the share of its blocks that are zero."""

    name: str  # of its result
    share: float
    origin: str = ""


@dataclass(frozen=True)
class Pruned:
    """What became of a model."""

    criterion: str
    macs_before: int
    macs: int
    weights_before: int
    weights: int
    groups: tuple[PrunedGroup, ...]
    sqnr_db: float | None  # on samples that were held out; None without data
    samples: int = 0
    accuracy_before: float | None = None  # on the same samples; None without labels
    accuracy: float | None = None
    blocks: tuple[ZeroBlocks, ...] = ()


@dataclass(frozen=True)
class PruningPlan:
    """A network that was looked at: it can be pruned to any degree from here."""

    network: Network
    fitting: Sequence[Sample]
    more: Sequence[Sample]  # for what needs little memory
    held: Sequence[Sample]
    before: Sequence[Sample]  # the steps of a stream before those that are held out
    labels: Sequence[int]  # of those that are held out; none where they are not known
    criterion: str
    progress: Progress
    costs: Costs | None = None  # instructions of layers

    @staticmethod
    def of(
        graph: Graph,
        samples: Sequence[Sample],
        criterion: str,
        progress: Progress,
        labels: Array | None = None,
        costs: Costs | None = None,
    ) -> PruningPlan:
        """Look at a graph and at samples for it, of which there may be none. `costs` tells what layers take
        on the target, where that is known."""
        if any(t.quant for t in (value.type for value in graph.values.values())):
            hint = "prune the float model, then quantize it"
            raise EdgeKitError("E0205", f"{graph.name} is quantized already", hint=hint)
        criterion = criterion or (criteria.RECONSTRUCTION if samples else "l2")
        criteria.check(criterion, bool(samples))
        network = Network.of(graph)
        samples = list(network.opened.samples(samples[: _adjusting(graph)]))
        count = min(len(samples), _affordable(network.graph))
        apart = judging(graph, count)
        held = [samples[i] for i in apart]
        others = [samples[i] for i in range(count) if i not in apart]
        known = () if labels is None else tuple(int(labels[i]) for i in apart)
        return PruningPlan(
            network,
            others or held,
            samples[count:],
            held,
            others if graph.states else (),
            known,
            criterion,
            progress,
            costs,
        )

    @cached_property
    def candidates(self) -> Sequence[Candidate]:
        """The groups, with the order in which their units go."""
        if not self.network.groups:
            raise _nothing_to_prune(self.network.whole)
        self.progress("looking at layers")
        context = criteria.Context(self.network, observe(self.network, self.fitting))
        found = []
        for group in self.network.groups:
            self.progress(f"ranking {group.name:.40}")
            found.append(Candidate(group, criteria.order(context, group, self.criterion)))
        return found

    def counts(self, wanted: Pruning) -> Sequence[int]:
        """How many units of each group go."""
        return self.as_liked(wanted, partial(self._counts, wanted))

    def as_liked(self, wanted: Pruning, counts: Callable[[int], Sequence[int]]) -> Sequence[int]:
        """The counts for the multiple that is liked, or for the next smaller one that gets as far."""
        multiple = max(wanted.multiple, wanted.liked)
        while True:
            try:
                return counts(multiple)
            except EdgeKitError as error:
                if error.code != "E0605" or multiple <= wanted.multiple:
                    raise
                multiple = max(multiple // 2, wanted.multiple)

    def _counts(self, wanted: Pruning, multiple: int) -> Sequence[int]:
        if wanted.ratio is not None:
            return uniform(self.candidates, wanted.ratio, multiple)
        if wanted.macs is not None:
            price = self.instructions(multiple) if self.costs else None
            return to_share(self.weighed, PruningCost.of(self.network, "macs"), wanted.macs, multiple, price)
        if wanted.instructions is not None:
            return to_share(self.weighed, self.instructions(multiple), wanted.instructions, multiple)
        assert wanted.weights is not None
        return self.counts_of_weights(wanted.weights, multiple)

    def counts_of_weights(self, share: float, multiple: int) -> Sequence[int]:
        """So many that no more than this share of the weights is left."""
        return to_share(self.weighed, PruningCost.of(self.network, "weights"), share, multiple)

    def weights_left(self, counts: Sequence[int]) -> float:
        """The weights of layers without so many units of each group."""
        gone = [n / candidate.group.size for n, candidate in zip(counts, self.candidates, strict=True)]
        return PruningCost.of(self.network, "weights")(np.array(gone))

    def instructions(self, multiple: int) -> PruningCost:
        """Those of the target, for numbers of channels that are multiples."""
        if self.costs is None:
            hint = "say --macs instead, or a --target that is calibrated"
            raise EdgeKitError("E0101", "the instructions of this target are not known", hint=hint)
        if multiple not in self._measured:
            self.progress("estimating instructions")
            self._measured[multiple] = PruningCost.measured(self.network, self.costs, multiple)
        return self._measured[multiple]

    @cached_property
    def _measured(self) -> dict[int, PruningCost]:
        """What was measured, by the multiple."""
        return {}

    @cached_property
    def weighed(self) -> Sequence[Candidate]:
        """The same, with how much the damage of each shows at the outputs: a part of each is taken out."""
        if not self.fitting:
            return self.candidates
        trials = len(self.candidates) * 4 * macs(self.network.graph)
        most = min(max(8, int(_WORK / max(trials, 1))), _MAX_TRYING)
        found = []
        for candidate in self.candidates:
            self.progress(f"trying {candidate.group.name:.40}")
            n = max(1, int(candidate.group.size * _TRIED_SHARE))
            masked = self.network.masked(masks([candidate], [n]))
            masked = fitted(self.network, masked, self.fitting[:most], lambda step: None)
            quality = quality_of(self.network.graph, masked, self.held[:most])
            noise = 10 ** (-quality / 10) if quality < inf else 0.0
            damage = float(candidate.order.damage[n])
            found.append(replace(candidate, weight=noise / damage if damage > 0 else 1.0))
        return found

    def masks(self, counts: Sequence[int]) -> Mapping[str, Array]:
        """The units that go, by the names of their groups."""
        return masks(self.candidates, counts)

    def masked(self, counts: Sequence[int], *, fit: bool, progress: Progress) -> Graph:
        """The graph, of the same shapes, in which so many units of each group are not read."""
        masked = self.network.masked(self.masks(counts))
        if not (fit and self.fitting):
            return masked
        masked = fitted(self.network, masked, self.fitting, progress)
        return adjusted(self.network, masked, [*self.fitting, *self.more], progress)

    def prune(self, counts: Sequence[int], *, fit: bool, progress: Progress) -> tuple[Graph, Pruned]:
        """The graph without so many units of each group."""
        graph = self.network.simplified(self.masked(counts, fit=fit, progress=progress))
        return graph, self.report(graph, counts)

    def report(self, graph: Graph, counts: Sequence[int]) -> Pruned:
        """What became of the model, which is this graph without so many units of each group."""
        before = self.network.whole
        groups = tuple(
            PrunedGroup(c.group.name, c.group.size, c.group.size - n, before.origin(c.group.name))
            for c, n in zip(self.candidates if counts else (), counts, strict=True)
        )
        quality = quality_of(before, graph, self.held, self.before) if self.held else None
        return Pruned(
            self.criterion,
            macs(before),
            macs(graph),
            weights(before),
            weights(graph),
            groups,
            quality,
            len(self.held),
            *((self._accuracy(before), self._accuracy(graph)) if self.labels else ()),
        )

    def _accuracy(self, graph: Graph) -> float:
        """The share of samples that are held out which a graph has right."""
        session = simulate.Session(graph)
        for sample in self.before:
            session.run(sample)
        pairs = zip(self.held, self.labels, strict=True)
        right = [answer(session, sample) == label for sample, label in pairs]
        return sum(right) / len(right)


def _affordable(graph: Graph) -> int:
    """How many samples two graphs can be computed on in step."""
    largest = max((value.type.bytes for value in graph.values.values() if value.data is None), default=1)
    return max(8, min(_MAX_SAMPLES, _MEMORY // (8 * max(largest, 1))))


def _adjusting(graph: Graph) -> int:
    """How many samples are looked at: each step of a stream holds its states."""
    held = sum(state.initial.type.bytes for state in graph.states)
    return min(_MAX_ADJUSTING, max(8, _MEMORY // held)) if held else _MAX_ADJUSTING


def macs(graph: Graph) -> int:
    return sum(node.op.macs(*(graph.type(name) for name in node.inputs)) for node in graph.nodes)


def weights(graph: Graph) -> int:
    """Numbers in all constants."""
    return sum(data.size for _, data in graph.constants())


def quality_of(
    before: Graph, after: Graph, samples: Sequence[Sample], earlier: Sequence[Sample] = ()
) -> float:
    """Signal to noise of the worst output, of a softmax of what goes into it. Graphs with states go through
    `earlier` steps first."""
    truths, found = ([*scores_of(graph, samples, earlier)] for graph in (before, after))
    by_output = zip(zip(*truths, strict=True), zip(*found, strict=True), strict=True)
    return min((sqnr(*pair) for pair in by_output), default=inf)


def _nothing_to_prune(graph: Graph) -> EdgeKitError:
    """With what makes such a model smaller instead."""
    why = "every channel feeds a layer that needs all of its inputs"
    if any(isinstance(node.op, Recurrent) for node in graph.nodes):
        why = "recurrent layers keep their width: a smaller hidden size has to be trained"
    hint = f"{why}. edgekit quantize makes weights about 4 times smaller"
    return EdgeKitError("E0205", f"no channel of {graph.name} can be pruned", hint=hint)
