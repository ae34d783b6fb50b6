"""Other runtimes as benchmarks call them: one thread, model and input in place, a function that runs once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

from tests.support.tflite_to_onnx import translate

Run = Callable[[], Any]


def peers(model: Path, folder: Path) -> dict[str, Run]:
    """What can run a TFLite file here."""
    found = {"LiteRT": litert(model)}
    is_float = (
        not any(word in model.stem for word in ("int8", "quant", "kws_ref_model")) or "float" in model.stem
    )
    if is_float:
        source = folder / "model.onnx"
        onnx.save(translate(model, layout="NCHW"), source)
        found["ONNX Runtime"] = onnx_runtime(source)
        if find_spec("MNN"):
            found["MNN"] = mnn("ONNX", source, folder)
    else:
        source = folder / "model_int8.onnx"
        quantized(float_twin(model), folder, source)
        found["ONNX Runtime"] = onnx_runtime(source)
    return found


_FLOAT = {
    "pretrainedResnet_quant": "pretrainedResnet",
    "kws_ref_model": "kws_ref_model_float32",
    "vww_96_int8": "vww_96_float",
    "ad01_int8": "ad01_fp32",
}


def float_twin(model: Path) -> Path:
    """The float file of the same network."""
    return model.with_name(_FLOAT[model.stem] + model.suffix)


def litert(model: Path) -> Run:
    """LiteRT with its default delegate, XNNPACK."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(model), num_threads=1)
    interpreter.allocate_tensors()
    for x in interpreter.get_input_details():
        interpreter.set_tensor(x["index"], _input(x["shape"], x["dtype"]))
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
        binding.bind_cpu_input(x.name, _input(x.shape, np.float32))
    for y in session.get_outputs():
        binding.bind_output(y.name)
    return lambda: session.run_with_iobinding(binding)


def quantized(model: Path, folder: Path, path: Path) -> None:
    """An int8 ONNX model by ONNX Runtime's quantizer: a scale for each channel, on random inputs."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    source = folder / "float.onnx"
    net = translate(model, layout="NCHW")
    onnx.save(net, source)
    (x,) = net.graph.input
    shape = [d.dim_value for d in x.type.tensor_type.shape.dim]

    class Reader(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
        """A few random inputs."""

        def __init__(self) -> None:
            generator = np.random.default_rng(0)
            self.left = [{x.name: generator.normal(size=shape).astype(np.float32)} for _ in range(4)]

        def get_next(self) -> Any:
            return self.left.pop() if self.left else None

    quantize_static(
        source,
        path,
        Reader(),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        weight_type=QuantType.QInt8,
        activation_type=QuantType.QUInt8,
    )


def mnn(kind: str, model: Path, folder: Path) -> Run:
    """MNN, converted by its own tool."""
    library = import_module("MNN")
    made = folder / f"{model.stem}.mnn"
    tool = "import sys; from MNN.tools.mnnconvert import main; sys.exit(main())"
    arguments = ["-f", kind, "--modelFile", str(model), "--MNNModel", str(made), "--bizCode", "x"]
    subprocess.run([sys.executable, "-c", tool, *arguments], check=True, capture_output=True)
    interpreter = library.Interpreter(str(made))
    session = interpreter.createSession({"numThread": 1, "backend": "CPU"})
    return lambda: interpreter.runSession(session)


def _input(shape: Any, dtype: Any) -> np.ndarray[Any, Any]:
    size = int(np.prod(shape))
    if dtype == np.float32:
        return (np.arange(size) * 37 % 101 / 50 - 1).astype(np.float32).reshape(shape)
    return (np.arange(size) * 37 % 256 - 128).astype(dtype).reshape(shape)
