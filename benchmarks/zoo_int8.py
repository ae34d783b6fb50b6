"""How well a float network stands int8: by `edgekit quantize`, and by ONNX Runtime's best static method."""

from __future__ import annotations

import math
import multiprocessing
import queue
import resource
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.zoo_files import Bindings
from benchmarks.zoo_peers import OnnxRuntime
from edgekit import api
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.types import Array

CALIBRATION, TEST = 32, 12  # samples
_CONTEXT = multiprocessing.get_context("spawn")
METHODS = ("MinMax", "Percentile", "Entropy")  # of ONNX Runtime

Samples = Sequence[Mapping[str, Array]]


def int8_quality(
    graph: Graph, choice: int, source: Path | None, bound: Bindings, seconds: float
) -> tuple[str, str]:
    """Signal to noise in dB at the worst output, on fresh samples: ours and that of ONNX Runtime, which is
    empty without `source`, the ONNX file."""
    ours = theirs = ""
    for method in ("auto", "percentile"):
        if found := _within(seconds, _ours, (graph, choice, method)):
            ours = found if method == "auto" else f"{found} ({method})"
            break
    if source is not None:
        made = [_within(seconds, _theirs, (source, graph, choice, bound, method)) for method in METHODS]
        ratios = [float(found) for found in made if found]
        theirs = f"{max(ratios):.1f}" if ratios else ""
    return ours or f"more than {seconds:.0f} s", theirs


def _within(seconds: float, work: Any, arguments: tuple[Any, ...]) -> str:
    """What `work` finds in a process of its own, with so much processor time; empty where it fails."""
    made: Any = _CONTEXT.Queue()
    process = _CONTEXT.Process(target=_limited, args=(math.ceil(seconds), work, arguments, made))
    process.start()
    process.join()
    try:
        found: str = made.get(timeout=1)
    except queue.Empty:
        return ""
    return found


def _limited(seconds: int, work: Any, arguments: tuple[Any, ...], made: Any) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    made.put(work(*arguments))


def _samples(graph: Graph, choice: int, first: int, count: int) -> Samples:
    return [simulate.random_inputs(graph, seed, choice) for seed in range(first, first + count)]


def _ours(graph: Graph, choice: int, method: str) -> str:
    samples = _samples(graph, choice, 100, CALIBRATION)
    stacked = {name: np.stack([sample[name] for sample in samples]) for name in graph.inputs}
    try:
        made, _ = api.quantize_model(graph, stacked, calibrate=method)
    except EdgeKitError as error:
        return error.code
    test = _samples(graph, choice, 1000, TEST)
    exact = [simulate.run(graph, sample) for sample in test]
    found = [simulate.run(made, sample) for sample in test]
    return f"{min(_decibels(exact, found, name) for name in graph.outputs):.1f}"


def _theirs(source: Path, graph: Graph, choice: int, bound: Bindings, method: str) -> str:
    """int8 for weights, by channel, and for activations; operators that it has no int8 for stay float."""
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    float_runtime = OnnxRuntime(source, graph, bound.constants)
    fixed = float_runtime.fixed()
    feeds = iter([{**sample, **fixed} for sample in _samples(graph, choice, 100, CALIBRATION)])
    reader: Any = type("Reader", (), {"get_next": lambda _: next(feeds, None)})()
    with tempfile.TemporaryDirectory() as folder:
        ready, made = Path(folder) / "ready.onnx", Path(folder) / "made.onnx"
        quant_pre_process(source, ready, skip_symbolic_shape=True)
        quantize_static(
            ready,
            made,
            reader,
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
            calibrate_method=getattr(CalibrationMethod, method),
        )
        test = _samples(graph, choice, 1000, TEST)
        exact, found = (
            [dict(zip(graph.outputs, outputs, strict=True)) for outputs in runtime.outputs(test)]
            for runtime in (float_runtime, OnnxRuntime(made, graph, bound.constants))
        )
    return f"{min(_decibels(exact, found, name) for name in graph.outputs):.1f}"


def _decibels(exact: Samples, found: Samples, name: str) -> float:
    right, ours = (
        np.stack([outputs[name] for outputs in side]).astype(np.float64) for side in (exact, found)
    )
    finite = np.isfinite(right)
    signal, noise = np.square(right[finite]).sum(), np.square((ours - right)[finite]).sum()
    return 10 * math.log10(signal / noise) if signal and noise else math.inf
