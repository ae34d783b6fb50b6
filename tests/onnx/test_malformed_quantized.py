"""Quantized models with broken scales, zero points, axes or types are refused with a reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper
from support.onnx_models import model, node, tensor

from edgekit.converters.onnx.reader import convert
from edgekit.core.errors import EdgeKitError, Exit

_F32 = np.float32
Constants = Mapping[str, Any]
Make = Callable[[Constants], ModelProto]

# What every form of a quantized layer reads; a case replaces some.
_SOUND: Constants = {
    "xs": _F32(0.1),
    "xz": np.uint8(3),
    "w": np.ones((4, 3, 1, 1), np.int8),
    "ws": np.full(4, 0.5, _F32),
    "wz": np.zeros(4, np.int8),
    "b": np.zeros(4, np.int32),
    "ys": _F32(0.2),
    "yz": np.uint8(128),
}


def _net(*nodes: NodeProto, constants: Constants, x: int = TensorProto.FLOAT) -> ModelProto:
    read = {name for n in nodes for name in n.input}
    wanted = {name: data for name, data in constants.items() if name in read}
    net = model(nodes, wanted, inputs=[tensor("x", [1, 3, 4, 4], x)], opset=13)
    net.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return net


def conversions(constants: Constants, axis: int = 0) -> ModelProto:
    """A convolution between conversions."""
    nodes = (
        node("QuantizeLinear", "x xs xz", "q"),
        node("DequantizeLinear", "q xs xz", "xr"),
        node("DequantizeLinear", "w ws wz", "wr", axis=axis),
        node("Conv", "xr wr", "c"),
        node("QuantizeLinear", "c ys yz", "y"),
    )
    return _net(*nodes, constants=constants)


def operators(constants: Constants, operands: str = "x xs xz w ws wz ys yz b") -> ModelProto:
    """A convolution over integers."""
    nodes = (node("QLinearConv", operands, "y"),)
    return _net(*nodes, constants=constants, x=TensorProto.UINT8)


def of_onnxruntime(constants: Constants) -> ModelProto:
    """A sum over integers, in the domain of onnxruntime."""
    nodes = (node("QLinearAdd", "x xs xz x xs xz ys yz", "y", domain="com.microsoft"),)
    return _net(*nodes, constants=constants, x=TensorProto.UINT8)


FORMS: dict[str, Make] = {f.__name__: f for f in (conversions, operators, of_onnxruntime)}


def refused(net: ModelProto, words: str) -> None:
    with pytest.raises(EdgeKitError, match=words) as info:
        convert(net)
    assert info.value.code == "E0401"
    assert info.value.exit_code == Exit.MALFORMED
    assert info.value.where.startswith(("node ", "tensor "))


@pytest.mark.parametrize("form", FORMS)
def test_sound_ones_are_taken(form: str) -> None:
    assert convert(FORMS[form](_SOUND)).outputs == ("y",)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["xs", "ys"])
@pytest.mark.parametrize("scale", [0, -0.1, np.nan, np.inf, -np.inf])
def test_scales_are_positive_and_finite(form: str, name: str, scale: float) -> None:
    refused(FORMS[form]({**_SOUND, name: _F32(scale)}), "is not positive and finite")


@pytest.mark.parametrize("form", ["conversions", "operators"])
@pytest.mark.parametrize("scale", [0, -0.1, np.nan])
def test_one_scale_of_many_spoils_them(form: str, scale: float) -> None:
    scales = np.asarray([0.5, 0.5, scale, 0.5], _F32)
    refused(FORMS[form]({**_SOUND, "ws": scales}), "is not positive and finite")


@pytest.mark.parametrize(
    ("form", "zero"),
    [
        ("conversions", {"wz": np.zeros(4, np.uint8)}),
        ("operators", {"xz": np.int8(3)}),
        ("operators", {"wz": np.zeros(4, np.uint8)}),
        ("of_onnxruntime", {"xz": np.int8(3)}),
    ],
)
def test_the_zero_point_has_the_type_of_the_tensor(form: str, zero: Constants) -> None:
    refused(FORMS[form]({**_SOUND, **zero}), "zero.* is [su]8")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("value", "type"), [(300, TensorProto.UINT8), (-1, TensorProto.UINT8)])
def test_the_zero_point_is_within_its_type(form: str, value: int, type: int) -> None:
    net = FORMS[form](_SOUND)
    (zero,) = [t for t in net.graph.initializer if t.name == "xz"]
    zero.CopyFrom(TensorProto(name="xz", data_type=type, int32_data=[value]))
    refused(net, f"{value} is outside of")


@pytest.mark.parametrize("axis", [4, -5, 99])
def test_the_axis_is_one_of_the_tensor(axis: int) -> None:
    refused(conversions(_SOUND, axis), f"axis {axis}")


def test_there_is_a_scale_for_each_cell_of_the_axis() -> None:
    refused(conversions(_SOUND, axis=1), "does not fit")
    three = {"ws": np.ones(3, _F32), "wz": np.zeros(3, np.int8)}
    refused(conversions({**_SOUND, **three}), "does not fit")
    refused(operators({**_SOUND, **three}), "does not fit")


@pytest.mark.parametrize("form", ["conversions", "operators"])
def test_there_is_a_zero_point_for_each_scale(form: str) -> None:
    refused(FORMS[form]({**_SOUND, "wz": np.zeros(3, np.int8)}), "4 scales but 3 zero points")


def test_a_layer_over_integers_needs_its_zero_points() -> None:
    refused(operators(_SOUND, "x xs - w ws wz ys yz"), "needs its input x_zero_point")
    refused(operators(_SOUND, "x xs xz w ws wz ys"), "needs its input y_zero_point")
    net = _net(
        node("QLinearAdd", "x xs xz", "y", domain="com.microsoft"), constants=_SOUND, x=TensorProto.UINT8
    )
    refused(net, "QLinearAdd: operand b is missing")


def test_a_scale_is_a_float() -> None:
    net = of_onnxruntime({**_SOUND, "xs": np.int32(1)})
    refused(net, "is s32")


def test_a_bias_has_one_number_for_each_output() -> None:
    refused(operators({**_SOUND, "b": np.zeros(3, np.int32)}), "bias")
