"""Of the kernels that fit a call, the cheapest is selected."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support.each_target import EVERY
from support.tools import require

from benchmarks import calibration_layers, kernel_layers
from benchmarks.calibration_graph import Layers
from benchmarks.calibration_plans import PLANS
from benchmarks.selection import clocked
from edgekit.codegen.cost import calibrations
from edgekit.codegen.kernels import contracts, expressions, kernel_files, selection, symbols
from edgekit.codegen.kernels import variants as variants_module
from edgekit.codegen.kernels.expressions import WEIGHT_LIMIT
from edgekit.codegen.kernels.selection import KernelCost, cheapest, cost, small, weight_bytes
from edgekit.codegen.kernels.sources import candidates, variant_of
from edgekit.codegen.lowering.call_rules import rewritten
from edgekit.codegen.lowering.lower import layer_of, lower
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.ops import Arg, Call
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.types import DType, Quant, Type, Value
from scripts.selection import explained

M4 = targets.load("cortex-m4")
# Sides, stride and channels; the file with the most conditions takes up to twice the instructions.
DEPTHWISE = ((6, 2, 128), (5, 2, 96), (10, 2, 96), (8, 2, 128), (7, 2, 64), (3, 1, 256), (14, 2, 64))


def depthwise(side: int, stride: int, channels: int) -> Call:
    rng = np.random.default_rng(side)
    weights = rng.integers(-127, 128, (channels, 3, 3, 1), np.int8)
    out = -(-side // stride)
    image = Type(DType.S8, (1, side, side, channels), Quant((0.5,), (3,), None, "tfl"))
    result = Type(DType.S8, (1, out, out, channels), Quant((9.0,), (-5,), None, "tfl"))
    args = [
        Arg("x", Value(image)),
        Arg("w", Value(Type(DType.S8, weights.shape, Quant((0.5,) * channels, (0,) * channels, 0)), weights)),
        Arg("b", Value(Type(DType.S32, (channels,)), np.zeros(channels, np.int32))),
    ]
    down = (out - 1) * stride + 3 - side
    pads = (down // 2, down // 2, down - down // 2, down - down // 2)
    op = Conv2d(groups=channels, strides=(stride, stride), pads=pads)
    (call,) = op.lower(args, [Arg("y", Value(result))])
    assert isinstance(call, Call)
    return call


@pytest.mark.parametrize(("side", "stride", "channels"), DEPTHWISE)
def test_the_cheapest_is_taken_whatever_conditions_it_has(side: int, stride: int, channels: int) -> None:
    call = depthwise(side, stride, channels)
    found, operands = candidates(call, M4)
    costs = {variant.stem: cost(variant, call, M4, operands) for variant in found}
    assert set(costs) == {"depthwise2d_int", "depthwise2d_int.m1"}
    assert found[0].stem == "depthwise2d_int"  # the first by name, with the most conditions
    assert costs["depthwise2d_int"]
    assert costs["depthwise2d_int.m1"]
    assert costs["depthwise2d_int.m1"] < costs["depthwise2d_int"]
    assert variant_of(call, M4).stem == "depthwise2d_int.m1"


def test_an_emulator_counts_least_for_the_kernels_that_are_taken() -> None:
    require("qemu-system-arm")
    found = kernel_layers.fitting(network(), M4)
    counts = kernel_layers.counted(M4, found)
    taken = [next(iter(layer.kernels)) for layer in found]
    assert len(found) == 3
    assert set(taken) == {"dsp/depthwise2d_int", "dsp/depthwise2d_int.m1"}
    assert max(layer.off(counts) for layer in found) < 1.1


def network() -> Graph:
    """Layers for which one kernel is better and for which the other is."""
    net = Layers(1, (DType.S8, DType.S8, DType.S8), "tfl")
    for _ in range(3):
        calibration_layers.depthwise(net)
    return net.graph()


def test_a_processor_that_is_not_calibrated_goes_by_what_files_say() -> None:
    call, target = depthwise(6, 2, 128), replace(M4, core="")
    (one, other), operands = candidates(call, target)
    assert cost(replace(one, work={}), call, target, operands) is None
    slow, fast = replace(one, work={"products": 3.0}), replace(other, work={"products": 2.0, "calls": 1.0})
    known = cost(fast, call, target, operands)
    assert known
    assert known.instructions == 2.0 * call.macs + 1.0
    assert cheapest(call, [slow, fast], target, operands) is fast
    assert cheapest(call, [fast, slow], target, operands) is fast


def test_a_kernel_without_costs_is_never_selected_beside_one_that_has_them() -> None:
    """Otherwise a slower one would be by what its name is, or by how many conditions it has."""
    call, target = depthwise(6, 2, 128), replace(M4, core="")
    (one, other), operands = candidates(call, target)
    known, unknown = replace(one, work={"products": 1e6}), replace(other, work={})
    for found in ([known, unknown], [unknown, known]):
        assert cheapest(call, found, target, operands) is known


def test_small_weights_come_before_fewer_instructions() -> None:
    seen = 0
    for plain in calls(kernel_layers.graph(1, 10)):
        found, operands = candidates(plain, M4)
        sizes = {variant: weight_bytes(variant, plain, operands) for variant in found}
        for limit in (0, *sizes.values()):
            call = replace(plain, facts={**plain.facts, WEIGHT_LIMIT: limit})
            assert sizes[cheapest(call, found, M4, operands)] <= max(limit, small([*sizes.values()]))
        seen += len({*sizes.values()}) > 1
    assert seen


def test_working_memory_decides_between_equal_instructions() -> None:
    assert KernelCost(10.0, 4) < KernelCost(10.0, 8) < KernelCost(11.0, 0)


@pytest.mark.parametrize("name", EVERY)
def test_kernels_that_compete_say_what_they_cost_and_none_the_same(name: str) -> None:
    """Of two that cost the same, one is of no use: it is to go, or to say what it is better for."""
    target = targets.load(name)
    for plan in range(len(PLANS)):
        network = kernel_layers.graph(1, plan)
        for plain in calls(network):
            call = rewritten(plain, network, target)
            found, operands = candidates(call, target)
            if len(found) > 1:
                costs = [cost(variant, call, target, operands) for variant in found]
                assert len({None, *costs}) == len(costs) + 1, [variant.file for variant in found]


def calls(graph: Graph) -> list[Call]:
    return [s for node in graph.nodes for s in layer_of(graph, node).steps if isinstance(s, Call)]


@pytest.mark.parametrize("name", ["cortex-m4", "cortex-m55", "riscv64-rvv", "x86-64-avx2", "wasm32-simd"])
def test_selections_are_few_and_read_nothing_twice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their time is what benchmarks/selection.py measures."""
    target, networks = targets.load(name), [layers_of_each_family(plan) for plan in (0, 1, 6)]
    for network in networks:
        lower(network, target)
    known = misses()
    monkeypatch.setattr(selection, "pack", None)
    with clocked() as clock:
        lowered = [layer for network in networks for layer in lower(network, target)]
    assert misses() == known
    assert clock.calls["variants_of"] == 0
    number = sum(isinstance(step, Call) for layer in lowered for step in layer.steps)
    assert number > 60
    assert number <= clock.calls["fitting"] == clock.calls["cheapest"] <= 4 * number


