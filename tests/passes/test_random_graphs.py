"""Every pass, and all together, on random graphs: the same results, and nothing left to do."""

import pytest
from support import random_cases
from support.nets import assert_same
from support.random_graphs import random_movement, random_network

from edgekit.core.passes.simplify import PASSES, simplify
from edgekit.core.passes.transposes import cost

SEEDS = random_cases.same(20)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_simpler_network_computes_the_same(seed: int) -> None:
    graph = random_network(seed)
    assert_same(graph, simplify(graph), 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_data_movement_keeps_every_bit(seed: int) -> None:
    graph = random_movement(seed)
    assert_same(graph, simplify(graph), 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_pass_alone_keeps_the_results(seed: int) -> None:
    graph = random_network(seed)
    for each in PASSES:
        after = each(graph)
        assert_same(graph, after, 1e-9)
        assert each(after) is after, f"{each.__name__} finds something to do twice"


@pytest.mark.parametrize("seed", SEEDS)
def test_there_is_nothing_left_to_do(seed: int) -> None:
    for graph in random_network(seed), random_movement(seed):
        after = simplify(graph)
        assert simplify(after) is after
        assert all(each(after) is after for each in PASSES)


@pytest.mark.parametrize("seed", SEEDS)
def test_never_more_is_moved(seed: int) -> None:
    for graph in random_network(seed), random_movement(seed):
        assert cost(simplify(graph)) <= cost(graph)
