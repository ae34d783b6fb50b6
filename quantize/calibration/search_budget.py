"""The time budget of quantization, in multiplications: results do not depend on a clock."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.core.ir import Graph, Node

PASSES = 20.0  # float passes over the calibration data that a search may take, if nothing else is said
_LEAST = 2e11  # multiplications that it may take in any case: some seconds
# In multiplications of numpy: the other steps of an operator, about a nanosecond each, and its start.
_STEP = 8
_START = 800_000
INTEGER = 1.5  # the simulator takes integers so many times as long as floats
_BUILT = 8.0  # starts: to make a node of a graph of integers, and one for stacks of samples
_OBSERVED = 200  # to put an element into statistics
_OBSERVED_STARTS = 4.0  # for the statistics of a tensor
RANGE_WORK = {"mse": 2.5e7, "entropy": 1e8}  # to find the range of a tensor, by method
FUNCTION_RANGE_WORK = 3e8  # of one that a function is applied to
FORMATS_WORK = 45_000  # to see what better formats of some layers mean for a layer


def node_work(graph: Graph, node: Node) -> int:
    """What the simulator takes for a node of floats and one sample."""
    ins, outs = ([graph.type(name) for name in names] for names in (node.inputs, node.outputs))
    macs = node.op.macs(*ins)
    return macs + _STEP * (node.op.work(ins, outs) - macs)


def pass_work(graph: Graph) -> float:
    """What a float pass takes for one sample."""
    return float(sum(node_work(graph, node) + _START for node in graph.nodes))


def integer_work(work: float, samples: int, batches: int, nodes: int = 1) -> float:
    """What so many nodes take in integers, of samples in batches."""
    return float_work(INTEGER * work, samples, batches, nodes)


def float_work(work: float, samples: int, batches: int, nodes: int = 1) -> float:
    """The same in floats."""
    return work * samples + _START * nodes * (1 + batches)


def graph_work(graph: Graph) -> float:
    """What it takes to make a graph of integers of these nodes."""
    return _BUILT * _START * len(graph.nodes)


def observing_work(graph: Graph, samples: int, batch_size: int) -> float:
    """What it takes to run a graph, and to look at all values."""
    sizes = sum(graph.type(name).size for node in graph.nodes for name in node.outputs)
    each = sum(node_work(graph, node) for node in graph.nodes) + _OBSERVED * sizes
    starts = (1 + _OBSERVED_STARTS) * _START * len(graph.nodes)
    return each * samples + starts * -(-samples // max(batch_size, 1))


@dataclass
class SearchBudget:
    """What trials may take, and what they have taken. What a part pays, the whole pays, too."""

    limit: float = float("inf")
    spent: float = 0.0
    reserved: float = 0.0  # for what follows in any case
    whole: SearchBudget | None = None

    @staticmethod
    def of(graph: Graph, samples: int, passes: float = PASSES) -> SearchBudget:
        """So many float passes over so many samples."""
        return SearchBudget(max(passes * samples * pass_work(graph), _LEAST))

    def part(self, limit: float) -> SearchBudget:
        """Of what is left, so much."""
        return SearchBudget(min(limit, self.left), whole=self)

    def pay(self, work: float) -> None:
        self.spent += work
        if self.whole is not None:
            self.whole.pay(work)

    def samples(self, share: float, work: float, most: int, least: int = 2) -> int:
        """How many samples a share of the whole pays for, if it is left and each takes so much work."""
        affordable = min(share * self.limit, self.left) / max(work, 1)
        return most if affordable >= most else max(int(affordable), min(least, most))

    @property
    def left(self) -> float:
        """Not spent, and not reserved."""
        own = max(self.limit - self.spent - self.reserved, 0.0)
        return own if self.whole is None else min(own, self.whole.left)

    @property
    def share(self) -> float:
        """Spent, of the whole."""
        return min(self.spent / self.limit, 1.0)
