"""How well a float network stands int8: by `edgekit quantize`, and by ONNX Runtime's best static method.

Both are judged before a softmax that ends the network. Behind it, the few samples between two classes decide:
one step of the logits moves their probabilities by a tenth, while all others are 0 or 1 whatever the error.
"""

from __future__ import annotations

import math
import multiprocessing
import queue
import resource
import signal
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from benchmarks.zoo_files import Bindings
from benchmarks.zoo_peers import OnnxRuntime
from edgekit import api
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.quantize import Dequantize
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import Array
from edgekit.quantize.measure import real

CALIBRATION, TEST = 32, 100  # samples
CALIBRATIONS = 3  # by other samples, of which the mean is told
_CONTEXT = multiprocessing.get_context("spawn")
METHODS = ("MinMax", "Percentile", "Entropy")  # of ONNX Runtime
SLOW, FAILED = "more than", "fails"  # in the place of a figure
_RESHAPES = ("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze")

Samples = Sequence[Mapping[str, Array]]


def int8_quality(graph: Graph, choice: int, seconds: float) -> str:
    """Signal to noise in dB of `edgekit quantize`, at the worst output on fresh samples, or why none."""
    found = _mean(seconds, _ours, (graph, choice, "auto"))
    if not found.startswith(SLOW):
        return found
    faster = _mean(seconds, _ours, (graph, choice, "percentile"))
    return faster if faster.startswith(SLOW) else f"{faster} (percentile)"


def int8_quality_of_onnx_runtime(
    graph: Graph, choice: int, source: Path, bound: Bindings, seconds: float
) -> str:
    """The same of the best method of ONNX Runtime, from `source`, the ONNX file."""
    made = [_mean(seconds, _theirs, (source, graph, choice, bound, method)) for method in METHODS]
    ratios = [float(found) for found in made if not found.startswith((SLOW, FAILED))]
    finite = [found for found in ratios if math.isfinite(found)]
    if finite:
        return f"{max(finite):.1f}"
    return "stays in floats" if ratios else max(made)


def _mean(seconds: float, work: Any, arguments: tuple[Any, ...]) -> str:
    """The mean of what `work` finds with each calibration, or why one of them finds nothing."""
    ratios = []
    for number in range(CALIBRATIONS):
        found = within(seconds, work, (*arguments, 100 + number * CALIBRATION))
        try:
            ratios.append(float(found))
        except ValueError:
            return found
    return f"{statistics.fmean(ratios):.1f}"


def within(seconds: float, work: Any, arguments: tuple[Any, ...]) -> str:
    """What `work` finds in a process of its own, with so much processor time, or why it finds nothing."""
    made: Any = _CONTEXT.Queue()
    process = _CONTEXT.Process(target=_limited, args=(math.ceil(seconds), work, arguments, made))
    process.start()
    process.join()
    try:
        found: str = made.get(timeout=1)
    except queue.Empty:
        return f"{SLOW} {seconds:.0f} s" if process.exitcode == -signal.SIGXCPU else FAILED
    return found


def _limited(seconds: int, work: Any, arguments: tuple[Any, ...], made: Any) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
    made.put(work(*arguments))


def end_of_limit() -> None:
    """Judging takes as long as it takes."""
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def drawn_samples(graph: Graph, choice: int, first: int, count: int) -> Samples:
    return [simulate.random_inputs(graph, seed, choice) for seed in range(first, first + count)]


def _ours(graph: Graph, choice: int, method: str, first: int) -> str:
    """With the calibration samples from number `first` on."""
    samples = drawn_samples(graph, choice, first, CALIBRATION)
    stacked = {name: np.stack([sample[name] for sample in samples]) for name in graph.inputs}
    try:
        made, _ = api.quantize_model(graph, stacked, calibrate=method)
    except EdgeKitError as error:
        return error.code
    end_of_limit()
    test = drawn_samples(graph, choice, 1000, TEST)
    exact, found = ([judged_values(side, sample) for sample in test] for side in (graph, made))
    return f"{min(decibels(exact, found, i) for i in range(len(graph.outputs))):.1f}"


def judged_values(graph: Graph, sample: Mapping[str, Array]) -> list[Array]:
    """The outputs as real numbers; of a softmax, what goes into it."""
    values = simulate.run_all(graph, sample)
    names = [_before_softmax(graph, name) for name in graph.outputs]
    return [real(values[name], graph.type(name)) for name in names]


def _before_softmax(graph: Graph, output: str) -> str:
    name = output
    while node := graph.producer(name):
        name = node.inputs[0]
        if isinstance(node.op, Softmax):
            return name
        if not isinstance(node.op, Dequantize | Reshape):
            break
    return output


def cut_softmax(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without a softmax that gives an output, and without reshapes behind it."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    producers = {name: node for node in made.graph.node for name in node.output}
    for output in made.graph.output:
        node = producers.get(output.name)
        while node and node.op_type in _RESHAPES:
            node = producers.get(node.input[0])
        if node and node.op_type == "Softmax":
            output.name = node.input[0]
            output.type.tensor_type.ClearField("shape")
    used, kept = {output.name for output in made.graph.output}, list[onnx.NodeProto]()
    for node in reversed(made.graph.node):
        if used.intersection(node.output):
            used.update(node.input)
            kept.insert(0, node)
    del made.graph.node[:]
    made.graph.node.extend(kept)
    return made


def _theirs(source: Path, graph: Graph, choice: int, bound: Bindings, method: str, first: int) -> str:
    """int8 for weights, by channel, and for activations; operators that it has no int8 for stay float."""
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with tempfile.TemporaryDirectory() as folder:
        cut, ready, made = (Path(folder) / f"{name}.onnx" for name in ("cut", "ready", "made"))
        onnx.save(cut_softmax(onnx.load(source)), cut)
        float_runtime = OnnxRuntime(cut, graph, bound.constants)
        fixed = float_runtime.fixed()
        feeds = iter([{**sample, **fixed} for sample in drawn_samples(graph, choice, first, CALIBRATION)])
        reader: Any = type("Reader", (), {"get_next": lambda _: next(feeds, None)})()
        quant_pre_process(cut, ready, skip_symbolic_shape=True)
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
        end_of_limit()
        test = drawn_samples(graph, choice, 1000, TEST)
        exact = float_runtime.outputs(test)
        found = OnnxRuntime(made, graph, bound.constants).outputs(test)
    return f"{min(decibels(exact, found, i) for i in range(len(graph.outputs))):.1f}"


def decibels(exact: Sequence[Sequence[Array]], found: Sequence[Sequence[Array]], output: int) -> float:
    right, ours = (
        np.stack([outputs[output] for outputs in side]).astype(np.float64) for side in (exact, found)
    )
    finite = np.isfinite(right)
    signal, noise = np.square(right[finite]).sum(), np.square((ours - right)[finite]).sum()
    return 10 * math.log10(signal / noise) if signal and noise else math.inf
