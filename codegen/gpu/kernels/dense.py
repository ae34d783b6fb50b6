"""Fully connected layer of float32: a convolution of one cell, over a column of rows."""

from __future__ import annotations

from edgekit.codegen.gpu.kernels import conv2d, dense_int
from edgekit.codegen.gpu.use import Use
from edgekit.ops import Call

CALLS = ("dense",)


def use(call: Call) -> Use:
    conv2d.check(call)
    found = dense_int.as_convolution(call)
    return conv2d.use(found)
