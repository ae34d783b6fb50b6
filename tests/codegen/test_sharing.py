"""Which tensors share memory: what is joined is computed in its place, and outputs in the arena stay."""

import numpy as np
import pytest
from support.nets import Net
from support.stateful import Remembering

from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Exp
from edgekit.core.ops.arithmetic import Neg
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.slice import Slice
from edgekit.core.types import DType

HOST = target.load("host")


def kernels(program: Program) -> list[str]:
    return [line.call.label or line.call.kernel for line in program.lines]


@pytest.mark.parametrize(("axis", "copies"), [(0, 0), (1, 2)])
def test_what_is_joined_along_the_first_axis_is_computed_there(axis: int, copies: int) -> None:
    net = Net()
    x = net.x(4, 8)
    joined = net(Concat(axis), net(Exp(), x), net(Neg(), x))
    program = compile_graph(net.done(net(Exp(), joined, name="y")), HOST)
    assert sorted(kernels(program)) == sorted(["exp", "neg", "exp", *["copy"] * copies])


def two_outputs() -> Graph:
    """One output that is there early, and a chain to another."""
    net = Net()
    x = net.x(4, 8)
    early = net(Exp(), x, name="early")
    y = early
    for _ in range(4):
        y = net(Concat(0), net(Neg(), y), y)
    return net.done(early, net(Exp(), y, name="late"))


def test_no_later_result_lies_over_an_output_in_the_arena() -> None:
    program = compile_graph(two_outputs(), HOST, ports="arena")
    begins = [line.operands[-1].place.offset for line in program.lines]
    spans = [(at, at + line.call.args[-1].type.bytes) for at, line in zip(begins, program.lines, strict=True)]
    (at,) = [i for i, line in enumerate(program.lines) if line.call.args[-1].name == "early"]
    first, end = spans[at]
    assert all(last <= first or begin >= end for begin, last in spans[at + 1 :])


@pytest.mark.parametrize("begin", [0, 2])
def test_a_state_does_not_take_in_what_is_larger(begin: int) -> None:
    """Its next content is a part of a tensor: it is copied."""
    net = Remembering(DType.F32)
    state = net.state("s", np.zeros((2, 4), np.float32))
    y = net(Exp(), net.x(4, 4))
    part = net(Slice((begin, 0), (1, 1), (2, 4)), y)
    graph = net.remembering([net(Neg(), y, name="z")], {state: part}, "part")
    program = compile_graph(graph, HOST)
    places = [
        (operand.place.offset, arg.type.bytes)
        for line in program.lines
        for operand, arg in zip(line.operands, line.call.args, strict=True)
        if operand.place.kind == "state"
    ]
    assert places
    assert all(offset + size <= 2 * 4 * graph.type(state).dtype.bytes for offset, size in places)
