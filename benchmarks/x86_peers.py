"""Other runtimes as benchmarks call them: one thread, model and input in place, a function that runs once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

from benchmarks import x86_ncnn
from benchmarks.x86_networks import Network
from edgekit.core.types import Array

Run = Callable[[], Any]
_PACKAGES = {"LiteRT": "ai-edge-litert", "ONNX Runtime": "onnxruntime", "ncnn": "ncnn", "MNN": "MNN"}


def peers(network: Network, folder: Path) -> dict[str, Run]:
    """What can run a network here."""
    found = {"LiteRT": litert(network.tflite)}
    if network.is_int8:
        source = folder / "model_int8.onnx"
        quantized(network.onnx, source)
        found["ONNX Runtime"] = onnx_runtime(source)
        if find_spec("ncnn"):
            found["ncnn"] = ncnn_int8(network.onnx, folder)
        return found
    found["ONNX Runtime"] = onnx_runtime(network.onnx)
    if find_spec("ncnn"):
        shape = input_of(onnx.load(network.onnx))[1]
        found["ncnn"] = x86_ncnn.runner(network.onnx, folder, numbers(shape, np.float32))
    if find_spec("MNN"):
        found["MNN"] = mnn(network.onnx, folder)
    return found


def versions() -> Iterator[str]:
    """The peers that are installed, as a reader would name them."""
    for name, package in _PACKAGES.items():
        if find_spec(package.replace("-", "_")):
            yield f"{name} {version(package)}"


def litert(model: Path) -> Run:
    """LiteRT with its default delegate, XNNPACK."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(model), num_threads=1)
    interpreter.allocate_tensors()
    for x in interpreter.get_input_details():
        interpreter.set_tensor(x["index"], numbers(x["shape"], x["dtype"]))
    interpreter.invoke()
    run: Run = interpreter.invoke
    return run


def onnx_runtime(model: Path) -> Run:
    """ONNX Runtime, inputs and outputs bound beforehand."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    binding = session.io_binding()
    for x in session.get_inputs():
        binding.bind_cpu_input(x.name, numbers(x.shape, np.float32))
    for y in session.get_outputs():
        binding.bind_output(y.name)
    return lambda: session.run_with_iobinding(binding)


def quantized(model: Path, path: Path, samples: Sequence[Array] = ()) -> None:
    """An int8 ONNX model by ONNX Runtime's quantizer: a scale for each channel, on samples or random ones."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    prepared = path.with_name("prepared.onnx")
    quant_pre_process(model, prepared, skip_symbolic_shape=True)  # which fails on attention; shapes are fixed
    name, shape = input_of(onnx.load(model))

    class Reader(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
        """A few random inputs."""

        def __init__(self) -> None:
            self.left = [{name: sample} for sample in reversed(samples or _samples(shape))]

        def get_next(self) -> Any:
            return self.left.pop() if self.left else None

    quantize_static(
        prepared,
        path,
        Reader(),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        weight_type=QuantType.QInt8,
        activation_type=QuantType.QUInt8,
    )


def ncnn_int8(model: Path, folder: Path) -> Run:
    """ncnn in int8, on scales of the same inputs as ONNX Runtime's."""
    shape = input_of(onnx.load(model))[1]
    run = x86_ncnn.runner(model, folder, _samples(shape)[0], ranges(model))
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {session.get_inputs()[0].name: _samples(shape)[0]})
    found = np.array(run()).reshape(-1)
    assert np.corrcoef(found, expected.reshape(-1))[0, 1] > 0.9, "ncnn computes something else in int8"
    return run


def ranges(model: Path) -> dict[str, float]:
    """The largest magnitudes of what layers read."""
    graph = onnx.load(model)
    names = list(dict.fromkeys(n.input[0] for n in graph.graph.node if n.op_type in ("Conv", "Gemm")))
    x, shape = input_of(graph)
    made = {name for node in graph.graph.node for name in node.output}
    graph.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name in made)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    most: dict[str, float] = dict.fromkeys(names, 1e-9)
    for sample in _samples(shape):
        values = {
            x: sample,
            **dict(zip([y.name for y in session.get_outputs()], session.run(None, {x: sample}), strict=True)),
        }
        most |= {name: max(most[name], float(np.abs(values[name]).max())) for name in names}
    return most


def _samples(shape: tuple[int, ...]) -> list[Array]:
    """A few random inputs."""
    generator = np.random.default_rng(0)
    return [generator.normal(size=shape).astype(np.float32) for _ in range(4)]


def mnn(model: Path, folder: Path) -> Run:
    """MNN on one thread."""
    interpreter = import_module("MNN").Interpreter(str(mnn_file(model, folder)))
    session = interpreter.createSession({"numThread": 1, "backend": "CPU"})
    return lambda: interpreter.runSession(session)


def mnn_file(model: Path, folder: Path) -> Path:
    """An MNN model of an ONNX model, by MNN's own tool."""
    made = folder / f"{model.stem}.mnn"
    tool = "import sys; from MNN.tools.mnnconvert import main; sys.exit(main())"
    arguments = ["-f", "ONNX", "--modelFile", str(model), "--MNNModel", str(made), "--bizCode", "x"]
    # No PATH: the tool would install packages by the pip that it finds there.
    paths = {"PYTHONPATH": ":".join(sys.path), "PATH": os.devnull}
    subprocess.run([sys.executable, "-c", tool, *arguments], check=True, capture_output=True, env=paths)
    return made


def input_of(model: onnx.ModelProto) -> tuple[str, tuple[int, ...]]:
    """The name and the shape of the only input."""
    (x,) = model.graph.input
    return x.name, tuple(d.dim_value for d in x.type.tensor_type.shape.dim)


def numbers(shape: Any, dtype: Any) -> Array:
    """Some input."""
    size = int(np.prod(shape))
    if dtype == np.float32:
        return (np.arange(size) * 37 % 101 / 50 - 1).astype(np.float32).reshape(shape)
    return (np.arange(size) * 37 % 256 - 128).astype(dtype).reshape(shape)
