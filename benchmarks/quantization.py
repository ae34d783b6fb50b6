"""int8 quality: EdgeKit against onnxruntime's static quantization, on the same models and calibration data.

Needs onnxruntime, and the float MLPerf Tiny networks as TFLite files (--models). The data of those networks
are made up: coarse patches for images, slow curves for sound. The examples bring data of their own.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)
from onnxruntime.quantization.shape_inference import quant_pre_process

from benchmarks.onnx2c import NETWORKS
from benchmarks.results import table, write_section
from edgekit import api, simulate
from edgekit.converters.from_onnx import convert
from edgekit.ir import Array
from edgekit.passes.simplify import simplify
from tests.support.tflite_to_onnx import translate

_EXAMPLES = Path(__file__).parent.parent / "examples"
_CALIBRATION, _TEST = 64, 48  # samples
_METHODS = {
    "minmax": CalibrationMethod.MinMax,
    "entropy": CalibrationMethod.Entropy,
    "percentile": CalibrationMethod.Percentile,
}


@dataclass(frozen=True)
class Network:
    """A model that ends before its softmax, and data for it, one sample a row."""

    name: str
    model: onnx.ModelProto
    calibration: Sequence[Array]
    test: Sequence[Array]

    @property
    def input(self) -> str:
        name: str = self.model.graph.input[0].name
        return name


def networks(models: Path) -> Iterator[Network]:
    """The networks of MLPerf Tiny, and the examples."""
    for title, file in NETWORKS.items():
        model = before_softmax(translate(models / f"{file}.tflite", "NCHW"))
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        made = [_made_up(title, shape, seed) for seed in range(_CALIBRATION + _TEST)]
        yield Network(title, model, made[:_CALIBRATION], made[_CALIBRATION:])
    for name in ("digits", "keywords", "anomaly"):
        folder = _EXAMPLES / name
        arrays = []
        for file in ("calib.npz", "test.npz"):
            with np.load(folder / file) as data:
                arrays.append([x[None] for x in data["x"][:128]])
        yield Network(f"example {name}", before_softmax(onnx.load(folder / f"{name}.onnx")), *arrays)


def before_softmax(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without a softmax at its end: scores tell more than what is left of them as probabilities."""
    graph = model.graph
    last = next(node for node in graph.node if node.output[0] == graph.output[0].name)
    if last.op_type == "Softmax":
        graph.node.remove(last)
        graph.output[0].name = last.input[0]
    return model


def _made_up(title: str, shape: Sequence[int], seed: int) -> Array:
    """A plausible input: images in [0, 255] or [0, 1], spectra in decibels."""
    random = np.random.default_rng(seed)
    if "image" in title or "visual" in title:
        axes = sorted(np.argsort(shape)[-2:])
        coarse = [n // 8 if i in axes else n for i, n in enumerate(shape)]
        x = random.normal(size=coarse)
        for axis in axes:
            x = x.repeat(8, axis)
        x = x + 0.3 * random.normal(size=x.shape)
        x = np.clip(128 + 50 * x, 0, 255) / (255 if "visual" in title else 1)
    elif title == "keyword":
        time = int(np.argmax(shape))
        weight = 60 / (1 + np.arange(10)) ** 1.2
        x = np.cumsum(random.normal(size=(49, 10)), axis=0) / 4 * weight + random.normal(size=(49, 10))
        x = x.reshape([49 if i == time else n for i, n in enumerate(shape)])
    else:
        level = -15 + 5 * random.normal() + np.cumsum(random.normal(size=128)) / 2
        x = np.concatenate([level + 2 * random.normal(size=128) for _ in range(5)]).reshape(shape)
    return x.astype(np.float32)


def ours(network: Network) -> float:
    """Signal to noise of EdgeKit's integers."""
    graph = simplify(convert(network.model, shapes={network.input: network.test[0].shape}, name="network"))
    made, _ = api.quantize_model(graph, {network.input: np.concatenate(network.calibration)})
    exact = answers(network.model, network)
    (x,), (y,) = made.inputs, made.outputs
    return _decibels(exact, [simulate.run(made, {x: sample})[y] for sample in network.test])


class _Reader(CalibrationDataReader):  # type: ignore[misc]  # published without types
    def __init__(self, network: Network) -> None:
        self.samples = iter({network.input: x} for x in network.calibration)

    def get_next(self) -> Mapping[str, Array] | None:
        return next(self.samples, None)


def theirs(network: Network, method: CalibrationMethod, folder: Path) -> float:
    """Signal to noise of onnxruntime's quantization: int8, a scale for each channel of weights."""
    source, ready, made = (folder / f"{step}.onnx" for step in ("source", "ready", "made"))
    onnx.save(network.model, source)
    quant_pre_process(source, ready, skip_symbolic_shape=True)
    quantize_static(
        ready,
        made,
        _Reader(network),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8,
        calibrate_method=method,
    )
    return _decibels(answers(network.model, network), answers(onnx.load(made), network))


def answers(model: onnx.ModelProto, network: Network) -> list[Array]:
    """What onnxruntime computes, node by node as the model says."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return [session.run(None, {network.input: x})[0] for x in network.test]


def _decibels(truth: Sequence[Array], found: Sequence[Array]) -> float:
    signal = sum(float(np.square(a.astype(np.float64)).sum()) for a in truth)
    noise = sum(float(np.square(a.astype(np.float64) - b).sum()) for a, b in zip(truth, found, strict=True))
    return 10 * math.log10(signal / noise)


def main() -> None:
    """Measure, print, write docs/performance.md."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--models", type=Path, required=True, help="folder of the MLPerf Tiny networks")
    arguments.add_argument("--dry", action="store_true", help="print only")
    options = arguments.parse_args()
    rows, leads = [], []
    for network in networks(options.models):
        own = ours(network)
        with tempfile.TemporaryDirectory() as folder:
            rivals = {name: theirs(network, method, Path(folder)) for name, method in _METHODS.items()}
        leads.append(own - max(rivals.values()))
        rows.append([network.name, *(f"{v:.1f}" for v in (own, *rivals.values(), leads[-1]))])
        print(rows[-1], flush=True)
    head = ["int8 against float32, dB", "EdgeKit", *(f"onnxruntime {name}" for name in _METHODS), "lead"]
    text = table(head, rows)
    text += "\n\nSignal to noise of the outputs, before a softmax, on samples that calibration has not seen."
    text += f" EdgeKit leads by {sum(leads) / len(leads):.1f} dB on average over the best of onnxruntime's"
    text += f" calibrations ({onnxruntime.__version__}, weights per channel). Data of the examples are their"
    text += " own; for the others images, sound and spectra are made up."
    print(text)
    if not options.dry:
        write_section("quantization", "The quality of int8", text)


if __name__ == "__main__":
    main()
