"""Weights are as small as the flash of a target or the user wants, where they cost least time."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.integer_bench import Bench, Seeded
from support.tools import require, require_module

from edgekit import api
from edgekit.codegen.compilation.build import build
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import DType, Type

M4 = targets.load("cortex-m4")
FASTEST = replace(M4, weight_growth=4.0)


def network(channels: int = 16, apart: int = 2) -> Graph:
    """Weights that are used 36 times, then ones that are used four times, then ones that are used once. Cells
    of the first windows are so many `apart`."""
    bench = Bench(Seeded(7))  # whose results vary
    bench.rounding = "E"
    x = bench.input(1, 6, 6, channels)
    for stride, dilation in ((1, apart), (3, 1)):
        w, b = bench.weights(DType.S8, 16, 3, 3, bench.builder.type(x).shape[3])
        op = Conv2d((stride, stride), (dilation,) * 4, (dilation, dilation), 1, -np.inf, np.inf)
        (x,) = bench.builder.add(op, x, w, b, quant=bench.quant(0, 4))
    (x,) = bench.builder.add(Reshape((1, 64)), x)
    w, b = bench.weights(DType.S8, 32, 64)
    bench.result(Dense(), x, w, b, quant=bench.quant(0, 4))
    return bench.graph()


def with_flash(size: int) -> targets.Target:
    return replace(FASTEST, memory={"flash": size})


def small_layers(program: Program) -> list[bool]:
    return [line.kernel.name.endswith("bytes") for line in program.lines]


def test_what_fits_is_fast() -> None:
    graph = network()
    need = compile_graph(graph, M4).weight_bytes
    assert small_layers(fit(graph, FASTEST)) == [False, False, False]
    assert small_layers(fit(graph, with_flash(need))) == [False, False, False]
    assert small_layers(fit(graph, with_flash(need + 100), others=100)) == [False, False, False]


def test_by_default_a_quarter_more_bytes_goes_where_weights_are_used_most() -> None:
    assert small_layers(fit(network(), M4)) == [True, True, True]  # a third of the weights, each
    graph = network(channels=4)
    made, least = fit(graph, M4), fit(graph, M4, optimize="size")
    assert small_layers(made) == [False, True, True]
    assert made.weight_bytes - least.weight_bytes == 16 * 3 * 3 * 4
    short = replace(M4, memory={"flash": made.weight_bytes - 1})
    assert small_layers(fit(graph, short)) == [True, True, True]


def test_weights_that_are_used_least_become_small_first() -> None:
    graph = network()
    need = compile_graph(graph, M4).weight_bytes
    dense, convolution = 32 * 64, 16 * 3 * 3 * 16
    assert small_layers(fit(graph, with_flash(need - 1))) == [False, False, True]
    assert small_layers(fit(graph, with_flash(need), others=dense)) == [False, False, True]
    assert small_layers(fit(graph, with_flash(need - dense - 1))) == [False, True, False]
    assert small_layers(fit(graph, with_flash(need - dense - convolution))) == [False, True, True]
    assert small_layers(fit(graph, with_flash(need - dense - convolution - 1))) == [True, True, False]
    assert small_layers(fit(graph, with_flash(0))) == [True, True, True]


def test_all_are_small_for_size() -> None:
    made = fit(network(), M4, optimize="size")
    assert small_layers(made) == [True, True, True]
    weights = 2 * 16 * 3 * 3 * 16 + 32 * 64
    assert compile_graph(network(), M4).weight_bytes - made.weight_bytes == weights


def test_targets_without_a_choice_have_none() -> None:
    graph, host = network(), targets.load("host")
    assert fit(graph, host, optimize="size").weight_bytes == compile_graph(graph, host).weight_bytes
    assert (
        fit(graph, replace(host, memory={"flash": 0})).weight_bytes == compile_graph(graph, host).weight_bytes
    )


def test_a_library_is_compiled_until_it_fits(tmp_path: Path) -> None:
    require_module("ziglang")
    require("qemu-system-arm")
    fast = build(network(), FASTEST, tmp_path / "fast", check=False)
    assert fast.flash_bytes is not None
    fitted = build(network(), with_flash(fast.flash_bytes - 1), tmp_path / "fitted", check=True)
    assert fitted.flash_bytes is not None
    assert fitted.flash_bytes < fast.flash_bytes
    assert fitted.verification is not None
    assert fitted.verification.exact
    with pytest.raises(EdgeKitError, match="of flash"):
        build(network(), with_flash(6_000), tmp_path / "never", check=False)


def test_points_of_winograd_are_a_third_form_on_cortex_m() -> None:
    graph = network(apart=1)
    fastest, least = fit(graph, FASTEST), fit(graph, M4, optimize="size")
    assert winograd_layers(fastest) == [True, False, False]
    weights = 16 * 3 * 3 * 16  # 16 points of 16 bits take 32 / 9 of them
    larger = weights * 32 // 9 - weights + weights + 32 * 64
    assert fastest.weight_bytes - least.weight_bytes == larger
    assert small_layers(fit(graph, with_flash(fastest.weight_bytes - 1))) == [False, False, True]
    less = fit(graph, with_flash(fastest.weight_bytes - 32 * 64 - weights - 1))
    assert not any(winograd_layers(less))


def test_working_memory_of_points_may_not_fill_the_arena() -> None:
    """Which is no matter where another layer takes more."""
    frugal, asked = fit(tiled(), M4), fit(tiled(), FASTEST)
    assert winograd_layers(asked) == [True]
    assert winograd_layers(frugal) == [False]
    assert frugal.arena_bytes < asked.arena_bytes
    larger = tiled(is_behind_more=True)
    assert winograd_layers(fit(larger, M4)) == [False, False, False, True]


def test_little_ram_costs_few_instructions() -> None:
    """Working memory stays where layers are much slower without it, unless a limit of RAM excludes it."""
    fast, frugal = fit(tiled(), FASTEST), fit(tiled(), M4)
    assert winograd_layers(fit(tiled(), in_ram(0))) == [True]
    assert winograd_layers(fit(tiled(), in_ram(with_ports(fast)))) == [True]
    assert winograd_layers(fit(tiled(), in_ram(with_ports(fast) - 1))) == [False]
    assert winograd_layers(fit(tiled(), in_ram(with_ports(frugal)))) == [False]
    with pytest.raises(EdgeKitError, match="of RAM at least"):
        fit(tiled(), in_ram(with_ports(frugal) - 1))


def test_loops_over_rows_spare_working_memory() -> None:
    graph = tiled(is_behind_more=True)
    usual, least = fit(graph, FASTEST), fit(graph, in_ram(0))
    assert winograd_layers(usual) == [False, False, False, True]
    assert not any(winograd_layers(least))
    assert least.arena_bytes < usual.arena_bytes / 5
    assert fit(graph, in_ram(with_ports(usual))).weight_limits == usual.weight_limits


def in_ram(limit: int) -> targets.Target:
    return replace(FASTEST, least_ram=True, ram_limit=limit)


def with_ports(program: Program) -> int:
    return program.arena_bytes + sum(port.type.bytes for port in (*program.inputs, *program.outputs))


def tiled(is_behind_more: bool = False) -> Graph:
    """A small image in 3 by 3 windows, alone or made of a large one by a layer with more weights."""
    bench, layers = Bench(Seeded(3)), [(3, 16)]
    bench.rounding = "E"
    if is_behind_more:
        layers = [(1, 8), (8, 64), (1, 16), (3, 12)]
    x = bench.input(1, 64, 64, 8) if is_behind_more else bench.input(1, 8, 8, 16)
    for size, channels in layers:
        w, b = bench.weights(DType.S8, channels, size, size, bench.builder.type(x).shape[3])
        op = Conv2d((1, 1), (1, 1, 1, 1)) if size == 3 else Conv2d((size, size))
        (x,) = bench.builder.add(op, x, w, b, quant=bench.quant(0, 4))
    return bench.builder.graph("net", list(bench.inputs), [x])


def convolutions() -> Graph:
    """Windows of 3 by 3 over a large image, then over a small one: less work, and most of the weights."""
    rng = np.random.default_rng(5)
    b = Builder()
    x = y = b.input("x", Type(DType.F32, (1, 64, 64, 32)))
    for outputs, stride in ((32, 1), (64, 4), (64, 1)):
        w = b.const(rng.standard_normal((outputs, 3, 3, b.type(y).shape[3])).astype(np.float32))
        op = Conv2d((stride, stride), (1, 1, 1, 1))
        y = b.one(op, y, w, b.const(np.zeros(outputs, np.float32)))
    return b.graph("net", [x], [y])


def winograd_layers(program: Program) -> list[bool]:
    return ["winograd" in line.kernel.name for line in program.lines]


def test_points_of_winograd_take_no_more_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, target = convolutions(), targets.load("x86-64-avx512")
    least = fit(graph, replace(target, weight_growth=1.0))
    assert winograd_layers(least) == [False, False, False]
    some = fit(graph, replace(target, weight_growth=1.5))
    assert winograd_layers(some) == [True, False, False]  # where points are used most
    assert some.weight_bytes <= 1.5 * least.weight_bytes
    assert winograd_layers(fit(graph, replace(target, weight_growth=4.0))) == [True, False, True]
    assert winograd_layers(fit(graph, target)) == [True, False, True], "a megabyte is no matter"
    monkeypatch.setattr("edgekit.codegen.lowering.compact_weights._UNBOUNDED", 1 << 16)
    assert winograd_layers(fit(graph, target)) == [True, False, False], "twice as much by default"


def test_a_bound_that_no_weights_keep_is_refused() -> None:
    for growth in (0.5, -1.0, float("inf")):
        with pytest.raises(EdgeKitError, match="times their bytes"):
            api.estimate(convolutions(), weight_growth=growth)
