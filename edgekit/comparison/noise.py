"""Noise: how far a value is from what it should be, and how much of that arrives at the outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core import simulate
from edgekit.core.ir import Graph, Node
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import Array, Type

_WORK = 4e9  # multiplications that following the noise of all values to the outputs may take, about
_MAX_WORK = 3e11  # of a single sample: above that a comparison takes too long
_MOVE = 10  # multiplications that computing one element costs, whatever the operator


@dataclass(frozen=True)
class Distance:
    """One value of both graphs: the largest difference, and the ratio of signal to noise where a is true."""

    name: str  # in a
    other: str  # in b; the same but for outputs that are matched by position
    type: Type
    max_error: float
    sqnr_db: float  # inf where nothing differs
    exact: bool


class Noise:
    """Error and signal of one value over all samples."""

    def __init__(self) -> None:
        self.largest = self.noise = self.signal = 0.0
        self.exact = True

    def add(self, truth: Array, found: Array, signal: Array | None = None) -> Array:
        """The error. `signal` where the truth is not what it is measured against."""
        same = (truth == found) | (np.isnan(truth) & np.isnan(found))
        signal = truth if signal is None else signal
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.where(same, 0.0, found - truth)
            size = np.where(np.isnan(error), np.inf, np.abs(error))
            self.largest = max(self.largest, float(size.max(initial=0.0)))
            self.noise += float(np.square(size).sum())
            self.signal += float(np.square(signal[np.isfinite(signal)]).sum())
        self.exact &= bool(same.all())
        return error

    @property
    def sqnr_db(self) -> float:
        if not self.noise:
            return math.inf
        if not self.signal or math.isinf(self.noise):
            return -math.inf
        return 10 * math.log10(self.signal / self.noise)

    def distance(self, name: str, other: str, type: Type) -> Distance:
        return Distance(name, other, type, self.largest, self.sqnr_db, self.exact)


class Spread:
    """Follows noise through a graph to its outputs."""

    def __init__(self, graph: Graph, names: Sequence[str]) -> None:
        self.graph = graph
        self.scores = list(_scores(graph))
        self.after = {name: self._after(name) for name in names}

    def _after(self, name: str) -> tuple[Node, ...]:
        """The nodes that a value has an effect on."""
        reached = {name}
        found = []
        for node in self.graph.nodes:
            if not reached.isdisjoint(node.inputs):
                reached.update(node.outputs)
                found.append(node)
        return tuple(found)

    def affordable(self, samples: int) -> int:
        """How many samples can be followed."""
        graph = self.graph
        work = {
            node: _MOVE * sum(graph.type(name).size for name in node.outputs)
            + node.op.macs(*(graph.type(name) for name in node.inputs))
            for node in graph.nodes
        }
        each = sum(work[node] for nodes in self.after.values() for node in nodes)
        if not self.scores or each > _MAX_WORK:
            return 0
        return max(1, min(samples, int(_WORK / max(each, 1))))

    def noise(self, exact: Mapping[str, Array], name: str, error: Array) -> float:
        """What an error of one value does to the outputs: noise as a share of the signal, added up."""
        type = self.graph.type(name)
        if not type.dtype.is_float:
            return 0.0
        changed = dict(exact)
        with np.errstate(all="ignore"):
            changed[name] = (exact[name].astype(np.float64) + error).astype(type.dtype.numpy)
            for node in self.after[name]:
                changed |= simulate.compute(self.graph, node, changed)
        total = 0.0
        for score in self.scores:
            sums = Noise()
            sums.add(exact[score].astype(np.float64), changed[score].astype(np.float64))
            total += sums.noise / sums.signal if sums.signal else math.inf if sums.noise else 0.0
        return total


def _scores(graph: Graph) -> dict[str, None]:
    """The floating outputs; of a softmax what goes into it, since errors hardly show behind it."""
    found: dict[str, None] = {}
    for name in graph.outputs:
        node = graph.producer(name)
        if node and isinstance(node.op, Softmax):
            name = node.inputs[0]
        if graph.type(name).dtype.is_float and graph.data(name) is None:
            found[name] = None
    return found


def shares(noises: Sequence[float]) -> list[float | None]:
    """Of the total; what is infinite outweighs all else."""
    if any(math.isinf(n) for n in noises):
        noises = [float(math.isinf(n)) for n in noises]
    total = sum(noises)
    return [n / total if total else 0.0 for n in noises]
