"""int8 quality: EdgeKit against the quantizers of onnxruntime and LiteRT, on the same models and data.

Needs the extra `bench`, and the float MLPerf Tiny networks as TFLite files (--models). The data of those
networks are made up: coarse patches for images, slow curves for sound. The examples bring data of their own.

LiteRT's quantizers are the extra `rivals`, two gigabytes with tensorflow, best in an environment of its own:

    python -m venv .rivals && .rivals/bin/pip install -e .[bench,rivals]
    .rivals/bin/python -m benchmarks.quantization --models ../shared/models/mlperf_tiny

Where they are not installed their columns stay empty, with a message.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnx.inliner
import onnxruntime
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)
from onnxruntime.quantization.shape_inference import quant_pre_process
from support.tflite_to_onnx import translate

from benchmarks import batch_norms, float_tflite, litert
from benchmarks.onnx2c import NETWORKS
from benchmarks.results import table, write_section
from edgekit import api
from edgekit.converters.onnx.reader import convert
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array
from edgekit.quantize.settings import EFFORTS

_NOTE = """\
Signal-to-noise ratio of the outputs, before a softmax, on samples held out of calibration. EdgeKit, with
normal and high --effort, leads by {lead:.1f} dB on average, best against best. All tools use 8 bits for
weights and activations, with per-channel weight scales. Quantized models of onnxruntime {onnxruntime} are
run by onnxruntime itself, in floats; those of LiteRT's tools by LiteRT's reference kernels, and each column
shows the best of the algorithms that a tool has. The examples use their own data; the others use synthetic
images, sounds and spectra.
"""

_EXAMPLES = Path(__file__).parent.parent / "examples"
_CALIBRATION, _TEST = 64, 48  # samples
_METHODS = {
    "onnxruntime minmax": CalibrationMethod.MinMax,
    "onnxruntime entropy": CalibrationMethod.Entropy,
    "onnxruntime percentile": CalibrationMethod.Percentile,
}


@dataclass(frozen=True)
class Network:
    """A model that ends before its softmax, in both formats, and data for it."""

    name: str
    model: onnx.ModelProto
    tflite: bytes  # where images have their channels last
    calibration: Sequence[Array]
    test: Sequence[Array]

    @property
    def input(self) -> str:
        name: str = self.model.graph.input[0].name
        return name

    def for_tflite(self, samples: Sequence[Array]) -> list[Array]:
        shape = litert.input_shape(self.tflite)
        return [x if x.shape == shape else np.ascontiguousarray(x.transpose(0, 2, 3, 1)) for x in samples]


def networks(models: Path) -> Iterator[Network]:
    """The networks of MLPerf Tiny, and the examples."""
    for title, file in NETWORKS.items():
        path = models / f"{file}.tflite"
        model = before_softmax(translate(path, "NCHW"))
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        made = [_made_up(title, shape, seed) for seed in range(_CALIBRATION + _TEST)]
        tflite = float_tflite.before_softmax(path)
        yield Network(title, model, tflite, made[:_CALIBRATION], made[_CALIBRATION:])
    for name in ("digits", "keywords", "anomaly"):
        folder = _EXAMPLES / name
        arrays = []
        for file in ("calib.npz", "test.npz"):
            with np.load(folder / file) as data:
                arrays.append([x[None] for x in data["x"][:128]])
        model = before_softmax(_plain(onnx.load(folder / f"{name}.onnx")))
        x = model.graph.input[0].name
        tflite = float_tflite.written(_graph(model, {x: arrays[0][0].shape}))
        yield Network(f"example {name}", model, tflite, *arrays)


def _plain(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model for one sample, without the CastLike of torch's exports: behind it onnxruntime does not find
    the constants that it folds."""
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    return onnx.inliner.inline_selected_functions(model, [("", "CastLike")], inline_schema_functions=True)


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


def _graph(model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]]) -> Graph:
    return simplify(convert(model, shapes=shapes, name="network"))


def ours(network: Network, effort: str) -> float:
    """Signal to noise of EdgeKit's integers."""
    graph = _graph(network.model, {network.input: network.test[0].shape})
    calibration = {network.input: np.concatenate(network.calibration)}
    made, _ = api.quantize_model(graph, calibration, effort=effort)
    exact = answers(network.model, network)
    (x,), (y,) = made.inputs, made.outputs
    return _decibels(exact, [simulate.run(made, {x: sample})[y] for sample in network.test])


class _Reader(CalibrationDataReader):  # type: ignore[misc]  # published without types
    def __init__(self, network: Network) -> None:
        self.samples = iter({network.input: x} for x in network.calibration)

    def get_next(self) -> Mapping[str, Array] | None:
        return next(self.samples, None)


def rivals(network: Network) -> dict[str, float | None]:
    """Signal to noise of each other tool, at its best; None where it is not installed."""
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, float | None] = {
            name: onnxruntimes(network, method, Path(folder)) for name, method in _METHODS.items()
        }
    for name, ways in litert.quantizers().items():
        found[name] = max((v for way in ways if (v := literts(network, way)) is not None), default=None)
    return found


def literts(network: Network, quantize: litert.Quantizer) -> float | None:
    """Signal to noise of one of LiteRT's quantizers; None where it left something in floats."""
    made = quantize(network.tflite, network.for_tflite(network.calibration))
    if not litert.is_int8(made):
        return None
    exact = answers(network.model, network)
    return _decibels(exact, litert.answers(made, network.for_tflite(network.test)))


def onnxruntimes(network: Network, method: CalibrationMethod, folder: Path) -> float:
    """Signal to noise of onnxruntime's quantization: int8, a scale for each channel of weights."""
    source, ready, made = (folder / f"{step}.onnx" for step in ("source", "ready", "made"))
    onnx.save(network.model, source)
    quant_pre_process(source, ready, skip_symbolic_shape=True)
    onnx.save(batch_norms.fold(onnx.load(ready)), ready)  # those of dense layers, which cost it 5 dB
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


def _cell(decibels: float | None) -> str:
    return "-" if decibels is None else f"{decibels:.1f}"


def main() -> None:
    """Measure, print, write docs/performance.md."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--models", type=Path, required=True, help="folder of the MLPerf Tiny networks")
    arguments.add_argument("--dry", action="store_true", help="print only")
    options = arguments.parse_args()
    missing = [name for name, ways in litert.quantizers().items() if not ways]
    for name in missing:
        print(f"{name} is left out: it is not installed (extra `rivals`)", file=sys.stderr)
    rows, leads = [], []
    names: list[str] = []
    for network in networks(options.models):
        own = {f"EdgeKit, {effort}": ours(network, effort) for effort in EFFORTS}
        others = rivals(network)
        names = [*own, *others]
        leads.append(max(own.values()) - max(v for v in others.values() if v is not None))
        rows.append([network.name, *(_cell(v) for v in (*own.values(), *others.values(), leads[-1]))])
        print(rows[-1], flush=True)
    text = table(["int8 against float32, dB", *names, "lead"], rows)
    text += "\n\n" + _NOTE.strip().format(lead=sum(leads) / len(leads), onnxruntime=onnxruntime.__version__)
    print(text)
    if not options.dry:
        write_section("quantization", "The quality of int8", text)


if __name__ == "__main__":
    main()
