"""A graph computed node by node on several samples at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.simulate import compute
from edgekit.core.types import Array, Value
from edgekit.quantize.calibration.sample_batches import Sample


class StepwiseExecutor:
    """What is not read any more is dropped. `inputs` are the names that samples have for the graph's."""

    def __init__(self, graph: Graph, samples: Sequence[Sample], inputs: Sequence[str]) -> None:
        self.graph = graph
        self.known = dict(graph.constants())
        self.values: list[dict[str, Array]] = [
            dict(zip(graph.inputs, (sample[name] for name in inputs), strict=True)) for sample in samples
        ]
        self.left = Counter(name for node in graph.nodes for name in node.inputs)
        self.position = 0

    def put(self, name: str, value: Value) -> None:
        """Another constant of this name."""
        assert value.data is not None
        self.graph = replace(self.graph, values={**self.graph.values, name: value})
        self.known[name] = value.data

    def step(self, node: Node, op: Op | None = None) -> None:
        """Compute a node, or what another operator in its place gives."""
        node = replace(node, op=op) if op else node
        for values in self.values:
            values |= compute(self.graph, node, self.known | values)
        for name in node.inputs:
            self.left[name] -= 1
            if not self.left[name] and name not in self.known:
                for values in self.values:
                    values.pop(name, None)

    def reach(self, node: Node) -> None:
        """Compute all that comes before a node."""
        while self.graph.nodes[self.position] is not node:
            self.step(self.graph.nodes[self.position])
            self.position += 1
