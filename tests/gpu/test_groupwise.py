"""Layers whose weights are integers in groups, on GPUs: matrix times vector, and matrix times matrix."""

import importlib
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from support.gpu_calls import Device, assert_computes, kernels_of
from support.op_cases import as_graph
from support.opencl import kernel_device, opencl
from support.webgpu import webgpu

from edgekit import api
from edgekit.codegen.gpu.plan import plan
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.dynamic_rows import DynamicDense, QuantizeRows
from edgekit.core.ops.groupwise import DenseGroupwise, GatherGroupwise
from edgekit.core.types import Array, DType, Type, type_of

DEVICES: dict[str, Callable[[], Device]] = {"opencl": kernel_device, "wgsl": webgpu}
SCALES = (DType.F32, DType.F16, DType.BF16)


def layers(inputs: int = 40, group: int = 16) -> tuple[Graph, dict[str, Array]]:
    """One row, four, and some that are left; the last group is shorter; least and largest weights."""
    builder, numbers, given, outputs = Builder(), np.random.default_rng(4), dict[str, Array](), list[str]()
    for i, (rows, dtype, has_zero) in enumerate(product((1, 4, 7), (DType.S8, DType.S4), (False, True))):
        least, most, words = -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1, (5, 64, 70)[i % 3]
        x = builder.input(f"x{i}", Type(DType.F32, (rows, inputs)))
        given[x] = numbers.normal(size=(rows, inputs)).astype(np.float32)
        w = numbers.integers(least, most + 1, (words, inputs)).astype(dtype.numpy)
        w[0], w[-1] = least, most
        shape = (words, -(-inputs // group))
        scale = numbers.uniform(0.01, 0.02, shape).astype(SCALES[i % 3].numpy)
        operands = [x, *map(builder.const, (w, scale, numbers.normal(size=words).astype(np.float32)))]
        if has_zero:
            operands.append(builder.const(numbers.integers(least, most + 1, shape).astype(dtype.numpy)))
        bounds = (-0.5, 6.0) if i % 4 == 0 else ()
        outputs += builder.add(DenseGroupwise(group, *bounds), *operands)
    return builder.graph("layers", list(given), outputs), given


@pytest.mark.parametrize("device", DEVICES)
def test_one_row_and_several(device: str) -> None:
    graph, given = layers()
    found = set(kernels_of(graph))
    assert {"dense_groupwise_s8_x1", "dense_groupwise_s4_zero_x4"} <= {
        name.replace("_lo_hi", "") for name in found
    }
    assert not assert_computes(DEVICES[device](), graph, given)


@pytest.mark.parametrize("device", DEVICES)
def test_groups_that_are_no_whole_words(device: str) -> None:
    """Of four weights and of five, where a word has eight, or four; a row that ends within a word."""
    for inputs, group in ((40, 4), (33, 5), (28, 32)):
        graph, given = layers(inputs, group)
        assert any("_any" in name for name in kernels_of(graph))
        assert not assert_computes(DEVICES[device](), graph, given)


@pytest.mark.parametrize("device", DEVICES)
def test_rows_of_tables(device: str) -> None:
    """Indices of 32 and 64 bits, outside of the table too; layers of 16-bit floats have no kernel."""
    cases = importlib.import_module("ops.cases.groupwise").CASES
    graph, given, _ = as_graph([c for c in cases if all(x.size for x in c.operands)])
    found = kernels_of(graph)
    names = (f"gather_groupwise_s{b}{z}_f32_s64" for b in (4, 8) for z in ("", "_zero"))
    assert {*names, "gather_groupwise_s4_zero_f16_s64", "gather_groupwise_s8_f32_s32"} <= found.keys()
    refused = assert_computes(DEVICES[device](), graph, given)
    assert {graph.type(name).dtype for name in refused} == {DType.F16, DType.BF16}
    assert {type(graph.producer(name).op) for name in refused} == {DenseGroupwise}


def test_few_rows() -> None:
    """None at all has nothing to compute. Each number of rows has a kernel with a name of its own."""
    numbers, builder, outputs = np.random.default_rng(1), Builder(), list[str]()
    w, scale = numbers.integers(-8, 8, (5, 32)).astype(DType.S4.numpy), np.full((5, 1), 0.1, np.float32)
    operands = [builder.const(data) for data in (w, scale, np.zeros(5, np.float32))]
    given = {f"x{rows}": numbers.normal(size=(rows, 32)).astype(np.float32) for rows in range(4)}
    for name, x in given.items():
        outputs += builder.add(DenseGroupwise(32), builder.input(name, type_of(x)), *operands)
    graph = builder.graph("few", list(given), outputs)
    assert len(kernels_of(graph)) == 3
    assert not assert_computes(opencl(), graph, given)


def test_a_tied_table_is_there_once() -> None:
    """Rows of the table are looked up in the words of the layer that multiplies by it."""
    numbers = np.random.default_rng(6)
    w = numbers.integers(-127, 128, (40, 32)).astype(np.int8)
    scale = numbers.uniform(0.01, 0.02, (40, 1)).astype(np.float32)
    for index in (DType.S32, DType.S64):
        builder = Builder()
        rows = builder.input("rows", Type(index, (1,)))
        table, scales, bias = map(builder.const, (w, scale, np.zeros(40, np.float32)))
        (x,) = builder.add(GatherGroupwise(32), table, rows, scales)
        q, s = builder.add(QuantizeRows(), x)
        (y,) = builder.add(DynamicDense(32), q, s, table, scales, bias)
        (z,) = builder.add(DenseGroupwise(32), x, table, scales, bias)
        graph = builder.graph("tied", [rows], [y, z])
        assert len(plan(graph).weights) < w.nbytes + 2 * scale.nbytes + 512


@pytest.mark.parametrize("dtype", ["int8", "int4"])
def test_networks_whose_weights_alone_are_integers(dtype: str) -> None:
    """As `quantize --activations float32` makes them: no layer is left to the CPU."""
    builder, numbers = Builder(), np.random.default_rng(2)
    x = builder.input("x", Type(DType.F32, (5, 64)))
    for outputs, inputs in ((96, 64), (64, 96)):
        w, b = (
            builder.const(numbers.normal(size=s).astype(np.float32)) for s in ((outputs, inputs), outputs)
        )
        (x,) = builder.add(Dense(0.0), x, w, b)
    graph, _ = api.quantize_model(builder.graph("net", ["x"], [x]), None, dtype=dtype, activations="float32")
    given = {"x": numbers.normal(size=(5, 64)).astype(np.float32)}
    assert all(name.startswith("dense_groupwise") for name in kernels_of(graph))
    assert not assert_computes(kernel_device(), graph, given)
    assert not plan(graph).segments
