"""Fully connected layer of int8: a convolution of one cell, over a column of rows."""

from __future__ import annotations

from dataclasses import replace

from edgekit.codegen.gpu.kernels import conv2d_int
from edgekit.codegen.gpu.use import GpuCall, integer
from edgekit.core.ops import Arg, Call, Param
from edgekit.core.types import Type, Value

CALLS = ("dense_int",)


def use(call: Call) -> GpuCall:
    return conv2d_int.use(as_convolution(call))


def as_convolution(call: Call) -> Call:
    """The same as a convolution: an image one pixel wide."""
    rows, inputs, outputs = (integer(call, name) for name in ("rows", "inputs", "outputs"))
    own = {name: value for name, value in call.params.items() if name not in ("rows", "inputs", "outputs")}
    params: dict[str, Param] = dict.fromkeys(
        ("batch", "in_w", "out_w", "k_h", "k_w", "stride_h", "stride_w", "dilation_h", "dilation_w"), 1
    )
    params |= {"in_h": rows, "out_h": rows, "in_c": inputs, "out_c": outputs, "groups": 1}
    params |= {"pad_top": 0, "pad_left": 0, "in_zero": 0}
    params |= {"step_h": inputs, "step_w": inputs, "step_c": 1}
    w = call.args[1]
    type = Type(w.type.dtype, (outputs, 1, 1, inputs))
    data = None if w.value.data is None else w.value.data.reshape(type.shape)
    args = (call.args[0], Arg(w.name, Value(type, data)), *call.args[2:])
    kernel = call.kernel.replace("dense", "conv2d")
    return replace(call, kernel=kernel, args=args, params=params | own)
