"""x[mask] = number, as PyTorch's exporter writes it: as many copies of the number as the mask has ones."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.onnx_models import node
from support.tools import require_module

import edgekit
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

X = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)


def saved(folder: Path, mask: tuple[int, ...], number: Array, *, is_read: bool = False) -> Path:
    """y = x with numbers where the mask is, whose shape may be that of the first dimensions of x."""
    rank = len(mask)
    rest = [node("Slice", "shape from to", "rest"), node("Concat", "count rest", "sizes", axis=0)]
    nodes = [
        node("NonZero", "mask", "places"),
        node("Transpose", "places", "rows", perm=[1, 0]),
        node("Reshape", "mask minus", "flat"),
        node("Cast", "flat", "ones", to=TensorProto.INT64),
        node("ReduceSum", "ones", "count", keepdims=1),
        node("Shape", "x", "shape"),
        *rest,
        node("Expand", "number sizes", "copies"),
        node("ScatterND", "x rows copies", "y"),
    ]
    constants = {"number": number, "minus": np.array([-1]), "from": np.array([rank]), "to": np.array([9])}
    made = [numpy_helper.from_array(data, name) for name, data in constants.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)
    chosen = helper.make_tensor_value_info("mask", TensorProto.BOOL, mask)
    ends = [helper.make_tensor_value_info("y", TensorProto.FLOAT, X.shape)]
    ends += [helper.make_tensor_value_info("count", TensorProto.INT64, [1])] * is_read
    graph = helper.make_graph(nodes, "net", [x, chosen], ends, made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, folder / "net.onnx")
    return folder / "net.onnx"


@pytest.mark.parametrize("mask", [(3, 4, 5), (3, 4), (3,)])
@pytest.mark.parametrize("number", [np.float32(2.5), np.array([-1], np.float32)])
@pytest.mark.parametrize("is_read", [False, True])
def test_numbers_go_where_the_mask_is(
    mask: tuple[int, ...], number: Array, is_read: bool, tmp_path: Path
) -> None:
    runtime = require_module("onnxruntime")
    path = saved(tmp_path, mask, np.asarray(number), is_read=is_read)
    given = {"x": X, "mask": np.random.default_rng(1).integers(0, 2, mask).astype(bool)}
    expected = runtime.InferenceSession(str(path)).run(None, given)
    found = edgekit.run(edgekit.convert(path), given)
    for right, result in zip(expected, found.values(), strict=True):
        np.testing.assert_array_equal(result, right)


def test_several_numbers_are_no_choice(tmp_path: Path) -> None:
    """Which of them goes where depends on the count."""
    with pytest.raises(EdgeKitError, match="depends on the input mask"):
        edgekit.convert(saved(tmp_path, (3, 4), np.arange(5, dtype=np.float32)))
