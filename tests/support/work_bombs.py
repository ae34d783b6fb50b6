"""Model files of a few hundred bytes that ask for endless work, one for each way to multiply it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper
from support.onnx_models import FLOAT, INT64, model, node, tensor

UINT8, DOUBLE, BOOL = TensorProto.UINT8, TensorProto.DOUBLE, TensorProto.BOOL
Operand = np.ndarray | np.generic | tuple[int, ...] | str
SIDE = 1 << 12
IMAGE = (1, 1, 3000, 3000)


def filled(name: str, shape: tuple[int, ...], type: int) -> NodeProto:
    value = helper.make_tensor("v", type, [1], [1])
    return node("ConstantOfShape", f"{name}_shape", name, value=value)


def bomb(
    op: str, *operands: Operand, outputs: str = "y", type: int = FLOAT, opset: int = 20, **attributes: Any
) -> Callable[[bool], ModelProto]:
    """A model of one operator. An operand that is a shape is a tensor of this type: a constant that the model
    computes, or an input of it where the model is `live`."""

    def made(live: bool) -> ModelProto:
        nodes, inputs, names = list[NodeProto](), [tensor("x", [1])], list[str]()
        constants = dict[str, Any]()
        for i, operand in enumerate(operands):
            name = f"c{i}"
            match operand:
                case str():
                    name = operand
                case tuple() if live:
                    inputs.append(tensor(name, list(operand), type))
                case tuple():
                    nodes.append(filled(name, operand, type))
                    constants[f"{name}_shape"] = np.array(operand, np.int64)
                case _:
                    constants[name] = operand
            names.append(name)
        nodes.append(node(op, " ".join(names), outputs, **attributes))
        first = outputs.split()[0]
        nodes += [
            node("Cast", first, "f", to=FLOAT),
            node("ReduceMax", "f", "m", keepdims=0),
            node("Add", "x m", "z"),
        ]
        return model(nodes, constants, inputs=inputs, outputs=["z"], opset=opset)

    return made


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


WINDOW = [1500, 1500]
BOMBS: dict[str, Callable[[bool], ModelProto]] = {
    "MaxPool": bomb("MaxPool", IMAGE, kernel_shape=WINDOW),
    "MaxPool of bytes": bomb("MaxPool", IMAGE, type=UINT8, kernel_shape=WINDOW),
    "MaxPool with indices": bomb("MaxPool", IMAGE, outputs="y i", kernel_shape=WINDOW),
    "MaxPool dilated": bomb("MaxPool", IMAGE, kernel_shape=[1000, 1000], dilations=[2, 2]),
    "AveragePool": bomb("AveragePool", IMAGE, kernel_shape=WINDOW),
    "AveragePool of doubles": bomb("AveragePool", IMAGE, type=DOUBLE, kernel_shape=WINDOW),
    "LpPool": bomb("LpPool", IMAGE, p=3, kernel_shape=WINDOW),
    "Conv": bomb("Conv", IMAGE, (1, 1, 1500, 1500)),
    "Conv depthwise": bomb("Conv", (1, 8, 1000, 1000), (8, 1, 500, 500), group=8),
    "ConvTranspose": bomb("ConvTranspose", (1, 1, 2000, 2000), (1, 1, 2000, 2000)),
    "ConvInteger": bomb("ConvInteger", IMAGE, (1, 1, 1500, 1500), type=UINT8),
    "DeformConv": bomb("DeformConv", (1, 1, 500, 500), (1, 1, 90, 90), (1, 16200, 411, 411), opset=22),
    "MatMul": bomb("MatMul", (SIDE, SIDE), (SIDE, SIDE)),
    "MatMul in batches": bomb("MatMul", (512, 512, 128), (512, 128, 512)),
    "MatMulInteger": bomb("MatMulInteger", (SIDE, SIDE), (SIDE, SIDE), type=UINT8),
    "Gemm": bomb("Gemm", (SIDE, SIDE), (SIDE, SIDE)),
    "Einsum of two": bomb("Einsum", (SIDE, SIDE), (SIDE, SIDE), equation="ij,jk->ik"),
    "Einsum of three": bomb("Einsum", (4000, 3), (4000, 3), (4000, 3), equation="ia,jb,kc->abc"),
    "Einsum of all": bomb("Einsum", (30000,), (30000,), (30000,), equation="i,j,k->"),
    "CumSum": bomb("CumSum", (1 << 24,), ints(0)),
    "CumSum of columns": bomb("CumSum", (4000, 4000), ints(0)),
    "Gather": bomb("Gather", (64,), np.zeros(1 << 10, np.int64)),
    "Gather of rows": bomb("Gather", (2, 1 << 20), np.zeros(100, np.int64)),
    "GatherElements": bomb("GatherElements", (SIDE, SIDE), (SIDE, SIDE), type=INT64),
    "ScatterElements": bomb(
        "ScatterElements", (SIDE, SIDE), (SIDE, SIDE), (SIDE, SIDE), type=INT64, reduction="add"
    ),
    "ScatterND": bomb("ScatterND", (1 << 24,), (1 << 24, 1), (1 << 24,), type=INT64, reduction="add"),
    "Resize linear": bomb("Resize", (1, 1, 2000, 2000), "-", floats(1, 1, 2, 2), mode="linear"),
    "Resize cubic": bomb("Resize", (1, 1, 2000, 2000), "-", floats(1, 1, 2, 2), mode="cubic"),
    "Resize antialias": bomb(
        "Resize", (1, 1, 6000, 6000), "-", floats(1, 1, 0.5, 0.0005), mode="cubic", antialias=1
    ),
    "Resize to a point and back": bomb("Resize", (1, 1, 2, 2), "-", floats(1, 1, 4000, 4000), mode="cubic"),
    "TopK": bomb("TopK", (1 << 23,), ints(1 << 23), outputs="y i"),
    "TopK of rows": bomb("TopK", (2500, 2500), ints(2500), outputs="y i"),
    "DFT": bomb("DFT", (1, 4000003, 1), opset=20),
    "DFT of rows": bomb("DFT", (3001, 3001, 1), opset=20),
    "DFT of prime rows": bomb("DFT", (200, 100003, 1), opset=20),
    "STFT": bomb("STFT", (1, 1 << 20, 1), np.int64(1), floats(*[1] * 1024)),
    "MelWeightMatrix": bomb(
        "MelWeightMatrix", np.int64(8000), np.int64(8000), np.int64(16000), np.float32(0), np.float32(8000)
    ),
    "GridSample": bomb("GridSample", (1, 8, 1000, 1000), (1, 2000, 2000, 2), mode="cubic"),
    "RoiAlign": bomb(
        "RoiAlign",
        (1, 1, 1000, 1000),
        (1000, 4),
        np.zeros(1000, np.int64),
        output_height=100,
        output_width=100,
        sampling_ratio=100,
    ),
    "RoiAlign adaptive": bomb(
        "RoiAlign",
        (1, 1, 3000, 3000),
        np.array([[0, 0, 3000, 3000]] * 500, np.float32),
        np.zeros(500, np.int64),
        output_height=1,
        output_width=1,
    ),
    "MaxRoiPool": bomb("MaxRoiPool", (1, 1, 3000, 3000), (10000, 5), pooled_shape=[1, 1]),
    "NonMaxSuppression": bomb("NonMaxSuppression", (1, 200000, 4), (1, 1, 200000), ints(200000)),
    "NonMaxSuppression of classes": bomb("NonMaxSuppression", (1, 4000, 4), (1, 4000, 4000), ints(4000)),
    "LRN": bomb("LRN", (1, 2500, 100, 100), size=2501),
    "Attention": bomb("Attention", (1, 1, 1 << 15, 64), (1, 1, 1 << 15, 64), (1, 1, 1 << 15, 64), opset=23),
    "LSTM": bomb("LSTM", (2000, 1, 1000), (1, 4000, 1000), (1, 4000, 1000), hidden_size=1000),
    "GRU": bomb("GRU", (2000, 1, 1000), (1, 3000, 1000), (1, 3000, 1000), hidden_size=1000),
    "RNN": bomb("RNN", (4000, 1, 2000), (1, 2000, 2000), (1, 2000, 2000), hidden_size=2000),
    "Det": bomb("Det", (4000, 4000)),
    "Det in batches": bomb("Det", (400, 300, 300)),
    "NonZero": bomb("NonZero", (5000, 5000)),
    "OneHot": bomb("OneHot", (10000,), np.int64(10000), floats(0, 1)),
    "outer sum": bomb("Add", (10000, 1), (1, 10000)),
    "outer power": bomb("Pow", (8000, 1), (1, 8000)),
    "Erf": bomb("Erf", (1 << 25,)),
    "Gelu": bomb("Gelu", (1 << 24,), opset=20),
    "Cast of bits": bomb("Cast", (1 << 27,), type=BOOL, to=FLOAT),
    "Not": bomb("Not", (1 << 26,), type=BOOL),
    "Softmax": bomb("Softmax", (5000, 5000)),
    "LayerNormalization": bomb("LayerNormalization", (4000, 4000), (4000,)),
    "Tile": bomb("Tile", (1 << 20,), ints(64)),
    "Expand": bomb("Expand", (1,), ints(8000, 8000)),
    "Pad": bomb("Pad", (1, 1), ints(4000, 4000, 4000, 4000)),
    "Trilu": bomb("Trilu", (4000, 4000)),
    "EyeLike": bomb("EyeLike", (8000, 8000)),
    "Col2Im": bomb("Col2Im", (1, 1 << 20, 16), ints(1030, 1030), ints(1024, 1024), opset=18),
    "ReverseSequence": bomb("ReverseSequence", (8000, 8000), np.full(8000, 8000)),
    "CenterCropPad": bomb("CenterCropPad", (1, 1), ints(8000, 8000)),
    "Unique": bomb("Unique", (1 << 24,)),
    "BitShift": bomb("BitShift", (1 << 26,), (1 << 26,), type=UINT8, direction="LEFT"),
    "AffineGrid": bomb("AffineGrid", (1, 2, 3), ints(1, 1, 8000, 8000)),
    "ArgMax": bomb("ArgMax", (1 << 25, 1)),
    "GlobalLpPool": bomb("GlobalLpPool", IMAGE, p=3),
    "Mod": bomb("Mod", (8000, 8000), (8000, 8000), type=FLOAT, fmod=1),
    "Compress": bomb("Compress", (1 << 24,), (1 << 24,), type=BOOL),
    "Transpose": bomb("Transpose", (5000, 5000)),
    "HannWindow": bomb("HannWindow", np.int64(1 << 26)),
    "Range": bomb("Range", np.int64(0), np.int64(1 << 25), np.int64(1)),
    "ReduceLogSumExp": bomb("ReduceLogSumExp", (5000, 5000)),
}
