"""Fully connected layers over heads of attention are convolutions: to the bit what the simulator computes."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.each_target import drive, load
from support.integer_bench import Bench, Seeded
from support.nets import Net
from support.x86 import check

from edgekit.codegen.program import Program, compile_graph
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Exp
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import DType

Heads = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
TARGETS = ("host", "cortex-m4", "cortex-m55", "aarch64", "x86-64-avx2")
# Shapes of what attention computes, with the order of a transpose behind it, and the rows of the layer.
HEADS: tuple[Heads, ...] = (
    ((1, 4, 6, 8), (0, 2, 1, 3), (6,)),
    ((3, 5, 4), (1, 0, 2), (1, 5)),
    ((2, 3, 4, 8), (0, 2, 1, 3), (2, 4)),
)
# Each of these reads a token's numbers from several places of a head, or tokens in another order.
OTHERS: tuple[Heads, ...] = (
    ((1, 4, 6, 8), (0, 2, 3, 1), (6,)),
    ((1, 4, 6, 8), (0, 3, 1, 2), (8,)),
    ((2, 3, 4, 8), (2, 0, 1, 3), (4, 2)),
    ((4, 6, 8), (1, 0, 2), (6, 2)),
)


def calls(program: Program) -> list[str]:
    return [line.call.kernel.removesuffix("_int") for line in program.lines]


def of_integers() -> Bench:
    bench = Bench(Seeded(3))
    for bench.rounding, (shape, perm, rows) in product(("E", "tfl", "tflm"), HEADS):
        quant = bench.quant()
        x = bench.input(*shape, quant=quant)
        (y,) = bench.builder.add(Transpose(perm), x, quant=quant)
        size = int(np.prod(shape)) // int(np.prod(rows))
        (y,) = bench.builder.add(Reshape((*rows, size)), y, quant=quant)
        bench.result(Dense(), y, *bench.weights(DType.S8, 24, size), quant=bench.quant(0, 6))
    return bench


def of_floats(shape: tuple[int, ...], perm: tuple[int, ...], rows: tuple[int, ...], reads: int = 1) -> Graph:
    net = Net()
    moved = net(Transpose(perm), net(Exp(), net.x(*shape)))
    x = net(Reshape((*rows, int(np.prod(shape)) // int(np.prod(rows)))), moved)
    size = net.type(x).shape[-1]
    ys = [net(Dense(), x, net.random(24, size), net.random(24)) for _ in range(reads)]
    return net.done(*ys)


@pytest.mark.parametrize("target", TARGETS)
def test_integers_are_those_of_the_layer(target: str, tmp_path: Path) -> None:
    bench = of_integers()
    program = compile_graph(bench.graph(), load(target))
    assert calls(program).count("conv2d") >= 6
    check(program, drive(program, tmp_path), [bench.inputs])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("heads", HEADS)
def test_floats_are_those_of_the_layer(target: str, heads: Heads, tmp_path: Path) -> None:
    program = compile_graph(of_floats(*heads), load(target))
    assert calls(program) == ["map1", "conv2d"]
    check(program, drive(program, tmp_path), [simulate.random_inputs(program.graph, 2)])


@pytest.mark.parametrize("others", OTHERS)
def test_others_are_copied(others: Heads) -> None:
    assert calls(compile_graph(of_floats(*others), load("aarch64"))) == ["map1", "copy", "dense"]


def test_of_several_layers_each_reads_the_copy() -> None:
    program = compile_graph(of_floats(*HEADS[0], reads=2), load("aarch64"))
    assert calls(program) == ["map1", "copy", "dense", "dense"]


def test_the_sum_behind_is_part_of_it() -> None:
    """A view of the result lies in between."""
    net = Net()
    x = net.x(1, 4, 6, 8)
    y = net(
        Dense(), net(Reshape((6, 32)), net(Transpose((0, 2, 1, 3)), x)), net.random(32, 32), net.random(32)
    )
    graph = net.done(net(Add(), net.x(1, 6, 32, name="residual"), net(Reshape((1, 6, 32)), y)))
    assert calls(compile_graph(graph, load("aarch64"))) == ["conv2d_add"]
