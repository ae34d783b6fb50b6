"""In any plan of memory, numbers are where they are read: random networks, without compiling them."""

from typing import Any

import pytest
from support.chains import random_chain
from support.memory_check import check_memory
from support.nets import Net
from support.random_graphs import random_movement, random_network

from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.core.ops.activations import Exp
from edgekit.core.ops.arithmetic import Add, Mul, Neg
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.slice import Slice
from edgekit.core.types import DType

SEEDS = range(20)


@pytest.mark.parametrize("name", ["host", "cortex-m4"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_networks_find_their_numbers(seed: int, name: str) -> None:
    chosen = target.load(name)
    graphs = (random_network(seed, dtype=DType.F32), random_movement(seed), random_chain(seed))
    for graph in graphs:
        check_memory(compile_graph(graph, chosen), seed)


def shared(net: Net, first: bool, op: Any, joined: bool) -> str:
    """A tensor is read beside a row of itself, in either place, and joined with what comes of it."""
    x = net(Exp(), net.x(4, 8))
    row = net(Slice((1, 0), (1, 1), (1, 8)), x)
    y = net(op, *((x, row) if first else (row, x)))
    return net(Neg(), net(Concat(0), net(Neg(), y), y, x) if joined else y)


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("op", [Mul(), Add()], ids=["mul", "add"])
@pytest.mark.parametrize("first", [False, True])
def test_what_is_part_of_an_operand_is_not_written_over(first: bool, op: Any, joined: bool) -> None:
    net = Net()
    check_memory(compile_graph(net.done(shared(net, first, op, joined)), target.load("host")))
