"""Rotary embeddings and SwiGLU as one call each, and what is left as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import boards, x86
from support.called import kernels
from support.rotary_and_swiglu import FUSED, HALF, SHAPE, DecoderNet, angles, gated, magnitudes

from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Mul
from edgekit.core.target import Optimize

TARGETS: tuple[tuple[str, Optimize], ...] = (
    ("cortex-m4", "size"),
    ("cortex-m7", "speed"),
    ("x86-64-avx2", "size"),
)


def of_heads(net: DecoderNet) -> Graph:
    """Each head has angles of its own."""
    x, (cos, sin) = net.x(*SHAPE), angles(net, HALF, heads=3)
    return net.done(net.turned(*net.halves(x), cos, sin))


def of_two(net: DecoderNet) -> Graph:
    """The halves are of two tensors."""
    x, other, (cos, sin) = net.x(*SHAPE), net.x(*SHAPE, name="other"), angles(net, HALF)
    return net.done(net.turned(net.halves(x)[0], net.halves(other)[1], cos, sin))


def backwards(net: DecoderNet) -> Graph:
    """The halves change places, which turns the other way."""
    x, (cos, sin) = net.x(*SHAPE), angles(net, HALF)
    return net.done(net.turned(*net.halves(x)[::-1], cos, sin))


def seen(net: DecoderNet) -> Graph:
    """The gate is an output, too."""
    x, y = net.x(3, 31), net.x(3, 31, name="y")
    gate = net.gate(x)
    return net.done(net(Mul(), gate, y), gate)


def steeper(net: DecoderNet) -> Graph:
    x, y = net.x(3, 31), net.x(3, 31, name="y")
    return net.done(net(Mul(), net.gate(x, 1.702), y))


def broadcast(net: DecoderNet) -> Graph:
    x, y = net.x(3, 31), net.x(1, 31, name="y")
    return net.done(net(Mul(), net.gate(x), y))


OTHERS = (of_heads, of_two, backwards, seen, steeper, broadcast)


@pytest.mark.parametrize(("name", "optimize"), TARGETS)
@pytest.mark.parametrize("net", FUSED)
def test_operators_are_one_call(
    net: Callable[[DecoderNet], Graph], name: str, optimize: Optimize, tmp_path: Path
) -> None:
    graph = net(DecoderNet())
    is_board = name.startswith("cortex")
    support: Any = boards if is_board else x86
    program = compile_graph(graph, support.load(name, "zig" if is_board else "gcc"))
    assert [line.call.kernel for line in program.lines] == [FUSED[net]]
    if net is gated and is_board:
        assert kernels(program, "vfp") == {"swiglu_f32": 1}
    numbers = np.random.default_rng(3)
    given = {n: numbers.normal(size=graph.type(n).shape).astype(np.float32) * 9 for n in graph.inputs}
    driver = support.drive(program, tmp_path, optimize, *(("-O2",) if is_board else ()))
    found, expected = driver.run(program, given), simulate.run(graph, given)
    for output in graph.outputs:
        np.testing.assert_allclose(found[output], expected[output], rtol=2e-6, atol=1e-5)


@pytest.mark.parametrize(("name", "optimize"), [*TARGETS, ("cortex-m55", "speed"), ("x86-64", "speed")])
def test_gates_of_any_magnitude(name: str, optimize: Optimize, tmp_path: Path) -> None:
    """Those far below 0 are closed, however far; infinities and NaN are as the operators have them."""
    graph = gated(DecoderNet())
    is_board = name.startswith("cortex")
    support: Any = boards if is_board else x86
    program = compile_graph(graph, support.load(name, "zig" if is_board else "gcc"))
    x, y = magnitudes()
    driver = support.drive(program, tmp_path, optimize, *(("-O2",) if is_board else ()))
    with np.errstate(over="ignore", invalid="ignore"):
        given = dict(zip(graph.inputs, (x, y), strict=True))
        found, expected = driver.run(program, given), simulate.run(graph, given)
    for output in graph.outputs:
        np.testing.assert_allclose(found[output], expected[output], rtol=2e-6, atol=1e-30)


@pytest.mark.parametrize("net", OTHERS)
def test_what_differs_stays(net: Callable[[DecoderNet], Graph]) -> None:
    program = compile_graph(net(DecoderNet()), boards.load("cortex-m7", "zig"))
    assert not {"rotary", "swiglu"} & {line.call.kernel for line in program.lines}
