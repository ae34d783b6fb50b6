"""The selected kernel takes the fewest instructions: random layers, counted with each kernel that fits."""

import pytest
from support import speed
from support.random_cases import same
from support.tools import missing

from benchmarks.calibration_plans import PLANS
from benchmarks.kernel_choice import compared, contested, graph
from edgekit.codegen.cost.layer_costs import countable

TARGETS = (
    *("cortex-m4", "cortex-m55", "aarch64-dotprod", "aarch64-i8mm", "armv7-neon", "riscv64-rvv"),
    *("wasm32-simd", "x86-64-avx2", "x86-64-avx512"),
)
WORST = 1.10  # times the best
_FIRST = 700  # seeds below are those of fits and of benchmarks/kernel_choice.py


@pytest.mark.parametrize("name", TARGETS)
def test_no_other_kernel_that_fits_takes_a_tenth_less(name: str) -> None:
    if reason := speed.why_not(name):
        missing(reason, "an emulator")
    target = countable(speed.counted_target(name))
    seen = 0
    for seed in same(1):
        # A plan after the other, until one has layers for which several kernels fit.
        for plan in range(len(PLANS)):
            _, networks = contested(graph(_FIRST + seed, (plan + seed) % len(PLANS)), target)
            layers = [layer for network in networks[:1] for layer in compared(network, target)]
            slow = [f"{layer.off:.2f} {layer.words}: {layer.counts}" for layer in layers if layer.off > WORST]
            assert not slow, "\n".join(slow)
            seen += len(layers)
            if layers:
                break
    assert seen