def test_a_script_says_why_a_kernel_is_not_taken() -> None:
    lines = list(explained(network(), M4, layer="depthwise"))
    kernels = [line for line in lines if line.startswith("  ")]
    assert sum("selected, " in line for line in kernels) == len(lines) - len(kernels) == 3
    assert "  dsp/depthwise2d_int.s16          does not fit: @for X=s16" in kernels
    assert "  dsp/depthwise2d_int.ic1_pairs    does not fit: @when in_c == 1" in kernels
    assert "  ref/depthwise2d_int              fits, a later instruction set" in kernels
    assert any(re.fullmatch(r"  dsp/depthwise2d_int\S* +fits, [\d,]+ instructions", line) for line in kernels)
    assert list(explained(network(), M4, layer="no such layer")) == []


def misses() -> dict[str, int]:
    """How often each cached function of the selection had to compute something."""
    modules = (calibrations, contracts, expressions, kernel_files, selection, symbols, variants_module)
    found = {f"{m.__name__}.{name}": function for m in modules for name, function in vars(m).items()}
    return {name: f.cache_info().misses for name, f in found.items() if hasattr(f, "cache_info")}


def layers_of_each_family(plan: int) -> Graph:
    kinds, rounding, families = PLANS[plan]
    net = Layers(1, kinds, rounding)
    for family in families:
        family(net)
    return net.graph()
