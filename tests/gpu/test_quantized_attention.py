"""Attention to caches of int8 on GPUs: the bits of the simulator."""

import importlib
from collections.abc import Callable

import numpy as np
import pytest
from support.gpu_calls import Device, assert_same_bits, kernels_of
from support.op_cases import Case, as_graph
from support.opencl import kernel_device
from support.webgpu import webgpu

DEVICES: dict[str, Callable[[], Device]] = {"opencl": kernel_device, "wgsl": webgpu}


def finite() -> list[Case]:
    """Devices need not know other numbers."""
    cases = importlib.import_module("ops.cases.quantized_attention").CASES
    floats = ([x for x in c.operands if x.dtype == np.float32] for c in cases)
    return [c for c, xs in zip(cases, floats, strict=True) if all(np.isfinite(x).all() for x in xs)]


@pytest.mark.parametrize("device", DEVICES)
def test_attention_has_the_bits_of_the_simulator(device: str) -> None:
    graph, given, _ = as_graph(finite())
    found = {name for name in kernels_of(graph) if name.startswith("cached_attention")}
    kinds = ("fours_s64", "fours_s32", "s64", "window_fours_s64", "window_s64")
    assert found == {f"cached_attention_s8_{kind}_1" for kind in kinds}
    assert_same_bits(DEVICES[device](), graph, given)
