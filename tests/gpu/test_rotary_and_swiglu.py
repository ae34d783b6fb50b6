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
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.dense import Dense

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


def test_operators_stay_where_the_cpu_computes_some() -> None:
    """Segments are found among the operators of the graph."""
    net, shape = DecoderNet(), (1, 3, 5, 512)
    x, (cos, sin) = net.x(*shape), (net.x(1, 1, 5, 256, name=name) for name in ("cos", "sin"))
    bias = net.const(np.zeros(512, np.float32))
    for _ in range(4):
        x = net(Dense(), x, net.random(512, 512), bias)
    summed = net(Cumulative("sum", 3), x)
    graph = net.done(
        net(Dense(), net.turned(*net.halves(summed, shape), cos, sin), net.random(512, 512), bias)
    )
    planned = plan(graph)
    assert [type(s.graph.nodes[0].op) for s in planned.segments] == [Cumulative]
    assert not any(d.kernel.name.startswith("rotary") for d in planned.dispatches)


def test_gates_of_any_magnitude() -> None:
    """Those far below 0 are closed, however far. WGSL promises nothing of infinities."""
    graph = gated(DecoderNet())
    given = dict(zip(graph.inputs, magnitudes(), strict=True))
    found = run(kernel_device(), plan(graph), given)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = simulate.run(graph, given)
    for output in graph.outputs:
        np.testing.assert_allclose(found[output], expected[output], rtol=2e-6, atol=1e-30)
