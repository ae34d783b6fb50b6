"""Whole networks on a GPU, from host to host: those of benchmarks.gpu, beside ncnn on Vulkan."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
from support.tflite_to_onnx import translate

from benchmarks import x86_ncnn
from benchmarks.gpu_clocks import Now, VulkanClock, VulkanNetwork, shortest
from edgekit import api
from edgekit.codegen.gpu.plan import plan
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.passes.stored_weights import widened_weights
from edgekit.core.types import Array

_TURNS = 4
_SMALL = {
    "image classification": ("pretrainedResnet", "pretrainedResnet_quant"),
    "keyword": ("kws_ref_model_float32", "kws_ref_model"),
    "visual wake words": ("vww_96_float", "vww_96_int8"),
}
_LARGE = {
    "MobileNetV2 224": "mobilenet_v2",
    "ResNet-18 224": "resnet18",
}  # names of tests/support/networks.py


@dataclass(frozen=True)
class Network:
    """The forms of a network, and the ONNX file of the one in floats, whose images are NCHW."""

    title: str
    forms: dict[str, Graph]
    onnx: onnx.ModelProto
    transposed: bool  # are our images NHWC?


def small(models: Path) -> Iterator[Network]:
    """Those of MLPerf Tiny, whose TFLite files are in floats and in int8."""
    for title, (floats, integers) in _SMALL.items():
        source = models / f"{floats}.tflite"
        forms = _forms(api.convert(source), api.convert(models / f"{integers}.tflite"))
        yield Network(title, forms, translate(source, layout="NCHW"), transposed=True)


def large() -> Iterator[Network]:
    """Of torch, with random weights."""
    networks = import_module("support.networks")
    with tempfile.TemporaryDirectory() as folder:
        for title, name in _LARGE.items():
            source = networks.export(name, "torchscript", Path(folder))
            real = api.convert(source)
            sample = networks.sample(name, 1)
            integers, _ = api.quantize_model(real, sample, calibrate="minmax", strict_int8=True)
            yield Network(title, _forms(real, integers), onnx.load(source), transposed=False)


def _forms(real: Graph, integers: Graph) -> dict[str, Graph]:
    narrow, _ = api.quantize_model(real, None, dtype="f16", activations="f16")
    forms = {"float32": real, "float16": narrow, "int8": integers}
    return {name: widened_weights(graph, only_integers=True) for name, graph in forms.items()}  # as builds do


def whole(network: Network, clock: VulkanClock, now: Now) -> list[float]:
    """Microseconds of a network from host to host: our forms, and in turns with them ncnn's with floats of 32
    and of 16 bits, where that can be imported. Floats are compared with the simulator's."""
    runs: list[Callable[[], object]] = []
    graph = network.forms["float32"]
    (name,) = graph.inputs
    x = np.asarray(simulate.random_inputs(graph, 0)[name])
    right = next(iter(simulate.run(graph, {name: x}).values())).reshape(-1)
    for form, graph in network.forms.items():
        ours = VulkanNetwork(clock, plan(graph))
        own = x if form != "int8" else np.asarray(next(iter(simulate.random_inputs(graph, 0).values())))
        if form == "float32":
            _agrees(np.frombuffer(ours.run(own), np.float32)[: right.size], right, 1e-4)
        runs.append(partial(ours.run, own))
    if find_spec("ncnn"):
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "net.onnx"
            onnx.save(network.onnx, model)
            theirs = x.transpose(0, 3, 1, 2) if network.transposed and x.ndim == 4 else x
            for half in (False, True):
                run = x86_ncnn.runner(model, Path(folder), theirs, vulkan=True, half=half)
                _agrees(np.array(run()).reshape(-1), right, 5e-2 if half else 1e-2)  # Winograd's algorithm
                runs.append(run)
    turns = [[shortest(partial(_times, run), now) for run in runs] for _ in range(_TURNS)]
    return [1e6 * min(column) for column in zip(*turns, strict=True)]


def _times(run: Callable[[], object], n: int) -> None:
    for _ in range(n):
        run()


def _agrees(found: Array, right: Array, tolerance: float) -> None:
    assert np.abs(found - right).max() <= tolerance * np.abs(right).max(), "results differ"
