"""Malformed TFLite models are refused, soon, with a code and a reason; and so is what is not supported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from support.tflite_writer import Operator, Tensor, constant, model
from support.tools import require_module
from tflite import integer_cases
from tflite.litert import converted

from edgekit.codegen.program import compile_graph
from edgekit.core import simulate, target
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.passes.simplify import simplify


def conv(**changes: Any) -> Operator:
    """A small int8 convolution, with its weights changed."""
    w = constant(np.ones((2, 1, 1, 3)), "int8", scale=[0.5, 0.25], zero=[0, 0])
    inputs = [byte(1, 4, 4, 3), replace(w, **changes)]
    values = {"strideW": 1, "strideH": 1, "dilationWFactor": 1, "dilationHFactor": 1}
    return Operator("CONV_2D", inputs, [byte(1, 4, 4, 2)], "Conv2DOptions", values)


def byte(*shape: int, scale: float = 0.5, zero: int = 3) -> Tensor:
    return Tensor(shape, "int8", scale=[scale], zero=[zero])


def relu(x: Tensor, y: Tensor) -> Operator:
    return Operator("RELU", [x], [y])


def pool(**changes: int) -> Operator:
    options = {"filterHeight": 2, "filterWidth": 2, "strideH": 1, "strideW": 1} | changes
    return Operator("MAX_POOL_2D", [Tensor((1, 4, 4, 1))], [Tensor((1, 4, 4, 1))], "Pool2DOptions", options)


MALFORMED: Mapping[str, tuple[str, Operator]] = {
    "a scale of zero": ("scale 0.0 is not positive", relu(byte(4, scale=0.0), byte(4))),
    "a negative scale": ("scale -1.0 is not positive", relu(byte(4, scale=-1.0), byte(4))),
    "a scale that is not a number": ("scale nan is not positive", relu(byte(4, scale=np.nan), byte(4))),
    "an infinite scale": ("scale inf is not positive", relu(byte(4), byte(4, scale=np.inf))),
    "a zero point above the type": (
        "a zero point is outside of -128 to 127",
        relu(byte(4, zero=128), byte(4)),
    ),
    "a zero point below the type": (
        "a zero point is outside of -128 to 127",
        relu(byte(4), byte(4, zero=-129)),
    ),
    "a zero point above bytes": (
        "outside of 0 to 255",
        relu(Tensor((4,), "uint8", scale=[1.0], zero=[256]), byte(4)),
    ),
    "an axis that is not there": ("do not fit axis 4", conv(axis=4)),
    "a negative axis": ("do not fit axis -1", conv(axis=-1)),
    "an axis of another size": ("2 scales do not fit axis 3", conv(axis=3)),
    "scales along the wrong axis": (
        "lie along axis 3",
        conv(axis=3, scale=[0.5] * 3, zero=[0] * 3),
    ),
    "too few zero points": ("2 scales but 1 zero points", conv(zero=[0])),
    "weights without a scale": ("have no scale", conv(scale=[])),
    "a result without a scale": (
        "the result s8[4] of a quantized layer has no scale",
        relu(byte(4), Tensor((4,), "int8")),
    ),
    "channel scales of activations": (
        "should have one scale, not one a channel",
        relu(Tensor((2,), "int8", scale=[0.5, 0.5], zero=[0, 0]), byte(2)),
    ),
    "too much data": ("7 bytes of data for s8[2,1,1,3]", conv(data=np.ones(7, np.int8))),
    "too little data": ("5 bytes of data for s8[2,1,1,3]", conv(data=np.ones(5, np.int8))),
    "scales too far apart": ("too far apart", relu(byte(4, scale=1e30), byte(4, scale=1e-30))),
    "a negative size": ("shape [-3] is absurd", relu(Tensor((-3,)), Tensor((3,)))),
    "a huge size": ("is absurd", relu(Tensor((1 << 30, 1 << 30)), Tensor((3,)))),
    "an operand too many": (
        "RELU takes 1 operands, the file gives 2",
        Operator("RELU", [byte(2), byte(2)], [byte(2)]),
    ),
    "an operand too few": ("ADD takes 2 operands, the file gives 1", Operator("ADD", [byte(2)], [byte(2)])),
    "an operand left out": ("operand 0 of ADD is left out", Operator("ADD", [None, byte(2)], [byte(2)])),
    "no result": ("RELU has no result", Operator("RELU", [byte(2)], [])),
    "a result of another type": ("the file says s32[2]", relu(Tensor((2,)), Tensor((2,), "int32"))),
    "crops below nothing": (
        "BatchToSpaceND of",
        Operator(
            "BATCH_TO_SPACE_ND",
            [Tensor((4, 2, 2, 1)), constant([2, 2]), constant([[-1, 0], [0, 0]])],
            [Tensor((1, 5, 4, 1))],
        ),
    ),
    "weights without a number": (
        "CONV_2D with empty weights s8[2,1,1,0]",
        conv(shape=(2, 1, 1, 0), data=np.ones(0, np.int8)),
    ),
    "a window of no rows": ("windows of 0 x 2 at strides of 1 and 1", pool(filterHeight=0)),
    "a stride of nothing": ("windows of 2 x 2 at strides of 1 and 0", pool(strideW=0)),
    "groups that do not divide": ("do not match", conv(shape=(2, 1, 1, 2), data=np.ones(4, np.int8))),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_model_is_refused(what: str, tmp_path: Path) -> None:
    words, op = MALFORMED[what]
    error = refused(model(op), tmp_path)
    assert words in str(error)
    assert error.where
    assert error.exit_code in (Exit.UNSUPPORTED, Exit.MALFORMED)


def refused(content: bytes, folder: Path) -> EdgeKitError:
    with pytest.raises(EdgeKitError) as caught:
        converted(content, folder, "net")
    return caught.value


def test_missing_data_is_refused(tmp_path: Path) -> None:
    """A tensor that nothing computes and that is no input."""
    op = Operator("ADD", [Tensor((2,)), Tensor((2,))], [Tensor((2,))])
    content = model(op, inputs=[0])
    assert "nothing computes this tensor" in str(refused(content, tmp_path))


@pytest.mark.parametrize(
    ("results", "outputs", "words"),
    [
        ([1, 1], [1], "tensor y0 is twice among the results of UNPACK"),
        ([1, 1], [1, 1], "tensor y0 is twice among the results of UNPACK"),
        ([1, 2], [2, 2], "tensor y1 is twice among the outputs of the graph"),
    ],
)
def test_tensor_that_is_there_twice_is_refused(
    results: list[int], outputs: list[int], words: str, tmp_path: Path
) -> None:
    values = {"num": 2, "axis": 0}
    op = Operator("UNPACK", [Tensor((2, 3))], [Tensor((3,)), Tensor((3,))], "UnpackOptions", values)
    schema = require_module("ai_edge_litert.schema_py_generated")
    made = schema.ModelT.InitFromPackedBuf(model(op), 0)
    made.subgraphs[0].operators[0].outputs, made.subgraphs[0].outputs = results, outputs
    builder = flatbuffers.Builder(1024)
    builder.Finish(made.Pack(builder), b"TFL3")
    assert words in str(refused(bytes(builder.Output()), tmp_path))


@pytest.mark.parametrize("scale", [1e-45, 1e-39])
def test_scale_that_is_nearly_0_is_refused_where_limits_are_endless_units(
    scale: float, tmp_path: Path
) -> None:
    op = integer_cases.ALL["DEPTHWISE_CONV_2D"](np.random.default_rng(1))
    op = replace(op, outputs=[replace(y, scale=[scale]) for y in op.outputs])
    graph = simplify(converted(model(op), tmp_path, "net"))
    with pytest.raises(EdgeKitError, match="too far apart"):
        compile_graph(graph, target.load("host"))
    with pytest.raises(EdgeKitError, match="too far apart"):
        simulate.run(graph, simulate.random_inputs(graph, 0))


def test_file_that_is_cut_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    content = model(conv())
    codes = set()
    for length in range(0, len(content) - 4, 7):
        try:
            converted(content[:length], tmp_path, "net")
        except EdgeKitError as error:
            codes.add(error.exit_code)
    assert codes == {Exit.MALFORMED}


@pytest.mark.parametrize(
    ("operands", "results", "words"),
    [
        ([byte(2)], [byte(2)], "ADD takes 2 operands, the file gives 1"),
        ([byte(2)] * 3, [byte(2)], "ADD takes 2 operands, the file gives 3"),
        ([None, byte(2)], [byte(2)], "operand 0 of ADD is left out"),
        ([byte(2), byte(2)], [], "ADD has no result"),
    ],
)
def test_operands_that_do_not_fit_the_operator_are_named(
    operands: list[Tensor | None], results: list[Tensor], words: str, tmp_path: Path
) -> None:
    op = Operator("ADD", operands, results, "AddOptions")
    assert words in str(refused(model(op), tmp_path))


UNSUPPORTED: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "an operator by name": (
        "unsupported op LSH_PROJECTION",
        lambda: model(Operator("LSH_PROJECTION", [byte(2)], [byte(2)])),
    ),
    "an operator that is not known": (
        "unsupported op number 4000",
        lambda: model(relu(byte(2), byte(2)), 4000),
    ),
    "a fused tanh": (
        "fused activation 4",
        lambda: model(
            Operator("ADD", [byte(2), byte(2)], [byte(2)], "AddOptions", {"fusedActivationFunction": 4})
        ),
    ),
    "an integer function without a rule": (
        "POW of quantized tensors",
        lambda: model(Operator("POW", [byte(2), byte(2)], [byte(2)])),
    ),
    **{
        f"{kind} of integers": (
            f"{kind} of quantized tensors",
            lambda kind=kind, options=options: model(  # type: ignore[misc]  # the default binds the loop's value
                Operator(kind, [byte(1, 4, 4, 2)], [byte(1, 4, 4, 2)], options)
            ),
        )
        for kind, options in (
            ("LOCAL_RESPONSE_NORMALIZATION", "LocalResponseNormalizationOptions"),
            ("L2_POOL_2D", "Pool2DOptions"),
        )
    },
    "a border that is computed": (
        "the border of Pad depends on the input x1",
        lambda: model(Operator("PAD", [byte(2), Tensor((1, 2), "int32")], [byte(4)])),
    ),
}


@pytest.mark.parametrize("what", UNSUPPORTED)
def test_unsupported_model_is_refused_by_name(what: str, tmp_path: Path) -> None:
    words, make = UNSUPPORTED[what]
    error = refused(make(), tmp_path)
    assert words in str(error)
    assert error.exit_code is Exit.UNSUPPORTED


def test_all_unsupported_operators_are_named_at_once(tmp_path: Path) -> None:
    schema = require_module("ai_edge_litert.schema_py_generated")
    made = schema.ModelT.InitFromPackedBuf(model(Operator("LSH_PROJECTION", [byte(2)], [byte(2)])), 0)
    other = schema.OperatorCodeT()
    other.builtinCode = other.deprecatedBuiltinCode = schema.BuiltinOperator.UNIQUE
    made.operatorCodes.append(other)
    second = schema.OperatorT()
    second.opcodeIndex, second.inputs, second.outputs = 1, [0], [1]
    made.subgraphs[0].operators.append(second)
    builder = flatbuffers.Builder(1024)
    builder.Finish(made.Pack(builder), b"TFL3")
    error = refused(bytes(builder.Output()), tmp_path)
    assert [e.message for e in (error, *error.also)] == [
        "unsupported op LSH_PROJECTION",
        "unsupported op UNIQUE",
    ]
