"""Operators of ai.onnx.ml that tensors can express, beside ONNX Runtime."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from support.onnx_models import model, node, tensor
from support.tools import require_module

from edgekit import convert, run
from edgekit.core.errors import EdgeKitError


def scaled(folder: Path, x: np.ndarray, **attributes: Any) -> Path:
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    made = model(
        [node("Scaler", "x", "y", domain="ai.onnx.ml", **attributes)], inputs=[tensor("x", x.shape, kind)]
    )
    made.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    path = folder / "net.onnx"
    path.write_bytes(made.SerializeToString())
    return path


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("offset", [[0.5], [1.0, -2.0, 3.5]])
@pytest.mark.parametrize("scale", [[3.0], [0.25, -1.0, 7.0]])
def test_scaler(offset: list[float], scale: list[float], dtype: str, tmp_path: Path) -> None:
    x = (np.random.default_rng(1).normal(size=(4, 3)) * 9).astype(dtype)
    if len(offset) != len(scale):
        offset, scale = np.broadcast_arrays(offset, scale)  # of one length, as ONNX Runtime asks for
    path = scaled(tmp_path, x, offset=list(offset), scale=list(scale))
    (expected,) = require_module("onnxruntime").InferenceSession(path).run(None, {"x": x})
    given = x if dtype == "float32" else x.astype(np.int32)
    graph = convert(path)
    (y,) = run(graph, {"x": given.astype(graph.type("x").dtype.numpy)}).values()
    np.testing.assert_allclose(y, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["offset", "scale"])
def test_scaler_of_other_features_is_refused(name: str, tmp_path: Path) -> None:
    path = scaled(tmp_path, np.zeros((4, 3), np.float32), **{name: [1.0, 2.0]})
    with pytest.raises(EdgeKitError, match=f"2 numbers of {name} are not for"):
        convert(path)
