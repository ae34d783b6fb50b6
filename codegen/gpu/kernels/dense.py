"""Fully connected layer of floats: a convolution of one cell, over a column of rows."""

from __future__ import annotations

from edgekit.codegen.gpu.kernels import conv2d, dense_int
from edgekit.codegen.gpu.use import GpuCall
from edgekit.core.ops import Call

CALLS = ("dense",)


def use(call: Call) -> GpuCall:
    return conv2d.use(dense_int.as_convolution(call))
