"""Layers of 16-bit floats take SIMD kernels of float32, between casts, where memory allows it."""

from pathlib import Path

import numpy as np
import pytest
from support.called import kernels
from support.each_target import drive, load
from support.nets import Net

from edgekit.codegen.program import Program, compile_graph
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import DType

HALF = (DType.F16, DType.BF16)


def network(dtype: DType) -> Graph:
    """A convolution and a fully connected layer."""
    net = Net(dtype, seed=4)
    pads = (1, 1, 1, 1)
    y = net(Conv2d(pads=pads, lo=0.0), net.x(2, 9, 7, 5), net.random(24, 3, 3, 5), net.random(24))
    y = net(Reshape((2, 9 * 7 * 24)), y)
    return net.done(net(Dense(), y, net.random(33, 9 * 7 * 24) / 64, net.random(33)))


def in_portable_c(program: Program) -> set[str]:
    return {name.partition("_")[0] for name in kernels(program, "ref")}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("x86-64-avx2", DType.F16), ("x86-64-avx512", DType.BF16), ("riscv64-rvv", DType.BF16)],
)
def test_layers_take_kernels_of_float32(name: str, dtype: DType, tmp_path: Path) -> None:
    graph = network(dtype)
    program = compile_graph(graph, load(name))
    assert not in_portable_c(program) & {"conv2d", "dense"}
    driver, inputs = drive(program, tmp_path), simulate.random_inputs(graph, 7)
    (found,) = driver.run(program, inputs).values()
    (expected,) = simulate.run(graph, inputs).values()
    assert found.dtype == expected.dtype == dtype.numpy
    wide = expected.astype(np.float32)
    # Sums in another order may be rounded to the next number of 8 or 11 bits.
    step = np.abs(wide).max() * (2.0**-8 if dtype is DType.BF16 else 2.0**-11)
    np.testing.assert_allclose(found.astype(np.float32), wide, rtol=0, atol=step)


@pytest.mark.parametrize("dtype", HALF)
def test_memory_comes_first_on_microcontrollers_and_where_size_does(dtype: DType) -> None:
    graph = network(dtype)
    for program in (
        compile_graph(graph, targets.load("cortex-m7")),
        compile_graph(
            graph, targets.load("x86-64-avx2"), weight_limits={node.outputs[0]: 0 for node in graph.nodes}
        ),
        compile_graph(graph, targets.load("host")),
    ):
        assert {"conv2d", "dense"} <= in_portable_c(program)


def test_few_products_for_each_number_are_not_worth_casts() -> None:
    net = Net(DType.F16)
    y = net(Conv2d(), net.x(1, 9, 7, 4), net.random(5, 1, 1, 4), net.random(5))
    program = compile_graph(net.done(y), targets.load("x86-64-avx2"))
    assert in_portable_c(program) == {"conv2d"}
