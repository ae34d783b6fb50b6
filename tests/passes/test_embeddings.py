"""Dense layers behind an embedding become tables of products."""

from dataclasses import replace

import numpy as np
from support.nets import Net, kinds

from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.reshape import Reshape
from edgekit.core.passes import verify
from edgekit.core.passes.embeddings import embeddings
from edgekit.core.types import DType, Type

STEPS = 6


def network(
    rows: int = 10, outputs: int = 12, layers: int = 2, *, shown: bool = False, lo: float = -np.inf
) -> Graph:
    """A table of rows of 8, which dense layers read, moved or not."""
    net = Net()
    net.inputs.append(net.input("i", Type(DType.S32, (STEPS, 1))))
    table = net.const(net.random(rows, 8))
    found = net(Gather(0), table, "i")
    image = net(Reshape((2, STEPS // 2, 8)), found)
    results = [
        net(Dense(lo), (found, image)[k % 2], net.random(outputs, 8), net.random(outputs))
        for k in range(layers)
    ]
    return net.done(*results, *[found] * shown)


def assert_same(before: Graph, after: Graph) -> None:
    verify(after)
    for seed in range(3):
        i = np.random.default_rng(seed).integers(-3, 14, (STEPS, 1)).astype(np.int32)  # out of range, too
        exact, found = (simulate.run(graph, {"i": i}) for graph in (before, after))
        for name in before.outputs:
            np.testing.assert_allclose(found[name], exact[name], rtol=1e-5, atol=1e-5)


def test_rows_of_products_are_looked_up() -> None:
    graph = network(lo=0.0)
    after = embeddings(graph)
    assert "Dense" not in kinds(after)
    assert kinds(after).count("Gather") == 2
    assert_same(graph, after)
    assert embeddings(after) is after


def test_large_tables_stay() -> None:
    graph = network(rows=20)  # 480 products; 352 weights and rows
    assert embeddings(graph) is graph


def test_a_table_that_is_read_elsewhere_counts() -> None:
    """96 products are as many as the weights, 80 numbers of the table stay for the output."""
    assert "Dense" not in kinds(embeddings(network(rows=8, layers=1, shown=True)))
    graph = network(rows=9, layers=1, shown=True)
    assert embeddings(graph) is graph
    assert "Dense" not in kinds(embeddings(network(rows=9, layers=1)))


def test_narrow_weights_of_a_file_stay() -> None:
    """Products of numbers of 16 bits have no 16 bits."""
    graph = replace(network(), stored_dtypes=(DType.F16,))
    assert embeddings(graph) is graph
