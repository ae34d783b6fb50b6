"""Layers whose weights are integers in groups, on GPUs: matrix times vector, and matrix times matrix."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from support.gpu_calls import Device, assert_computes, kernels_of
from support.opencl import kernel_device
from support.webgpu import webgpu

from edgekit import api
from edgekit.codegen.gpu.plan import plan
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.groupwise import DenseGroupwise
from edgekit.core.types import Array, DType, Type

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


def test_words_that_two_groups_share_are_left_to_the_cpu() -> None:
    graph, _ = layers(inputs=40, group=4)  # eight weights of 4 bits are a word
    found = " ".join(kernels_of(graph))
    assert "dense_groupwise_s8" in found
    assert "dense_groupwise_s4" not in found


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
