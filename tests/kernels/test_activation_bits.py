"""Activations of networks that quantize rows in each run have the bits of the simulator."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import boards, each_target
from support.each_target import drive
from support.nets import Net

import edgekit
from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Gelu, GeluTanh, Mish, Sigmoid, Softplus, Swish, Tanh
from edgekit.core.ops.dense import Dense
from edgekit.core.target import Target

TARGETS = (
    "host",
    "cortex-m0plus",
    "cortex-m4",
    "cortex-m7",
    "cortex-m33",
    "cortex-m55",
    "x86-64",
    "x86-64-avx2",
    "x86-64-avx512",
    "aarch64",
    "armv7-neon",
    "wasm32-simd",
    "riscv64-rvv",
)
# Operators, their factors, and how large weights are: Helium takes subnormal numbers for 0. Gates have none.
FUNCTIONS: tuple[tuple[Any, tuple[float, ...], float], ...] = (
    (Swish(), (1.0,), 2),
    (Swish(), (1.702,), 2),
    *((kind(), (), 2) for kind in (Tanh, Gelu)),
    (GeluTanh(), (), 0.01),
    *((kind(), (), 0.05) for kind in (Sigmoid, Softplus, Mish)),
)
SIZE = 24


def load(name: str) -> Target:
    return each_target.load(name) if name in each_target.TARGETS else boards.load(name, "zig")


def between_layers() -> Graph:
    """Each function between two layers; of sums of all sizes, and of such as have no gate left."""
    net = Net()
    x = net.x(40, SIZE)
    outputs = []
    for op, factors, size in FUNCTIONS:
        wide = net(Dense(), x, size * net.random(SIZE, SIZE), np.zeros(SIZE, np.float32))
        y = net(op, wide, *factors)
        outputs += [y, net(Dense(), y, net.random(SIZE, SIZE), net.random(SIZE))]
    graph, _ = edgekit.quantize_model(net.done(*outputs), None, dtype="int8", activations="dynamic")
    return graph


@pytest.mark.parametrize("name", TARGETS)
def test_activations_between_layers(name: str, tmp_path: Path) -> None:
    graph = between_layers()
    rows = np.random.default_rng(6).normal(size=(40, SIZE)) * np.geomspace(0.01, 40, 40)[:, None]
    given = {"x": rows.astype(np.float32)}
    program = compile_graph(graph, load(name))
    found, expected = drive(program, tmp_path, ("-O2",)).run(program, given), simulate.run(graph, given)
    for y, value in expected.items():
        np.testing.assert_array_equal(found[y], value)
