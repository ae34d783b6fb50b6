"""Kernel files choose themselves by facts of a call, and may be like another file with other helpers."""

import re
from dataclasses import replace

import numpy as np
import pytest

from edgekit.codegen.kernels.sources import instantiate
from edgekit.codegen.kernels.variants import variants
from edgekit.core import target as targets
from edgekit.core.ops import Arg, Call
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.types import DType, Quant, Type, Value


def convolution(scale: float) -> Call:
    """A layer of int8 by TFLite's rule; the smaller the scale of its result, the larger its exponents."""
    weights = np.ones((5, 1, 1, 8), np.int8)
    per_channel = Quant((0.5,) * 5, (0,) * 5, 0, "tfl")
    image = Type(DType.S8, (1, 4, 4, 8), Quant((0.5,), (0,), None, "tfl"))
    result = Type(DType.S8, (1, 4, 4, 5), Quant((scale,), (0,), None, "tfl"))
    bias = np.zeros(5, np.int32)
    args = [
        Arg("x", Value(image)),
        Arg("w", Value(Type(DType.S8, weights.shape, per_channel), weights)),
        Arg("b", Value(Type(DType.S32, bias.shape), bias)),
    ]
    (call,) = Conv2d().lower(args, [Arg("y", Value(result))])
    assert isinstance(call, Call)
    return call


@pytest.mark.parametrize(("isa", "helper"), [("dotprod", "dot"), ("i8mm", "mmla"), ("neon", "madd")])
def test_a_file_like_another_has_its_code_with_other_helpers(isa: str, helper: str) -> None:
    target = replace(targets.load("aarch64"), isa=(isa, "ref"))
    kernel = instantiate(convolution(2.0), target)
    helpers = {name for name in ("dot", "mmla", "madd") if f"ek_{name}_s8_neon(" in kernel.source}
    assert helpers == {helper}
    assert re.match(r"/\*(?:(?!\*/).)*\*/\n#include", kernel.source, re.DOTALL), "one comment of its own"
    assert f"{helper}_s8_neon.h" in kernel.supports


def test_exponents_decide_by_which_name_a_rule_goes() -> None:
    target = targets.load("aarch64-dotprod")
    down, any = (instantiate(convolution(scale), target) for scale in (2.0, 0.125))
    assert (down.name, any.name) == ("conv2d_s8_tfl_right_shift", "conv2d_s8_tfl_dot")
    assert "ek_requantize_tfl_down_x4(" in down.source
    assert "ek_requantize_tfl_x4(" in any.source


def test_a_file_like_another_states_only_where_its_layouts_differ() -> None:
    own, other = (variants(isa, "conv2d_int") for isa in ("i8mm", "dotprod"))
    tiled, model = (next(v for v in of if v.name == "dot") for of in (own, other))
    assert tiled.pack["w"] != model.pack["w"]
    assert {**tiled.pack, "w": ""} == {**model.pack, "w": ""}
    assert tiled.scratch == model.scratch != ""
