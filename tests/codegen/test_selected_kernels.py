"""The selected kernel takes the fewest instructions: random layers, counted with each kernel that fits."""

from collections.abc import Iterator
from itertools import chain, combinations

import pytest
from support import speed
from support.each_target import EVERY, OWN_SETS
from support.random_cases import fresh, same
from support.tools import missing
from support.touched import is_touched

from benchmarks.calibration_plans import PLANS
from benchmarks.kernel_layers import Layer, counted, fitting, graph, some_small
from edgekit.codegen.cost.layer_costs import countable
from edgekit.codegen.kernels.kernel_files import Variant, all_variants
from edgekit.codegen.kernels.sources import variant_of
from edgekit.codegen.kernels.variants import competing
from edgekit.codegen.lowering.lower import lower
from edgekit.core import target as targets
from edgekit.core.ops import Call

WORST = 1.10  # times the best
_TOGETHER = 6  # layers of a program
_MOST_SEEDS = 30  # of layers without which a kernel is of no use
_FIRST = 700  # seeds below are those of fits and of benchmarks/kernel_choice.py


def compete(one: Variant, other: Variant) -> bool:
    """Do types and rules allow that both fit a call?"""
    types = all(other.types.get(letter, dtype) == dtype for letter, dtype in one.types.items())
    rules = not one.rules or not other.rules or bool(one.rules.keys() & other.rules.keys())
    return bool({*one.kernels} & {*other.kernels}) and types and rules


def has_rivals(name: str) -> bool:
    sets = [isa for isa in OWN_SETS[name] if isa != "ref"]
    return any(
        compete(*pair)
        for isa in sets
        for pair in combinations([variant for variant in all_variants() if variant.isa == isa], 2)
    )


TARGETS = [name for name in EVERY if has_rivals(name)]


def offs(name: str, seed: int, plan: int) -> Iterator[tuple[Layer, float]]:
    """Of the first plan that has layers for which several kernels fit, those of one program: how many times
    the best one the selected kernel takes."""
    target = countable(speed.counted_target(name))
    for number in range(len(PLANS)):
        if layers := fitting(graph(seed, (plan + number) % len(PLANS)), target)[:_TOGETHER]:
            counts = counted(target, layers)
            yield from ((layer, layer.off(counts)) for layer in layers)
            return


def far(found: list[tuple[Layer, float]]) -> list[str]:
    return [f"{off:.2f} {layer.words}" for layer, off in found if off > WORST]


@pytest.mark.parametrize("name", TARGETS)
def test_no_other_kernel_that_fits_takes_a_tenth_less(name: str) -> None:
    if reason := speed.why_not(name):
        missing(reason, "an emulator")
    found = [each for seed in same(1) for each in offs(name, _FIRST + seed, seed)]
    assert found
    assert far(found) == []


@pytest.mark.parametrize("name", TARGETS)
def test_fresh_layers_of_a_touched_instruction_set(name: str) -> None:
    """Where this change touches the kernels of a set, their costs, or the selection: two programs of layers
    from seeds of this commit. One layer may be far off, as some are in every set."""
    if not is_touched(name):
        pytest.skip("this change leaves its kernels and their costs as they are")
    if reason := speed.why_not(name):
        missing(reason, "an emulator")
    (first,) = fresh(2)[:1]
    found = [each for seed in (first, first + 1) for each in offs(name, _FIRST + seed, seed % len(PLANS))]
    assert found
    assert len(far(found)) < 2, "\n".join(far(found))


def selected(name: str, seed: int, plan: int) -> tuple[set[str], set[str]]:
    """The contracts of the calls of a plan, half of them with small weights, and the kernels they take."""
    target, network = targets.load(name), graph(seed, plan)
    layers = lower(network, target, limits=some_small(network, seed))
    calls = [call for layer in layers for call in layer.steps if isinstance(call, Call)]
    return {call.kernel for call in calls}, {variant_of(call, target).file for call in calls}


@pytest.mark.parametrize("name", TARGETS)
def test_each_kernel_beside_which_others_fit_is_selected_for_some_layer(name: str) -> None:
    """One that costs never select is dead code: delete it, or find out what its costs get wrong."""
    missing = {v.file: {*v.kernels} for v in competing() if v.isa in OWN_SETS[name] and v.isa != "ref"}
    plans = dict.fromkeys(reversed(range(len(PLANS))), frozenset(chain(*missing.values())))
    for seed in range(_MOST_SEEDS):
        for plan, contracts in plans.items():
            if not contracts.isdisjoint(chain(*missing.values())):
                known, files = selected(name, seed, plan)
                plans[plan] = frozenset(known)
                missing = {file: own for file, own in missing.items() if file not in files}
    assert not missing, f"{', '.join(missing)}: no layer of {_MOST_SEEDS} seeds takes them"


def test_what_a_change_touches() -> None:
    kernels = "runtime_c/kernels"
    assert is_touched("cortex-m4", [f"{kernels}/dsp/conv2d_int.c"])
    assert is_touched("cortex-m4", ["targets/costs/cortex-m4.toml"])
    assert is_touched("x86-64-avx512", [f"{kernels}/avx2/conv2d.c"])  # its source serves both sets
    assert is_touched("riscv64-rvv", ["runtime_c/include/edgekit/simd/riscv/gemm_rvv.h"])
    assert all(is_touched(name, ["codegen/kernels/selection.py"]) for name in TARGETS)
    assert not is_touched(
        "cortex-m55", ["targets/costs/cortex-m4.toml", f"{kernels}/vfp/dense.c", "README.md"]
    )
    assert not is_touched("aarch64-sme", [])
