"""The test tool that turns the float MLPerf Tiny networks into ONNX agrees with both of their runtimes."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="the extra `bench` brings the TFLite schema and interpreter")
onnxruntime = pytest.importorskip("onnxruntime", reason="the extra `bench` brings it")

from ai_edge_litert.interpreter import Interpreter  # noqa: E402 -- only after the skip above
from support.tflite_to_onnx import Layout, float_tflite, translate  # noqa: E402 -- likewise

MODELS = Path(__file__).parents[2] / "shared" / "models" / "mlperf_tiny"
NAMES = ["ad01_fp32", "kws_ref_model_float32", "pretrainedResnet", "vww_96_float"]


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("name", NAMES)
def test_translation_computes_what_tflite_computes(name: str, layout: Layout) -> None:
    path = MODELS / f"{name}.tflite"
    if not path.exists():
        pytest.skip("needs the MLPerf Tiny reference models in ../shared/models")
    interpreter = Interpreter(model_content=float_tflite(path))
    interpreter.allocate_tensors()
    (source,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    session = onnxruntime.InferenceSession(translate(path, layout).SerializeToString())
    perm = [0, 3, 1, 2] if layout == "NCHW" and len(source["shape"]) == 4 else None

    generator = np.random.default_rng(1)
    for _ in range(5):
        x = generator.uniform(-1, 1, source["shape"]).astype(np.float32)
        interpreter.set_tensor(source["index"], x)
        interpreter.invoke()
        (y,) = session.run(None, {session.get_inputs()[0].name: x.transpose(perm) if perm else x})
        expected = interpreter.get_tensor(result["index"])
        assert np.abs(y - expected).max() <= 1e-5 * np.ptp(expected)
