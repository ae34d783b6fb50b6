"""The time budget of quantization, in multiplications: results do not depend on a clock."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.core.ir import Graph, Node

PASSES = 20.0  # float passes over the calibration data that a search may take, if nothing else is said
_LEAST = 4e9  # multiplications that it may take in any case: some seconds
# In multiplications of numpy: what an element of a result costs beside them, and the start of an operator.
_ELEMENT = 32
_START = 20_000
INTEGER = 2.0  # the simulator takes integers so many times as long as floats


def node_work(graph: Graph, node: Node) -> int:
    """What the simulator takes for a node of floats and one sample."""
    macs = node.op.macs(*(graph.type(name) for name in node.inputs))
    return macs + _ELEMENT * sum(graph.type(name).size for name in node.outputs)


def pass_work(graph: Graph) -> float:
    """What a float pass takes for one sample."""
    return float(sum(node_work(graph, node) + _START for node in graph.nodes))


def integer_work(work: float, samples: int, batches: int, nodes: int = 1) -> float:
    """What so many nodes take in integers, of samples in batches."""
    return float_work(INTEGER * work, samples, batches, nodes)


def float_work(work: float, samples: int, batches: int, nodes: int = 1) -> float:
    """The same in floats."""
    return work * samples + _START * nodes * (1 + batches)


@dataclass
class SearchBudget:
    """What trials may take, and what they have taken."""

    limit: float = float("inf")
    spent: float = 0.0

    @staticmethod
    def of(graph: Graph, samples: int, passes: float = PASSES) -> SearchBudget:
        """So many float passes over so many samples."""
        return SearchBudget(max(passes * samples * pass_work(graph), _LEAST))

    def samples(self, share: float, work: float, most: int, least: int = 2) -> int:
        """How many samples a share of the whole pays for, if each takes so much work."""
        affordable = share * self.limit / max(work, 1)
        return most if affordable >= most else max(int(affordable), min(least, most))

    def keep(self, share: float) -> None:
        """Leave at least a share of the whole for what follows."""
        self.spent = min(self.spent, (1 - share) * self.limit)

    @property
    def left(self) -> float:
        return max(self.limit - self.spent, 0.0)

    @property
    def share(self) -> float:
        """Spent, of the whole."""
        return min(self.spent / self.limit, 1.0)
