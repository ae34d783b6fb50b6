"""Shapes: asking for them and giving a tensor another one."""

from __future__ import annotations

from math import prod

import numpy as np

from edgekit.converters.semantics.onnx import shape as shared
from edgekit.converters.semantics.onnx.shape import unsqueeze
from edgekit.converters.tensor import Tensor


def Identity(x: Tensor) -> Tensor:
    return x


def Shape(x: Tensor, *, start: int = 0, end: int | None = None) -> Tensor:
    return x.new(np.array(x.shape[slice(start, end)], np.int64), "shape")


def Size(x: Tensor) -> Tensor:
    return x.new(np.array(x.type.size, np.int64), "size")


def Reshape(
    x: Tensor, given: Tensor | None = None, *, allowzero: int = 0, shape: tuple[int, ...] = ()
) -> Tensor:
    return shared.Reshape(x, given, allowzero=allowzero, shape=shape)


def Flatten(x: Tensor, *, axis: int = 1) -> Tensor:
    axis = axis + x.rank if axis < 0 else axis
    return x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))


def Squeeze(x: Tensor, given: Tensor | None = None, *, axes: tuple[int, ...] | None = None) -> Tensor:
    return shared.Squeeze(x, given, axes=axes)


def Unsqueeze(x: Tensor, given: Tensor | None = None, *, axes: tuple[int, ...] = ()) -> Tensor:
    axes = given.ints("the axes of Unsqueeze") if given is not None else axes
    return unsqueeze(x, axes)


def Transpose(x: Tensor, *, perm: tuple[int, ...] | None = None) -> Tensor:
    return x.transpose(*(perm if perm is not None else range(x.rank - 1, -1, -1)))
