"""Every setting of `quantize` with every operator: integers that C has, too, or a refusal that says why."""

from collections.abc import Mapping

import numpy as np
import pytest
from support import random_cases
from support.in_process import Machine
from support.op_cases import Case
from support.quantize_matrix import cases, network, samples, settings

from edgekit.api import quantize_model
from edgekit.codegen.program import compile_graph
from edgekit.codegen.verification.verify import compare
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops._linear import Linear

SETTINGS = {",".join(f"{k}={v}" for k, v in options.items()): options for options in settings()}
CASES = cases()
PAIRS = 60  # of a setting and an operator, beside each setting with each kind of layer
NEAR = 1e-5  # of the largest number: what is left in floats


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("kernels"), "gcc", "-O1")


def layers() -> list[Case]:
    """One for each kind of layer with weights: without groups, with some, and with one for each channel; with
    many weights, as short rows stay floats where activations do."""
    found: dict[object, Case] = {}
    for case in sorted(CASES, key=lambda case: -sum(x.size for x in case.operands[1:])):
        if isinstance(case.op, Linear):
            kind = type(case.op), case.op.groups > 1, case.op.is_depthwise(case.types[1])
            found.setdefault(kind, case)
    return [*found.values()]


def check(case: Case, options: Mapping[str, object], seed: int, machine: Machine) -> bool:
    """Is it quantized, rather than refused? Anything but an EdgeKitError is a fault of ours."""
    graph, data = network(case), samples(case, seed)
    try:
        made, _ = quantize_model(graph, data, progress=lambda step: None, **options)
    except EdgeKitError:
        return False
    program = compile_graph(made, targets.load("host"))
    inputs = {name: data["x"][0].astype(made.type(name).dtype.numpy) for name in made.inputs}
    expected, found = simulate.run(made, inputs), machine.run(program, inputs)
    near = max(NEAR, case.ulps * 2.0**-23)  # the bound of its own tests
    for name, right in expected.items():
        error, scale, _ = compare(found[name], right)
        assert error <= (near * scale if made.type(name).dtype.is_float else 0), (
            f"{case}, {options}: {error:g}"
        )
    return True


@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
def test_each_setting_with_each_kind_of_layer(options: Mapping[str, object], machine: Machine) -> None:
    made = [case for case in layers() if check(case, options, 1, machine)]
    assert made


@pytest.mark.parametrize("seed", random_cases.fresh(PAIRS))
def test_any_setting_with_any_operator(seed: int, machine: Machine) -> None:
    rng = np.random.default_rng(seed)
    by_operator: dict[type, list[Case]] = {}
    for case in CASES:
        by_operator.setdefault(type(case.op), []).append(case)
    of_each = [*by_operator.values()]
    made = 0
    for i in range(PAIRS):
        case, options = rng.integers(len(of_each)), rng.integers(len(SETTINGS))
        chosen = of_each[case][rng.integers(len(of_each[case]))]
        made += check(chosen, [*SETTINGS.values()][options], seed + i, machine)
    assert made > PAIRS // 3  # or little was tested
