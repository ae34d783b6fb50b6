"""Whole networks on GPUs: MLPerf Tiny, and what else the kernels were made for."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.gpu_calls import TOLERANCE, Device
from support.gpu_plans import run
from support.opencl import opencl
from support.tools import require_shared
from support.webgpu import webgpu

from edgekit import api
from edgekit.codegen.gpu.plan import plan
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.passes.stored_weights import widened_weights
from edgekit.core.types import Array

DEVICES: dict[str, Callable[[], Device]] = {"opencl": opencl, "wgsl": webgpu}
MLPERF = ("pretrainedResnet", "kws_ref_model_float32", "vww_96_float", "ad01_fp32")
MLPERF_INT8 = ("pretrainedResnet_quant", "kws_ref_model", "vww_96_int8", "ad01_int8")
SMALL = ("small_mobilenet_v2", "small_resnet18", "small_vit", "small_unet")


def assert_right(device: Device, graph: Graph, inputs: dict[str, Array]) -> None:
    """Integers are those of the simulator, reals near them. Integer weights are widened, as builds do."""
    found = run(device, plan(widened_weights(graph, only_integers=True)), inputs)
    for name, right in simulate.run(graph, inputs).items():
        if right.dtype.kind == "f":
            assert np.abs(found[name] - right).max() <= TOLERANCE * np.abs(right).max(), name
        else:
            assert np.array_equal(found[name], right), name


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", [*MLPERF, *MLPERF_INT8])
def test_mlperf_tiny(name: str, device: str) -> None:
    graph = api.convert(require_shared(f"models/mlperf_tiny/{name}.tflite"))
    assert_right(DEVICES[device](), graph, simulate.random_inputs(graph, 0))


@pytest.fixture(scope="module")
def exported(exports: Path) -> Callable[[str], tuple[Graph, Array]]:
    """A network of torch, and inputs."""
    from support import networks

    def graph_and_inputs(name: str) -> tuple[Graph, Array]:
        graph = api.convert(networks.export(name, "torchscript", exports))
        return graph, np.concatenate([networks.sample(name, seed) for seed in range(1, 4)])

    return graph_and_inputs


@pytest.mark.parametrize("name", SMALL)
def test_networks_of_torch(name: str, exported: Callable[[str], tuple[Graph, Array]]) -> None:
    """In float32, and quantized."""
    graph, samples = exported(name)
    inputs = {"x": samples[:1]}
    quantized, _ = api.quantize_model(graph, samples, calibrate="minmax", strict_int8=True)
    for make in DEVICES.values():
        for version in (graph, quantized):
            assert_right(make(), version, inputs)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["small_vit", "small_unet"])
def test_floats_of_16_bits_take_half_the_memory(
    name: str, dtype: str, exported: Callable[[str], tuple[Graph, Array]]
) -> None:
    """And what devices round otherwise is less than what the format rounds. Images stay float32."""
    graph, samples = exported(name)
    narrow, _ = api.quantize_model(graph, None, dtype=dtype, activations=dtype)
    whole, planned, inputs = plan(graph), plan(narrow), {"x": samples[:1]}
    image = graph.type("x").bytes
    assert planned.arena_bytes == max(image, whole.arena_bytes // 2)
    assert len(planned.weights) < 0.55 * len(whole.weights)
    (real,), (right,) = (simulate.run(g, inputs).values() for g in (graph, narrow))
    for make in DEVICES.values():
        (found,) = run(make(), planned, inputs).values()
        assert np.abs(found - right).max() <= np.abs(right - real).max()
