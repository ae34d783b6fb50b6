"""Sums that a convolution computes with its own result: the integers of both, in less memory."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.chains import Chain
from support.generated import Library, memory
from support.tools import require

from edgekit.codegen.program import compile_graph
from edgekit.codegen.verification.selftest import tolerance
from edgekit.codegen.verification.verify import compare
from edgekit.core import target
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add, Clip, Sub
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.simulate import random_inputs, run
from edgekit.core.target import Optimize
from edgekit.core.types import DType, Quant, Type

HOST = target.load("host")
SHAPE = (1, 7, 6, 20)
SIZE = 7 * 6 * 20
BUILDS: tuple[tuple[str, Optimize, str], ...] = (
    ("gcc", "speed", "-O3"),
    ("clang", "speed", "-O3"),
    ("gcc", "size", "-O2"),
)


class Residual(Chain):
    """Layers and sums, by one rule, of scales that differ."""

    def __init__(self, rule: str) -> None:
        self.rule = rule
        super().__init__(7, SHAPE)

    def quant(self) -> Quant:
        scale, zero = self.random.uniform(0.03, 0.09), self.random.integers(-20, 20)
        return Quant((float(np.float32(scale)),), (int(zero),), rounding="E" if self.rule == "E" else "tfl")

    def conv(self, x: str) -> str:
        self.last = x
        self.layer(Conv2d((1, 1), (1, 1, 1, 1)), 20, 3, 3, 20)
        return self.last

    def sum(self, op: Add | Sub, a: str, b: str) -> str:
        (made,) = self.builder.add(op, a, b, quant=self.quant())
        return made

    def graph(self, *outputs: str) -> Graph:
        return self.builder.graph("residual", ["x"], outputs)


def second(net: Residual) -> Graph:
    x = net.conv("x")
    return net.graph(net.conv(net.sum(Add(), x, net.conv(net.conv(x)))))


def first(net: Residual) -> Graph:
    x = net.conv("x")
    return net.graph(net.conv(net.sum(Add(), net.conv(net.conv(x)), x)))


def less(net: Residual) -> Graph:
    x = net.conv("x")
    return net.graph(net.sum(Sub(), x, net.conv(net.conv(x))))


def from_it(net: Residual) -> Graph:
    x = net.conv("x")
    return net.graph(net.sum(Sub(), net.conv(net.conv(x)), x))


def own_input(net: Residual) -> Graph:
    x = net.conv("x")
    return net.graph(net.conv(net.sum(Add(), x, net.conv(x))))


def read_again(net: Residual) -> Graph:
    x = net.conv("x")
    y = net.sum(Add(), x, net.conv(net.conv(x)))
    return net.graph(net.sum(Add(), net.conv(y), x))


def two_ways(net: Residual) -> Graph:
    x = net.conv("x")
    return net.graph(net.sum(Add(), net.conv(x), net.conv(net.conv(x))))


def of_the_caller(net: Residual) -> Graph:
    return net.graph(net.sum(Add(), "x", net.conv("x")))


FUSED = (second, first, less, from_it, own_input, read_again, two_ways, of_the_caller)


def seen(net: Residual) -> Graph:
    """The convolution is an output, too."""
    x = net.conv("x")
    y = net.conv(x)
    return net.graph(net.sum(Add(), x, y), y)


def twice(net: Residual) -> Graph:
    y = net.conv("x")
    return net.graph(net.sum(Add(), y, y))


def repeated(net: Residual) -> Graph:
    """What is added is one pixel."""
    y = net.conv("x")
    net.last = y
    net.layer(Conv2d(), 20, 7, 6, 20)
    return net.graph(net.sum(Add(), net.conv(y), net.last))


APART = (seen, twice, repeated)


def kernels(graph: Graph, name: str = "host") -> list[str]:
    return [line.kernel.name for line in compile_graph(graph, target.load(name)).lines]


@pytest.mark.parametrize(("compiler", "optimize", "level"), BUILDS)
def test_sums_are_those_of_the_simulator(
    compiler: str, optimize: Optimize, level: str, tmp_path: Path
) -> None:
    require(compiler)
    # clang takes long, and gets one rule for each.
    programs = [
        compile_graph(make(Residual(rule)).with_name(f"{make.__name__}_{rule}"), HOST)
        for i, make in enumerate((*FUSED, *APART))
        for rule in (("E", "tfl") if compiler == "gcc" else ("E", "tfl")[i % 2 :][:1])
    ]
    library = Library(programs, tmp_path, optimize, (level,), compiler)
    for program in programs:
        inputs = random_inputs(program.graph, seed=3)
        expected = run(program.graph, inputs)
        for fill in (0, 255):
            found = library.run(program, inputs, memory(program.arena.size, fill))
            for name in program.graph.outputs:
                assert len(np.unique(expected[name])) > 20, program.name
                assert np.array_equal(found[name], expected[name]), program.name


@pytest.mark.parametrize("rule", ["E", "tfl"])
@pytest.mark.parametrize("make", FUSED)
def test_no_call_is_left_for_the_sum(make: Callable[[Residual], Graph], rule: str) -> None:
    names = kernels(make(Residual(rule)))
    assert any(name.startswith("conv2d_add") for name in names), names
    assert not any(name.startswith(("add", "affine")) for name in names), names


@pytest.mark.parametrize("make", APART)
def test_sums_stay_where_they_are_not_all_that_a_convolution_is_for(
    make: Callable[[Residual], Graph],
) -> None:
    names = kernels(make(Residual("tfl")))
    assert any(name.startswith("add_s8") for name in names), names


def test_a_better_convolution_alone_stays_alone() -> None:
    """Cortex-M55 has no kernel for both; that of Cortex-M4 adds by factors, whatever the rule was."""
    names = kernels(second(Residual("E")), "cortex-m55")
    assert not any(name.startswith("conv2d_add") for name in names), names
    for rule in ("E", "tfl"):
        names = kernels(second(Residual(rule)), "cortex-m4")
        assert any(name.startswith("conv2d_add_affine") for name in names), names


def test_the_sum_lies_over_what_is_added() -> None:
    """Beside it there is room for one tensor, and for nothing else."""
    assert compile_graph(second(Residual("tfl")), HOST).arena.size == 2 * SIZE


def floats(seen_before: bool = False, bounded: bool = False, addend: str = "r") -> Graph:
    """clip(conv(x) + r), with r before the convolution, so that it may take its place."""
    builder, random = Builder(), np.random.default_rng(1)
    x = builder.input("x", Type(DType.F32, SHAPE))

    def conv(of: str) -> str:
        w = builder.const(random.normal(size=(20, 3, 3, 20), scale=0.1).astype(np.float32))
        b = builder.const(random.normal(size=20).astype(np.float32))
        return builder.add(Conv2d((1, 1), (1, 1, 1, 1), lo=0.0 if bounded else -np.inf), of, w, b)[0]

    r, y = conv(x), conv(x)
    others = {"r": r, "itself": y, "a pixel": builder.const(random.normal(size=20).astype(np.float32))}
    (total,) = builder.add(Add(), y, others[addend])
    bounds = (builder.const(np.float32(n)) for n in (-1, 6))
    (last,) = builder.add(Clip(), total, *bounds)
    return builder.graph("floats", [x], [last, total] if seen_before else [last])


@pytest.mark.parametrize(("compiler", "optimize", "level"), BUILDS)
def test_sums_of_floats_are_those_of_the_simulator(
    compiler: str, optimize: Optimize, level: str, tmp_path: Path
) -> None:
    require(compiler)
    program = compile_graph(floats(), HOST)
    assert [line.kernel.name for line in program.lines] == ["conv2d_f32", "conv2d_add_f32"]
    library = Library([program], tmp_path, optimize, (level,), compiler)
    inputs = random_inputs(program.graph, seed=3)
    (expected,) = run(program.graph, inputs).values()
    (found,) = library.run(program, inputs, memory(program.arena.size, 255)).values()
    assert compare(found, expected)[0] <= tolerance(DType.F32, expected)
    assert 0.2 < np.mean((expected > -1) & (expected < 6)) < 0.8


def test_sums_of_floats_lie_over_what_is_added() -> None:
    program = compile_graph(floats(), HOST, ports="arena")
    assert program.arena.size == 2 * 4 * SIZE  # x and r, of which the output takes the place


def test_sums_of_floats_whose_pixels_are_computed_twice_lie_elsewhere() -> None:
    program = compile_graph(floats(), target.load("x86-64-avx2"), ports="arena")
    assert any(line.kernel.name.startswith("conv2d_add") for line in program.lines)
    assert program.arena.size > 3 * 4 * SIZE


def test_bounds_stay_where_the_sum_is_an_output() -> None:
    assert kernels(floats(seen_before=True)) == ["conv2d_f32", "conv2d_add_f32", "clip_f32"]


@pytest.mark.parametrize("graph", [floats(bounded=True), floats(addend="itself"), floats(addend="a pixel")])
def test_sums_of_floats_stay_apart(graph: Graph) -> None:
    """There are bounds before the sum, or what is added is the result itself, or not of its shape."""
    assert not any(name.startswith("conv2d_add") for name in kernels(graph))
