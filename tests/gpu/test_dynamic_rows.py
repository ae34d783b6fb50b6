"""Rows that are quantized in each run, and layers of these, on GPUs: the bits of the simulator."""

import importlib
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from support.gpu_calls import Device, assert_same_bits, compute, kernels_of
from support.op_cases import Case, as_graph, case, special
from support.opencl import kernel_device, opencl
from support.webgpu import webgpu

from edgekit.codegen.gpu.ast import U32
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import for_each
from edgekit.codegen.gpu.kernels import _floats, dynamic_dense
from edgekit.codegen.gpu.quotient import quotient
from edgekit.codegen.gpu.use import GpuCall, groups_for
from edgekit.core.ops.dynamic_quantize import DynamicQuantize, DynamicQuantizeDense
from edgekit.core.ops.dynamic_rows import DynamicDense, QuantizeRows
from edgekit.core.types import Array, DType

# PoCL, too: oclgrind fuses no product with a sum.
DEVICES: dict[str, Callable[[], Device]] = {"oclgrind": kernel_device, "opencl": opencl, "wgsl": webgpu}
FLOATS = (DType.F32, DType.F16, DType.BF16)


def finite(c: Case) -> bool:
    return all(x.size and np.isfinite(x.astype(np.float64)).all() for x in c.operands)


def usual() -> list[Case]:
    """Those of the operators: of floats that are no numbers, C and languages of GPUs promise no bits."""
    cases = importlib.import_module("ops.cases.dynamic_rows").CASES
    return [
        c for c in cases if isinstance(c.op, DynamicDense | DynamicQuantizeDense | QuantizeRows) and finite(c)
    ]


def wholes() -> Iterator[Case]:
    """Tensors that are quantized as a whole, of all magnitudes, and layers of such ones."""
    numbers = np.random.default_rng(2)
    yield from (
        c
        for c in importlib.import_module("ops.cases.quantize").CASES
        if isinstance(c.op, DynamicQuantize) and finite(c)
    )
    for exponent in (-149, -148, -140, -130, -126, -118, -100, -99, 0, 60, 126):
        for low, high in ((-1, 1), (0.2, 1), (-1, -0.5), (-0.01, 1)):
            yield case(
                DynamicQuantize(), np.ldexp(numbers.uniform(low, high, (3, 11)), exponent).astype(np.float32)
            )
    yield case(DynamicQuantize(), numbers.normal(size=700).astype(np.float32))
    for rows, inputs, words in ((1, 40, 35), (1, 7, 1), (5, 64, 20), (3, 45, 16), (2, 1000, 3), (1, 1000, 3)):
        q, w = (numbers.integers(-128, 128, (m, inputs)).astype(np.int8) for m in (rows, words))
        q[0], w[0] = -128, -128
        scales = (
            numbers.uniform(0.01, 0.02, words).astype(np.float32),
            numbers.normal(size=words).astype(np.float32),
        )
        given = (q, np.array(0.013, np.float32), np.array(127 if rows == 2 else -3, np.int8), w, *scales)
        yield case(DynamicQuantizeDense(), *given, constant=(3, 4, 5))


