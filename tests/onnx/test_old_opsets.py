"""Operators as older opsets have them: other attributes, other defaults; ONNX Runtime is the judge."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.tools import require_module

from edgekit.converters.onnx.reader import convert
from edgekit.core import simulate
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify


@dataclass(frozen=True)
class Old:
    """One operator of an opset, on float inputs of these shapes; `constants` are further inputs."""

    op: str
    opset: int
    shapes: tuple[tuple[int, ...], ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    constants: tuple[Any, ...] = ()
    outputs: int = 1

    def __str__(self) -> str:
        return f"{self.op}-{self.opset}" + "".join(f"-{k}" for k in self.attributes)


IMAGE = (1, 3, 6, 8)
CASES = [
    Old("Clip", 7, (IMAGE,), {"min": -0.5, "max": 0.7}),
    Old("Clip", 7, (IMAGE,), {"min": 0.0}),
    Old("Clip", 11, (IMAGE,), {}, (np.float32(-0.5),)),
    Old("Dropout", 7, (IMAGE,), {"ratio": 0.3}),
    Old("Dropout", 10, (IMAGE,)),
    Old("Upsample", 7, (IMAGE,), {"mode": "nearest", "scales": [1.0, 1.0, 2.0, 3.0]}),
    Old("Upsample", 9, (IMAGE,), {"mode": "linear"}, (np.float32([1, 1, 2, 2]),)),
    Old("Resize", 10, (IMAGE,), {"mode": "linear"}, (np.float32([1, 1, 2, 2]),)),
    Old("Resize", 10, (IMAGE,), {"mode": "nearest"}, (np.float32([1, 1, 0.5, 2]),)),
    Old("Pad", 7, (IMAGE,), {"pads": [0, 0, 1, 2, 0, 0, 3, 0], "value": 0.5}),
    Old("Pad", 7, (IMAGE,), {"mode": "reflect", "pads": [0, 0, 1, 2, 0, 0, 3, 0]}),
    Old("Slice", 7, (IMAGE,), {"starts": [1, -5], "ends": [6, 100], "axes": [2, 3]}),
    Old("Slice", 7, (IMAGE,), {"starts": [0, 1], "ends": [1, 3]}),
    Old("Slice", 10, (IMAGE,), {}, (np.int64([5]), np.int64([-100]), np.int64([2]), np.int64([-2]))),
    Old("Split", 7, (IMAGE,), {"axis": 3, "split": [2, 5, 1]}, outputs=3),
    Old("Split", 11, (IMAGE,), {"axis": 2}, outputs=3),
    Old("Squeeze", 7, ((1, 3, 1, 5),), {"axes": [0, 2]}),
    Old("Squeeze", 11, ((1, 3, 1, 5),), {"axes": [-2]}),
    Old("Unsqueeze", 7, ((3, 5),), {"axes": [0, 3]}),
    Old("Unsqueeze", 11, ((3, 5),), {"axes": [-1]}),
    Old("Softmax", 7, (IMAGE,)),
    Old("Softmax", 11, (IMAGE,), {"axis": 2}),
    Old("LogSoftmax", 7, (IMAGE,), {"axis": 3}),
    Old("Hardmax", 7, (IMAGE,)),
    Old("ReduceSum", 7, (IMAGE,), {"axes": [1, 3]}),
    Old("ReduceSum", 11, (IMAGE,), {"axes": [-1], "keepdims": 0}),
    Old("ReduceMean", 13, (IMAGE,), {"axes": [2, 3]}),
    Old("ReduceMax", 7, (IMAGE,)),
    Old("ReduceLogSumExp", 11, (IMAGE,), {"axes": [1]}),
    Old("TopK", 7, ((3, 7),), {"k": 3}, outputs=2),
    Old("TopK", 10, ((3, 7),), {"axis": 0}, (np.int64([2]),), outputs=2),
    Old("BatchNormalization", 7, (IMAGE, (3,), (3,), (3,)), {"epsilon": 0.01}, (np.float32([1, 2, 0.5]),)),
    Old("BatchNormalization", 9, (IMAGE, (3,), (3,), (3,)), {}, (np.float32([1, 2, 0.5]),)),
    Old("Gemm", 7, ((4, 3), (5, 4), (5,)), {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}),
    Old("Gemm", 9, ((3, 4), (4, 5), (3, 1))),
    Old("MaxPool", 7, (IMAGE,), {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    Old("MaxPool", 10, (IMAGE,), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    Old("AveragePool", 7, (IMAGE,), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    Old("AveragePool", 10, (IMAGE,), {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    Old("LpPool", 7, (IMAGE,), {"kernel_shape": [2, 2], "p": 2}),
    Old("Flatten", 7, (IMAGE,), {"axis": 2}),
    Old("Flatten", 11, (IMAGE,), {"axis": -1}),
    Old("ArgMax", 7, (IMAGE,), {"axis": 1}),
    Old("ArgMin", 11, (IMAGE,), {"axis": -1, "keepdims": 0}),
    Old("PRelu", 7, (IMAGE, (3, 1, 1))),
    Old("Elu", 7, (IMAGE,), {"alpha": 0.5}),
    Old("ThresholdedRelu", 10, (IMAGE,)),
    Old("Scatter", 9, ((3, 4),), {"axis": 1}, (np.int64([[1], [0], [3]]), np.float32([[9], [8], [7]]))),
    Old("Gather", 7, ((3, 4),), {"axis": 1}, (np.int64([3, 0]),)),
    Old("Cast", 7, (IMAGE,), {"to": TensorProto.INT32}),
    Old("Sum", 8, (IMAGE, (3, 1, 1), (8,))),
    Old("Mean", 8, (IMAGE, IMAGE)),
    Old("Pow", 7, ((2, 3),), {}, (np.float32(3),)),
    Old("Expand", 8, ((3, 1),), {}, (np.int64([2, 1, 4]),)),
    Old("Tile", 7, ((2, 3),), {}, (np.int64([2, 2]),)),
    Old("DepthToSpace", 7, ((1, 8, 2, 3),), {"blocksize": 2}),
    Old("InstanceNormalization", 7, (IMAGE, (3,), (3,))),
    Old("LRN", 7, ((1, 5, 3, 3),), {"size": 3}),
    Old("LSTM", 7, ((4, 1, 3), (1, 20, 3), (1, 20, 5)), {"hidden_size": 5}, outputs=3),
    Old(
        "GRU", 7, ((4, 1, 3), (1, 15, 3), (1, 15, 5)), {"hidden_size": 5, "linear_before_reset": 1}, outputs=2
    ),
    Old(
        "RNN",
        7,
        ((4, 1, 3), (2, 5, 3), (2, 5, 5)),
        {"hidden_size": 5, "direction": "bidirectional"},
        outputs=2,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_older_opset_means_what_onnxruntime_does(case: Old) -> None:
    ort = require_module("onnxruntime")
    inputs = [f"x{i}" for i in range(len(case.shapes))]
    constants = [f"c{i}" for i in range(len(case.constants))]
    outputs = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op, inputs + constants, outputs, **case.attributes)
    graph = helper.make_graph(
        [node],
        "old",
        [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
            for n, s in zip(inputs, case.shapes, strict=True)
        ],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(np.asarray(c), n) for n, c in zip(constants, case.constants, strict=True)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=8)
    rng = np.random.default_rng(11)
    data = {n: rng.standard_normal(s).astype(np.float32) for n, s in zip(inputs, case.shapes, strict=True)}
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, data)
    converted = simplify(convert(model))
    verify(converted)
    found = simulate.run(converted, data)
    for name, right in zip(outputs, expected, strict=True):
        assert found[name].dtype == right.dtype
        np.testing.assert_allclose(found[name], right, rtol=1e-5, atol=1e-6)
