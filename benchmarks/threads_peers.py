"""Other runtimes with several threads, as x86_threads.py calls them: what runs once, and its answer."""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from benchmarks.litert import integers, reals
from benchmarks.threads_networks import Source
from benchmarks.x86_peers import Run, mnn_file, quantized
from edgekit.core.types import Array

_PACKAGES = [
    "litert-torch",
    "ai-edge-litert",
    "ai-edge-quantizer",
    "onnxruntime",
    "pnnx",
    "ncnn",
    "MNN",
    "openvino",
    "nncf",
]
LEAST = {"float32": 30.0, "int8": 1.0}  # dB to torch's answers: below it, a peer computes something different


@dataclass(frozen=True)
class Peer:
    """What runs a network once, and what gives its answer afterwards, in any shape."""

    run: Run
    answer: Callable[[], Array]


def versions() -> str:
    return ", ".join(f"{name} {version(name)}" for name in _PACKAGES)


def peers(source: Source, kind: str, threads: int, folder: Path) -> Iterator[tuple[str, Peer]]:
    """All of them, with what each has for floats or int8."""
    (image,) = source.images(1)
    onnx = source.onnx(folder)
    tflite = source.tflite(folder)
    if kind == "int8":
        samples = source.images(4)
        smaller = folder / "int8.onnx"
        quantized(onnx, smaller, samples)
        yield "LiteRT", _litert(_litert_int8(tflite, samples), threads, image)
        yield "ONNX Runtime", _onnx_runtime(smaller, threads, image)
        yield "OpenVINO", _openvino(onnx, threads, image, samples)
        return
    yield "LiteRT", _litert(tflite, threads, image)
    yield "ONNX Runtime", _onnx_runtime(onnx, threads, image)
    yield "ncnn", _ncnn(source, threads, image, folder)
    yield "MNN", _mnn(onnx, threads, image, folder)
    yield "OpenVINO", _openvino(onnx, threads, image)


def decibels(answer: Array, expected: Array) -> float:
    """How close an answer is: its signal to noise."""
    if answer.size != expected.size:
        return 0.0
    noise = np.square(answer.reshape(-1).astype(float) - expected.reshape(-1)).mean()
    return float(10 * np.log10(np.square(expected.astype(float)).mean() / max(noise, 1e-30)))


def _litert(model: Path, threads: int, image: Array) -> Peer:
    """LiteRT with its default delegate, XNNPACK."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(model), num_threads=threads)
    interpreter.allocate_tensors()
    (x,), (y,) = interpreter.get_input_details(), interpreter.get_output_details()
    pixels = np.ascontiguousarray(image.transpose(0, 2, 3, 1))
    interpreter.set_tensor(x["index"], integers(pixels, x))
    return Peer(interpreter.invoke, lambda: reals(interpreter.get_tensor(y["index"]), y))


def _litert_int8(model: Path, samples: Sequence[Array]) -> Path:
    """int8 by LiteRT's own quantizer, with a scale for each channel of weights and float ports."""
    from ai_edge_quantizer import quantizer, recipe

    path = model.with_name("int8.tflite")
    tool = quantizer.Quantizer(str(model), recipe.static_wi8_ai8())
    given = [{"args_0": sample.transpose(0, 2, 3, 1)} for sample in samples]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        result = tool.quantize(tool.calibrate({"serving_default": given}))
    path.write_bytes(bytes(result.quantized_model))
    return path


def _onnx_runtime(model: Path, threads: int, image: Array) -> Peer:
    """ONNX Runtime, inputs and outputs bound beforehand."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("x", image)
    binding.bind_output("y")
    return Peer(lambda: session.run_with_iobinding(binding), lambda: binding.copy_outputs_to_cpu()[0])


def _openvino(model: Path, threads: int, image: Array, samples: Sequence[Array] = ()) -> Peer:
    """OpenVINO for latency; int8 by its own quantizer, NNCF, which smooths outliers of transformers."""
    library = import_module("openvino")
    core = library.Core()
    network = core.read_model(model)
    if samples:
        nncf = import_module("nncf")
        is_transformer = any(op.get_type_name() == "Softmax" for op in network.get_ops())
        kind = nncf.ModelType.TRANSFORMER if is_transformer else None
        with contextlib.redirect_stdout(io.StringIO()):
            network = nncf.quantize(network, nncf.Dataset(list(samples)), model_type=kind)
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    settings["INFERENCE_PRECISION_HINT"] = "f32"
    request = core.compile_model(network, "CPU", settings).create_infer_request()
    request.set_input_tensor(library.Tensor(image))
    return Peer(request.infer, lambda: np.array(request.get_output_tensor().data))


def _ncnn(source: Source, threads: int, image: Array, folder: Path) -> Peer:
    """ncnn of the file that its converter pnnx makes of torch's."""
    library = import_module("ncnn")
    tool = shutil.which("pnnx")
    assert tool, "pnnx is installed with its package"
    path = source.torchscript(folder)
    shape = f"inputshape=[{','.join(map(str, source.shape))}]"
    subprocess.run([tool, path, shape], check=True, capture_output=True, cwd=folder)
    net = library.Net()
    net.opt.num_threads = threads
    for kind in ("packed", "storage", "arithmetic"):
        setattr(net.opt, f"use_fp16_{kind}", False)
    assert net.load_param(str(folder / "model.ncnn.param")) == 0
    assert net.load_model(str(folder / "model.ncnn.bin")) == 0
    x = library.Mat(image[0]).clone()
    found: list[Any] = []

    def run() -> None:
        with net.create_extractor() as extractor:
            extractor.input("in0", x)
            found[:] = [extractor.extract("out0")[1]]

    return Peer(run, lambda: np.array(found[0]))


def _mnn(model: Path, threads: int, image: Array, folder: Path) -> Peer:
    """MNN, converted by its own tool."""
    library = import_module("MNN")
    interpreter = library.Interpreter(str(mnn_file(model, folder)))
    session = interpreter.createSession({"numThread": threads, "backend": "CPU"})
    caffe = library.Tensor_DimensionType_Caffe
    given = library.Tensor(image.shape, library.Halide_Type_Float, image, caffe)
    interpreter.getSessionInput(session).copyFrom(given)

    def answer() -> Array:
        y = interpreter.getSessionOutput(session)
        plain = library.Tensor(
            y.getShape(), library.Halide_Type_Float, np.zeros(y.getShape(), np.float32), caffe
        )
        y.copyToHostTensor(plain)
        return np.array(plain.getData(), np.float32)

    return Peer(lambda: interpreter.runSession(session), answer)