def layers() -> Iterator[Case]:
    """One row, some, and a rest; groups of whole words, others, a shorter last one, and one for all.

    There is more than one round of groups, the least and the largest factors, and sums that are no floats."""
    numbers = np.random.default_rng(5)
    forms = (
        (8, 8),
        (40, 16),
        (64, 32),
        (100, 32),
        (172, 32),
        (45, 12),
        (88, 88),
        (90, 90),
        (2100, 32),
        (1500, 1500),
    )
    cases = product((1, 3, 6), forms, (DType.S8, DType.S4))
    for i, (rows, (inputs, group), dtype) in enumerate(cases):
        words = 3 if inputs > 1000 else (1, 7, 16, 35)[i % 4]
        least, most = -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
        q = numbers.integers(-128, 128, (rows, inputs)).astype(np.int8)
        w = numbers.integers(least, most + 1, (words, inputs))
        q[0], w[0], w[-1] = -128, least, most if words > 1 else least
        scale = numbers.uniform(0.01, 0.02, (words, -(-inputs // group))).astype(FLOATS[i % 3].numpy)
        yield case(
            DynamicDense(group, *((-0.5, 6.0) if i % 5 == 0 else ())),
            *(q, numbers.uniform(0.001, 0.1, rows).astype(np.float32)),
            *(w.astype(dtype.numpy), scale, numbers.normal(size=words).astype(np.float32)),
            constant=(2, 3, 4),
        )


def ranges() -> Array:
    """Rows of all sizes that floats have, subnormal numbers among them, and halves of a step."""
    numbers = np.random.default_rng(1)
    rows = np.ldexp(numbers.uniform(-1, 1, (276, 9)), np.arange(-148, 128)[:, None])
    rows[::3, :4] = rows[::3, -1:] * np.array([0.5, 1.5, 2.5, 63.5]) / 127
    return rows.astype(np.float32)


@pytest.mark.parametrize("device", DEVICES)
def test_rows_and_layers_have_the_bits_of_the_simulator(device: str) -> None:
    cases = [*usual(), *layers(), *wholes(), case(QuantizeRows(), ranges())]
    graph, inputs, _ = as_graph(cases)
    found = {name.replace("_lo_hi", "") for name in kernels_of(graph)}
    forms = product(("s8", "s4"), ("", "_any", "_groups", "_groups_any"), ("x1", "x4"))
    assert {f"dynamic_dense_{a}{b}_{c}" for a, b, c in forms} <= found
    assert {"dynamic_dense_s8_long_x1", "dynamic_dense_s8_long_x4"} <= found
    forms = product(("", "_any", "_long"), ("x1", "x4"))
    assert {f"dynamic_quantize_dense{a}_{b}" for a, b in forms} <= found
    assert_same_bits(DEVICES[device](), graph, inputs)


@pytest.mark.parametrize("device", ["opencl", "wgsl"])
def test_large_tensors_are_quantized_as_a_whole(device: str) -> None:
    """Work-groups that have more words than items."""
    x = np.random.default_rng(4).normal(size=20_003).astype(np.float32)
    graph, inputs, _ = as_graph([case(DynamicQuantize(), x)])
    assert_same_bits(DEVICES[device](), graph, inputs)


@pytest.mark.parametrize("device", DEVICES)
def test_rows_without_a_range_are_zeros(device: str) -> None:
    """With an infinity or NaN, and zeros: the scale says which."""
    x = np.array([[np.inf, 1, 2], [np.nan, 1, 2], [0, -0.0, 0], [-np.inf, np.nan, 0]], np.float32)
    graph, inputs, ((codes, scale),) = as_graph([case(QuantizeRows(), x)])
    found = compute(DEVICES[device](), graph, inputs)
    np.testing.assert_array_equal(found.result(codes, graph.type(codes)), 0)
    np.testing.assert_array_equal(found.result(scale, graph.type(scale)), [np.inf, np.nan, 0, np.nan])


@pytest.mark.parametrize("device", DEVICES)
def test_ranges_leave_out_what_is_no_number(device: str) -> None:
    """Of a tensor as a whole. With an infinity, the scale is infinite, and all bytes are 0."""
    odd = ([np.nan, 1, -2.5], [np.inf, 1, 2], [-np.inf, np.nan, 0], [np.nan, np.nan], [3e38, -3e38, 1])
    cases = [case(DynamicQuantize(), np.array(x, np.float32)) for x in odd]
    graph, inputs, _ = as_graph([*cases, case(DynamicQuantize(), special(DType.F32))])
    assert_same_bits(DEVICES[device](), graph, inputs)


def test_quotients_are_those_of_numpy() -> None:
    """Of random bits: large and small ones, subnormal operands and results, overflow."""
    numbers = np.random.default_rng(3)
    a, b = numbers.integers(1, 0x7F800000, (2, 4000)).astype(np.uint32)
    a[:8], b[:8] = 1, [1, 2, 0x7F7FFFFF, 0x00800000, 0x3F800000, 0x00000003, 0x40000000, 0x40400000]
    b[8:400] = a[8:400] - numbers.integers(0, 2, 392)
    b[400:1500] = np.clip(a[400:1500].astype(np.int64) + (20 << 23), 1, 0x7F7FFFFF)
    a[3000:3100], b[3000:3100] = np.arange(100) + 0x00800000, 0x40800000  # a quarter is subnormal: halves
    k = KernelBuilder("quotients")
    given = [k.buffer(name, U32) for name in "ab"]
    y, n = k.buffer("y", U32, writes=True), k.constant("n")
    for_each(k, y, DType.U32, n, lambda i: quotient(k, *(x[i] for x in given)))
    result = np.zeros(4 * len(a), np.uint8)
    use = GpuCall(k.done(), (0, 1, 2), {"n": len(a)}, groups_for(len(a)))
    opencl().compute([use], [[a.view(np.uint8).copy(), b.view(np.uint8).copy(), result]])
    with np.errstate(all="ignore"):
        expected = a.view(np.float32) / b.view(np.float32)
    assert (expected < np.finfo(np.float32).tiny).any()
    assert np.isinf(expected).any()
    np.testing.assert_array_equal(result.view(np.uint32), expected.view(np.uint32))


def test_products_that_are_not_rounded_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the test above, were a product off by its last digit, as where a compiler fuses it with a sum."""
    monkeypatch.setattr(_floats, "rounded", lambda product, nothing: product * (1 + 2.0**-23))
    kernels = (dynamic_dense._one_row, dynamic_dense._several_rows)
    graph, inputs, _ = as_graph(list(layers()))
    for kernel in kernels:
        kernel.cache_clear()
    try:
        with pytest.raises(AssertionError):
            assert_same_bits(opencl.__wrapped__(), graph, inputs)  # which has compiled nothing yet
    finally:
        for kernel in kernels:
            kernel.cache_clear()
