"""Elementwise formulas on GPUs: integers that wrap, casts, logic, and functions of floats at their ends."""

import importlib
from collections.abc import Callable

import numpy as np
import pytest
from support.gpu_calls import Device, assert_computes, assert_same_bits, compute
from support.op_cases import Case, as_graph, case, whole
from support.opencl import kernel_device
from support.webgpu import webgpu

from edgekit.codegen.gpu.plan import plan
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.activations import Elu, Log, Mish, Softplus
from edgekit.core.ops.arithmetic import Div
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.rounding import Ceil
from edgekit.core.ops.trigonometry import Cos, Sin
from edgekit.core.types import DType, Type

DEVICES: dict[str, Callable[[], Device]] = {"opencl": kernel_device, "wgsl": webgpu}
INTEGERS = (DType.S8, DType.U8, DType.S32, DType.U32, DType.BOOL, DType.S64)
COMPARISONS = {"Equal", "Less", "LessOrEqual", "Max", "Min", "Where"}


def _integer_cases() -> list[Case]:
    """Those of elementwise operators that take such integers."""
    modules = (importlib.import_module(f"ops.cases.{name}") for name in ("logic", "arithmetic"))
    words = {"Add", "Sub", "Mul", "And", "Or", "Xor", "Not", "Neg", "Abs"}
    quotients = {"Div", "Mod", "Remainder"}
    found = [
        c
        for module in modules
        for c in module.CASES
        if (type(c.op).__name__ in words and DType.of(c.operands[0].dtype) in INTEGERS)
        or (type(c.op).__name__ in quotients and DType.of(c.operands[0].dtype) in INTEGERS[:4])
        or (type(c.op).__name__ in COMPARISONS and DType.of(c.operands[-1].dtype) is DType.S64)
    ]
    return [*found, *(case(Cast(DType.F32), whole(d, 40)) for d in INTEGERS)]


@pytest.mark.parametrize("device", DEVICES)
def test_integers_wrap_and_become_floats(device: str) -> None:
    graph, inputs, _ = as_graph(_integer_cases())
    assert not assert_computes(DEVICES[device](), graph, inputs)


@pytest.mark.parametrize("device", DEVICES)
def test_wide_integers_become_floats_and_floats_integers(device: str) -> None:
    """Of all magnitudes: what lies between two floats, halves among it, and what has no place."""
    numbers = np.random.default_rng(8)
    sizes = numbers.integers(0, 1 << 62, 300) * 2 >> numbers.integers(0, 63, 300)
    between = np.array([(1 << 24) + 1, (1 << 24) + 3, (1 << 40) + (1 << 16), (1 << 63) - 1, 1 << 31, 1 << 32])
    whole_numbers = np.concatenate([sizes, -sizes, between, -between, [-(1 << 63)]]).astype(np.int64)
    floats = numbers.normal(size=400) * 2.0 ** np.arange(-20, 80).repeat(4)
    ends = [0.0, 2.0**63, -(2.0**63), 2.0**31, -(2.0**31), 2147483520, np.inf, -np.inf, np.nan, 1e30, -1e30]
    x = np.concatenate([floats, ends]).astype(np.float32)
    cases = [case(Cast(DType.F32), whole_numbers)]
    cases += [case(Cast(d), x) for d in (DType.S64, DType.S32, DType.S8, DType.U8)]
    graph, inputs, _ = as_graph(cases)
    assert_same_bits(DEVICES[device](), graph, inputs)


@pytest.mark.parametrize("device", DEVICES)
def test_sums_of_integers_wrap_where_there_are_kernels(device: str) -> None:
    modules = (importlib.import_module(f"ops.cases.{name}") for name in ("reduction", "pooling"))
    cases = [c for module in modules for c in module.CASES if DType.of(c.operands[0].dtype) in INTEGERS]
    graph, inputs, _ = as_graph(cases)
    assert len(assert_computes(DEVICES[device](), graph, inputs)) < len(graph.outputs)


@pytest.mark.parametrize("device", DEVICES)
def test_functions_are_right_at_the_ends_of_their_domains(device: str) -> None:
    size = 2.0 ** np.arange(-126, 128, dtype=np.float32)
    near = 1 + np.float32(2.0**-23) * np.arange(-8, 9, dtype=np.float32)
    x = np.concatenate([size, -size, near, near - 1, [0.0, -1.0, -25.0, 88.8, 0.7071067, 0.7071068]])
    positive = np.abs(x[x != 0])
    cases = [case(Log(), positive.astype(np.float32), ulps=1)]
    cases += [case(op, x.astype(np.float32), ulps=4) for op in (Softplus(), Mish(), Ceil())]
    cases.append(case(Elu(), x.astype(np.float32), 1.0, 1.0, ulps=4))
    graph, inputs, outputs = as_graph(cases)
    ulps = {name: c.ulps for c, names in zip(cases, outputs, strict=True) for name in names}
    assert not assert_computes(DEVICES[device](), graph, inputs, ulps)


@pytest.mark.parametrize("device", DEVICES)
def test_angles_of_any_size(device: str) -> None:
    """Those of a position and of all exponents, also next to multiples of pi / 2."""
    sizes = 2.0 ** np.arange(-126, 128, dtype=np.float32) * np.float32(1.3)
    near = np.arange(1, 60, dtype=np.float32) * np.float32(np.pi / 2)
    x = np.concatenate([sizes, -sizes, near, -near, np.arange(0, 4000, 7), [0.0, -0.0]]).astype(np.float32)
    graph, inputs, outputs = as_graph([case(op, x) for op in (Sin(), Cos())])
    found = compute(DEVICES[device](), graph, inputs)
    for (name,), exact in zip(outputs, (np.sin, np.cos), strict=True):
        y = found.result(name, graph.type(name))
        np.testing.assert_allclose(y, exact(x.astype(np.float64)), rtol=2.0**-23, atol=1e-37)
    ends = np.array([np.inf, -np.inf, np.nan], np.float32)
    odd, given, names = as_graph([case(op, ends) for op in (Sin(), Cos())])
    for (name,) in names:
        assert np.isnan(compute(DEVICES[device](), odd, given).result(name, odd.type(name))).all()


@pytest.mark.parametrize("device", DEVICES)
def test_logarithms_of_zero_and_less_are_infinite_and_no_numbers(device: str) -> None:
    graph, inputs, ((name,),) = as_graph([case(Log(), np.array([0.0, -0.0, -1.0, -np.inf], np.float32))])
    found = compute(DEVICES[device](), graph, inputs).result(name, graph.type(name))
    assert np.isneginf(found[:2]).all()
    assert np.isnan(found[2:]).all()


def test_quotients_of_64_bits_are_refused() -> None:
    b = Builder()
    x = b.input("x", Type(DType.S64, (4,)))
    graph = b.graph("quotient", [x], [b.one(Div(), x, x)])
    with pytest.raises(EdgeKitError, match="Div does not run on GPUs: integers of 64 bits"):
        plan(graph)


def test_pools_of_numbers_without_a_sign_are_refused() -> None:
    b = Builder()
    x = b.input("x", Type(DType.U32, (1, 4, 4, 2)))
    graph = b.graph("pool", [x], [b.one(Pool2d("max", (2, 2), (2, 2)), x)])
    with pytest.raises(EdgeKitError, match="Pool2d does not run on GPUs: pools of u32"):
        plan(graph)
