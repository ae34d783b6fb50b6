"""Hostile and broken ONNX models, each with the code and the words of the error that it deserves."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from onnx import AttributeProto, ModelProto, TensorProto, helper
from support.onnx_models import FLOAT, INT64, function, model, node, tensor

RELU = node("Relu", "x", "y")
HUGE = np.array([1 << 40], np.int64)
LARGE = np.array([1 << 11, 1 << 11], np.int64)  # 16 MiB of floats: one is fine, many are not


def changed(base: ModelProto, change: Callable[[ModelProto], object]) -> ModelProto:
    change(base)
    return base


def raw(type: int, dims: list[int], data: bytes) -> TensorProto:
    return TensorProto(name="c", data_type=type, dims=dims, raw_data=data)


def with_tensor(proto: TensorProto) -> ModelProto:
    return changed(model([node("Add", "x c", "y")]), lambda m: m.graph.initializer.append(proto))


def with_attribute(attribute: AttributeProto, op: str = "Transpose") -> ModelProto:
    return changed(model([node(op, "x", "y")]), lambda m: m.graph.node[0].attribute.append(attribute))


def calls(depth: int, times: int) -> ModelProto:
    """Functions that call the one before them several times."""
    functions = [function("f0", [node("Relu", "a", "b")])]
    for i in range(1, depth):
        names = ["a", *(f"t{k}" for k in range(1, times)), "b"]
        steps = [node(f"f{i - 1}", *pair, domain="local") for pair in pairwise(names)]
        functions.append(function(f"f{i}", steps))
    return model([node(f"f{depth - 1}", "x", "y", domain="local")], functions=functions)


IMAGE = (tensor("x", [1, 1, 4, 4]),)


# Name: code, words of the message, the model.
def recurrent(**attributes: object) -> ModelProto:
    """A layer of one unit over two steps."""
    ones = np.ones((1, 1, 1), np.float32)
    layer = node("RNN", "x w r", "y", hidden_size=1, **attributes)
    return model([layer], {"w": ones, "r": ones}, inputs=[tensor("x", [2, 1, 1])])


CASES: dict[str, tuple[str, str, Callable[[], ModelProto]]] = {
    # Graphs
    "nodes out of order": (
        "E0401",
        "reads t, which is computed later",
        lambda: model([node("Relu", "t", "y"), node("Relu", "x", "t")]),
    ),
    "node that reads itself": ("E0401", "computed later", lambda: model([node("Add", "x y", "y")])),
    "edge of nothing": ("E0401", "reads z, which nothing computes", lambda: model([node("Relu", "z", "y")])),
    "output of nothing": ("E0401", "output z is never computed", lambda: model([RELU], outputs=["y", "z"])),
    "output twice": ("E0401", "two outputs are called 'y'", lambda: model([RELU], outputs=["y", "y"])),
    "result twice": ("E0401", "computes y, which is there already", lambda: model([RELU, RELU])),
    "result over an input": (
        "E0401",
        "computes x, which is there",
        lambda: model([node("Relu", "x", "x"), RELU]),
    ),
    "result over a constant": (
        "E0401",
        "computes c, which is there",
        lambda: model([node("Relu", "x", "c"), RELU], {"c": np.float32(1)}),
    ),
    "input twice": (
        "E0401",
        "two inputs are called 'x'",
        lambda: model([RELU], inputs=[tensor("x", [1])] * 2),
    ),
    "constant twice": (
        "E0401",
        "two initializers are called 'c'",
        lambda: changed(
            model([RELU], {"c": np.float32(1)}), lambda m: m.graph.initializer.append(m.graph.initializer[0])
        ),
    ),
    "name that is no text": (
        "E0401",
        "name is no text",
        lambda: ModelProto.FromString(
            model([node("Relu", "x", "NAME"), node("Relu", "NAME", "y")])
            .SerializeToString()
            .replace(b"NAME", b"\xff\xfe\xfd\xfc")
        ),
    ),
    "no version": (
        "E0202",
        "opset 0",
        lambda: changed(model([RELU]), lambda m: m.ClearField("opset_import")),
    ),
    "version of the future": ("E0202", "opset 1000000", lambda: model([RELU], opset=1000000)),
    "negative version": ("E0202", "opset -1", lambda: model([RELU], opset=-1)),
    "ancient version": ("E0202", "opset 5", lambda: model([RELU], opset=5)),
    # Inputs
    "input without a shape": ("E0302", r"\[...\]", lambda: model([RELU], inputs=[tensor("x", None)])),
    "input of dynamic shape": (
        "E0302",
        r"\[n,m\]\n *hint: bind it: --dim m=N",
        lambda: model([RELU], inputs=[tensor("x", ["n", "m"])]),
    ),
    "input of negative shape": ("E0402", "absurd", lambda: model([RELU], inputs=[tensor("x", [2, -5])])),
    "input of absurd shape": ("E0402", "absurd", lambda: model([RELU], inputs=[tensor("x", [1 << 62, 4])])),
    "input absurd beside 0": ("E0402", "absurd", lambda: model([RELU], inputs=[tensor("x", [0, 1 << 62])])),
    "input of absurd rank": ("E0402", "absurd", lambda: model([RELU], inputs=[tensor("x", [1] * 65)])),
    "input of strings": (
        "E0204",
        "inputs of string",
        lambda: model([RELU], inputs=[tensor("x", [1], TensorProto.STRING)]),
    ),
    "input of an unknown type": ("E0204", "type 99", lambda: model([RELU], inputs=[tensor("x", [1], 99)])),
    "input of a sequence": (
        "E0204",
        "sequence_type",
        lambda: model([RELU], inputs=[helper.make_tensor_sequence_value_info("x", FLOAT, [1])]),
    ),
    "input without a type": (
        "E0204",
        "type unknown",
        lambda: changed(model([RELU]), lambda m: m.graph.input[0].ClearField("type")),
    ),
    # Constants
    "constant too short": ("E0401", r"no float\[3\]", lambda: with_tensor(raw(FLOAT, [3], b"1234"))),
    "constant of half a number": (
        "E0401",
        "there are 5 bytes",
        lambda: with_tensor(raw(FLOAT, [1], b"12345")),
    ),
    "constant of no type": ("E0401", "has no element type", lambda: with_tensor(raw(0, [1], b"1234"))),
    "constant of an unknown type": ("E0401", "no type 99", lambda: with_tensor(raw(99, [1], b"1234"))),
    "constant of negative shape": ("E0402", "absurd", lambda: with_tensor(raw(FLOAT, [-1, -1], b"1234"))),
    "constant of absurd shape": ("E0402", "absurd", lambda: with_tensor(raw(FLOAT, [1 << 40], b""))),
    "constant of strings": (
        "E0204",
        "string",
        lambda: with_tensor(helper.make_tensor("c", TensorProto.STRING, [1], [b"x"])),
    ),
    "constant of complex numbers": (
        "E0204",
        "complex64",
        lambda: with_tensor(raw(TensorProto.COMPLEX64, [1], b"12345678")),
    ),
    "constant in another file": (
        "E0404",
        "need a model file",
        lambda: with_tensor(
            TensorProto(name="c", data_type=FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
        ),
    ),
    # Nodes
    "unknown operator": ("E0201", "unsupported op Warp", lambda: model([node("Warp", "x", "y")])),
    "unknown domain": ("E0201", "of domain evil", lambda: model([node("Relu", "x", "y", domain="evil")])),
    "unknown operator in a function": (
        "E0201",
        "unsupported op Warp   node F_y/Warp_b",
        lambda: model(
            [node("F", "x", "y", domain="local")], functions=[function("F", [node("Warp", "a", "b")])]
        ),
    ),
    "too many inputs": ("E0401", "takes up to 1 inputs, got 2", lambda: model([node("Relu", "x x", "y")])),
    "too few inputs": ("E0401", "needs its input B", lambda: model([node("Add", "x", "y")])),
    "input left out": ("E0401", "needs its input A", lambda: model([node("Add", "- x", "y")])),
    "input left out of many": (
        "E0401",
        "needs every input",
        lambda: model([node("Concat", "x - x", "y", axis=0)]),
    ),
    "too many outputs": ("E0401", "has up to 1 outputs, not 2", lambda: model([node("Relu", "x", "y z")])),
    "operands of two types": (
        "E0401",
        "input B is s64.*others are f32",
        lambda: model([node("Add", "x c", "y")], {"c": np.int64(1)}),
    ),
    "operand of a wrong type": (
        "E0401",
        "input shape cannot be f32",
        lambda: model([node("Reshape", "x c", "y")], {"c": np.array([3.0, 2.0], np.float32)}),
    ),
    "operands that do not broadcast": (
        "E0401",
        "do not broadcast",
        lambda: model([node("Add", "x c", "y")], {"c": np.zeros(7, np.float32)}),
    ),
    # Attributes
    "attribute of a wrong type": (
        "E0401",
        "attribute perm should be INTS, is FLOATS",
        lambda: model([node("Transpose", "x", "y", perm=[0.5, 1.5])]),
    ),
    "attribute that contradicts the weights": (
        "E0401",
        r"kernel_shape \[2, 2\] contradicts the weights f32\[1,1,3,3\]",
        lambda: model(
            [node("Conv", "c w", "y", kernel_shape=[2, 2])],
            {"c": np.zeros((1, 1, 4, 4), np.float32), "w": np.zeros((1, 1, 3, 3), np.float32)},
        ),
    ),
    "attribute that is missing": (
        "E0401",
        "needs its attribute axis",
        lambda: model([node("Concat", "x", "y")]),
    ),
    "attribute twice": (
        "E0401",
        "attribute perm is there twice",
        lambda: changed(
            model([node("Transpose", "x", "y", perm=[1, 0])]),
            lambda m: m.graph.node[0].attribute.append(m.graph.node[0].attribute[0]),
        ),
    ),
    "attribute of no type": (
        "E0401",
        "perm has no type",
        lambda: with_attribute(AttributeProto(name="perm", ints=[1, 0])),
    ),
    "attribute that holds another type": (
        "E0401",
        "perm is INTS, but holds f",
        lambda: with_attribute(AttributeProto(name="perm", type=AttributeProto.INTS, f=1.0)),
    ),
    "attribute that holds nothing": (
        "E0401",
        "axis is INT, but holds nothing",
        lambda: with_attribute(AttributeProto(name="axis", type=AttributeProto.INT), "Softmax"),
    ),
    "attribute that is unknown": ("E0203", "attribute warp", lambda: model([node("Relu", "x", "y", warp=1)])),
    "attribute outside": ("E0401", "axis 9", lambda: model([node("Softmax", "x", "y", axis=9)])),
    "attribute that is no order": (
        "E0401",
        "no order",
        lambda: model([node("Transpose", "x", "y", perm=[0, 0])]),
    ),
    "attribute of huge numbers": (
        "E0401",
        "axis",
        lambda: model([node("Concat", "x x", "y", axis=-(1 << 63))]),
    ),
    # Functions
    "function that calls itself": (
        "E0402",
        "never end",
        lambda: model(
            [node("F", "x", "y", domain="local")],
            functions=[function("F", [node("F", "a", "b", domain="local")])],
        ),
    ),
    "functions in a circle": (
        "E0402",
        "never end",
        lambda: model(
            [node("F", "x", "y", domain="local")],
            functions=[
                function("F", [node("G", "a", "b", domain="local")]),
                function("G", [node("F", "a", "b", domain="local")]),
            ],
        ),
    ),
    "functions without end": ("E0402", "never end", lambda: calls(500, 1)),
    "functions that multiply": ("E0402", "expand to", lambda: calls(40, 10)),
    "functions of one name": (
        "E0401",
        "two functions are called F",
        lambda: model([RELU], functions=[function("F", [node("Relu", "a", "b")])] * 2),
    ),
    "function out of order": (
        "E0401",
        "computed later",
        lambda: model(
            [node("F", "x", "y", domain="local")],
            functions=[function("F", [node("Relu", "t", "b"), node("Relu", "a", "t")])],
        ),
    ),
    "function without a result": (
        "E0401",
        "output b is never computed   function F",
        lambda: model(
            [node("F", "x", "y", domain="local")], functions=[function("F", [node("Relu", "a", "c")])]
        ),
    ),
    # Memory
    "huge ConstantOfShape": (
        "E0402",
        "absurd",
        lambda: model([node("ConstantOfShape", "n", "y")], {"n": HUGE}),
    ),
    "negative ConstantOfShape": (
        "E0402",
        "absurd",
        lambda: model([node("ConstantOfShape", "n", "y")], {"n": -HUGE}),
    ),
    "huge Expand": (
        "E0402",
        "absurd|makes",
        lambda: model([node("Expand", "x n", "y")], {"n": [1 << 40, 1, 1]}),
    ),
    "huge Tile": ("E0402", "absurd|makes", lambda: model([node("Tile", "x n", "y")], {"n": [1 << 40, 1]})),
    "MaxPool with pads of another rank": (
        "E0401",
        "two for each of 2 dimensions",
        lambda: model([node("MaxPool", "x", "y", kernel_shape=[2, 2], pads=[1, 1])], inputs=IMAGE),
    ),
    "MaxPool that does not move": (
        "E0401",
        r"with strides \[0, 1\]",
        lambda: model([node("MaxPool", "x", "y", kernel_shape=[2, 2], strides=[0, 1])], inputs=IMAGE),
    ),
    "MaxRoiPool of one side": (
        "E0401",
        r"with a pooled_shape of \[2\], not of height and width",
        lambda: model(
            [node("MaxRoiPool", "x boxes", "y", pooled_shape=[2])],
            {"boxes": np.zeros((1, 5), np.float32)},
            inputs=IMAGE,
        ),
    ),
    "MaxRoiPool into nothing": (
        "E0401",
        "there are no 0 x 2 cells",
        lambda: model(
            [node("MaxRoiPool", "x boxes", "y", pooled_shape=[0, 2])],
            {"boxes": np.zeros((1, 5), np.float32)},
            inputs=IMAGE,
        ),
    ),
    "Gemm of cubes": (
        "E0401",
        "which should be matrices",
        lambda: model([node("Gemm", "x w", "y")], {"w": np.zeros((2, 3, 4), np.float32)}),
    ),
    "opset beyond 32 bits": (
        "E0401",
        "opset 1099511627776 makes no sense",
        lambda: model([RELU], opset=1 << 40),
    ),
    "huge Pad": (
        "E0402",
        "absurd|makes",
        lambda: model([node("Pad", "x n", "y")], {"n": [1 << 40, 0, 0, 0]}),
    ),
    "huge mirror": (
        "E0402",
        "absurd",
        lambda: model([node("Pad", "x n", "y", mode="reflect")], {"n": [1 << 40, 0, 0, 0]}),
    ),
    "endless unrolling": (
        "E0402",
        "operators",
        lambda: model(
            [node("LSTM", "x w r", "y", hidden_size=1, clip=1.0)],
            {"w": np.ones((1, 4, 1), np.float32), "r": np.ones((1, 4, 1), np.float32)},
            inputs=[tensor("x", [1 << 20, 1, 1])],
        ),
    ),
    "ScaledTanh without its scales": (
        "E0205",
        "ScaledTanh without activation_alpha and activation_beta",
        lambda: recurrent(activations=["ScaledTanh"], activation_alpha=[0.5]),
    ),
    "Affine without its scales": (
        "E0205",
        "Affine without activation_alpha and activation_beta",
        lambda: recurrent(activations=["Affine"]),
    ),
    "ThresholdedRelu without a threshold": (
        "E0205",
        "ThresholdedRelu without activation_alpha",
        lambda: recurrent(activations=["ThresholdedRelu"]),
    ),
    "endless Split": (
        "E0401",
        "2 outputs",
        lambda: model([node("Split", "x", "y z", num_outputs=1 << 40)], outputs=["y", "z"], opset=18),
    ),
    "huge Range": (
        "E0402",
        "absurd",
        lambda: model([node("Range", "a b c", "y")], {"a": 0, "b": 1 << 50, "c": 1}),
    ),
    "endless Range": (
        "E0401|E0402|E0403",
        "",
        lambda: model([node("Range", "a b c", "y")], {"a": 0, "b": 9, "c": 0}),
    ),
    "Range to NaN": (
        "E0401|E0402|E0403",
        "",
        lambda: model(
            [node("Range", "a b c", "y")],
            {k: np.float32(v) for k, v in zip("abc", [0, np.nan, 1], strict=True)},
        ),
    ),
    "huge OneHot": (
        "E0402",
        "absurd|makes",
        lambda: model(
            [node("OneHot", "i n v", "y")],
            {"n": np.int64(1 << 40), "v": np.array([0, 1], np.float32)},
            inputs=[tensor("i", [4], INT64)],
        ),
    ),
    "huge Resize": (
        "E0401|E0402",
        "absurd|makes",
        lambda: model(
            [node("Resize", "x - s", "y")],
            {"s": np.array([1e9, 1e9], np.float32)},
            inputs=[tensor("x", [1, 3])],
        ),
    ),
    "huge HannWindow": (
        "E0402",
        "absurd",
        lambda: model([node("HannWindow", "n", "y")], {"n": np.int64(1 << 50)}),
    ),
    "constants that add up": (
        "E0402",
        "more than 256 MiB",
        lambda: model(
            [
                *(node("ConstantOfShape", f"n{i}", f"c{i}") for i in range(30)),
                *(node("Relu", f"c{i}", f"d{i}") for i in range(30)),
                RELU,
            ],
            {f"n{i}": LARGE - i for i in range(30)},
        ),
    ),
    "constants that take long": (
        "E0402",
        "billion steps",
        lambda: model(
            [node("ConstantOfShape", "n", "c"), node("MatMul", "c c", "d"), RELU],
            {"n": np.array([1 << 12, 1 << 12])},
        ),
    ),
    "copies that add up": (
        "E0402",
        "more than 256 MiB",
        lambda: model(
            [node("Concat", "c c", "c1", axis=0)]
            + [node("Concat", f"c{i} c{i}", f"c{i + 1}", axis=0) for i in range(1, 40)]
            + [RELU],
            {"c": np.ones(9, np.float32)},
        ),
    ),
}
