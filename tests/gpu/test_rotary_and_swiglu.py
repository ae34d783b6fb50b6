"""Rotary embeddings and SwiGLU on GPUs: one kernel each."""

from collections.abc import Callable

import numpy as np
import pytest
from support.gpu_calls import Device
from support.gpu_plans import run
from support.opencl import kernel_device
from support.rotary_and_swiglu import FUSED, DecoderNet, gated, magnitudes
from support.webgpu import webgpu

from edgekit.codegen.gpu.plan import plan
from edgekit.core import simulate
from edgekit.core.ir import Graph

DEVICES: dict[str, Callable[[], Device]] = {"opencl": kernel_device, "wgsl": webgpu}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("net", FUSED)
def test_operators_are_one_kernel(net: Callable[[DecoderNet], Graph], device: str) -> None:
    graph = net(DecoderNet())
    planned = plan(graph)
    (dispatch,) = planned.dispatches
    assert dispatch.kernel.name.startswith(FUSED[net])
    numbers = np.random.default_rng(3)
    given = {n: numbers.normal(size=graph.type(n).shape).astype(np.float32) * 9 for n in graph.inputs}
    found, expected = run(DEVICES[device](), planned, given), simulate.run(graph, given)
    for output in graph.outputs:
        np.testing.assert_allclose(found[output], expected[output], rtol=2e-6, atol=1e-5)


def test_gates_of_any_magnitude() -> None:
    """Those far below 0 are closed, however far. WGSL promises nothing of infinities."""
    graph = gated(DecoderNet())
    given = dict(zip(graph.inputs, magnitudes(), strict=True))
    found = run(kernel_device(), plan(graph), given)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = simulate.run(graph, given)
    for output in graph.outputs:
        np.testing.assert_allclose(found[output], expected[output], rtol=2e-6, atol=1e-30)
