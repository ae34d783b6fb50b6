"""What every decoder with caches has in common, however it was written."""

from edgekit.core.ir import Graph
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.scatter import Scatter


def check_caches(graph: Graph, count: int) -> None:
    """Each cache is written by one operator, at one position for all heads, and read as it is by another."""
    caches = [state for state in graph.states if graph.type(state.input).rank == 4]
    assert len(caches) == count
    for cache in caches:
        node = graph.producer(cache.output)
        assert node is not None
        assert isinstance(node.op, Scatter)
        assert node.inputs[0] == cache.input
        at = graph.type(node.inputs[1]).shape
        assert at == (1, 1, graph.type(node.inputs[2]).shape[2], 1)
        assert [type(user.op) for user in graph.users(cache.output)] == [CachedAttention]
