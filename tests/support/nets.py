"""Small graphs for tests: a few words to build them, and the question whether two compute the same."""

from collections import Counter
from typing import Any

import numpy as np

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops import Op
from edgekit.core.passes import verify
from edgekit.core.passes.transposes import moves
from edgekit.core.simulate import random_inputs, run
from edgekit.core.types import DType, Type


class Net(Builder):
    """A graph in the making: constants may be given as they are, outputs are called y, or y0, y1, ..."""

    def __init__(self, dtype: DType = DType.F32, seed: int = 0) -> None:
        super().__init__()
        self.dtype = dtype
        self.rng = np.random.default_rng(seed)
        self.inputs: list[str] = []

    def x(self, *shape: int, name: str = "x") -> str:
        """An input."""
        self.inputs.append(self.input(name, Type(self.dtype, shape)))
        return self.inputs[-1]

    def random(self, *shape: int) -> np.ndarray[Any, Any]:
        """Normal numbers, or small integers."""
        if self.dtype.is_float:
            return self.rng.standard_normal(shape).astype(self.dtype.numpy)
        return self.rng.integers(-9, 10, shape).astype(self.dtype.numpy)

    def __call__(self, op: Op, *operands: Any, name: str = "") -> str:
        """The result of an operator; what is not a name is a constant."""
        names = (o if isinstance(o, str) else self.const(o, self.dtype.numpy) for o in operands)
        return self.one(op, *names, name=name)

    def done(self, *outputs: str) -> Graph:
        """The graph, verified."""
        graph = self.graph("net", self.inputs, outputs)
        verify(graph)
        return graph


def kinds(graph: Graph) -> list[str]:
    """The names of the operators, in order."""
    return [type(node.op).__name__ for node in graph.nodes]


def count(graph: Graph, kind: str) -> int:
    """How many nodes are of a kind; of transposes those which move something."""
    if kind == "Transpose":
        return sum(moves(graph, node) for node in graph.nodes)
    return Counter(kinds(graph))[kind]


def assert_same(before: Graph, after: Graph, tolerance: float = 1e-5) -> None:
    """Both compute the same, within a tolerance relative to the range of each output; 0: the same bits."""
    verify(after)
    assert (after.inputs, after.outputs) == (before.inputs, before.outputs)
    for seed in range(2):
        inputs = random_inputs(before, seed)
        expected, found = run(before, inputs), run(after, inputs)
        for name in before.outputs:
            a, b = expected[name], found[name]
            assert a.shape == b.shape, name
            assert a.dtype == b.dtype, name
            if tolerance == 0 or not np.issubdtype(a.dtype, np.floating):
                assert a.tobytes() == b.tobytes(), name
            else:
                scale = float(np.abs(a[np.isfinite(a)]).max(initial=0))
                np.testing.assert_allclose(b, a, rtol=0, atol=tolerance * scale, err_msg=name)
