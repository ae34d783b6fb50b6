"""Other shapes and orders of the same elements, and questions about shapes."""

from __future__ import annotations

from math import prod as _prod

import numpy as np

from edgekit.converters.paddle.arguments import Setting, ints
from edgekit.converters.semantics.aten import shape as _torch
from edgekit.converters.semantics.movement import expand as _expand
from edgekit.converters.semantics.movement import tile as _tile
from edgekit.converters.semantics.onnx.shape import unsqueeze as _unsqueeze
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError


def reshape(x: Tensor, shape: Setting = None) -> Tensor:
    """0 keeps a dimension, -1 is what is left."""
    wanted = ints(shape, "a shape")
    if any(n == 0 and i >= x.rank for i, n in enumerate(wanted)) or min(wanted, default=0) < -1:
        raise EdgeKitError("E0401", f"{x.type} has no shape {wanted[:8]}")
    return _torch.reshape(
        x, shape=[x.shape[i] if n == 0 and x.type.size else n for i, n in enumerate(wanted)]
    )


reshape2 = reshape


def flatten(x: Tensor, *, start_axis: int = 1, stop_axis: int = 1) -> Tensor:
    return _torch.flatten(x, start_dim=start_axis, end_dim=stop_axis)


flatten_contiguous_range = flatten


def flatten2(x: Tensor, *, axis: int = 1) -> Tensor:
    """A matrix: its rows are the dimensions before the axis."""
    return x.reshape(_prod(x.shape[:axis]), _prod(x.shape[axis:]))


def squeeze(x: Tensor, axis: Setting = None) -> Tensor:
    return _torch.squeeze(x, dim=ints(axis, "dimensions") or None)


def squeeze2(x: Tensor, *, axes: Setting = None) -> Tensor:
    return squeeze(x, axes)


def unsqueeze(x: Tensor, axis: Setting = None) -> Tensor:
    """One after the other, as Paddle does."""
    for at in ints(axis, "dimensions"):
        x = _unsqueeze(x, [at])
    return x


def unsqueeze2(x: Tensor, *, axes: Setting = None) -> Tensor:
    return unsqueeze(x, axes)


def transpose(x: Tensor, *, perm: Setting) -> Tensor:
    return _torch.permute(x, dims=ints(perm, "an order"))


def transpose2(x: Tensor, *, axis: Setting) -> Tensor:
    return transpose(x, perm=axis)


def expand(x: Tensor, shape: Setting = None, *, expand_shapes: Setting = None) -> Tensor:
    """-1 keeps a dimension; older programs may give sizes one by one."""
    wanted = ints(shape if expand_shapes is None else expand_shapes, "a shape")
    return _torch.expand(x, size=wanted)


expand_v2 = expand


def expand_as(x: Tensor, y: Tensor | None = None, *, target_shape: Setting = None) -> Tensor:
    return _expand(x, y.shape if y is not None else ints(target_shape, "a shape"))


expand_as_v2 = expand_as


def tile(x: Tensor, repeat_times: Setting = None) -> Tensor:
    times = ints(repeat_times, "how often to repeat")
    times = [1] * (x.rank - len(times)) + times
    return _tile(x.reshape(*(1,) * (len(times) - x.rank), *x.shape), times)


def assign(x: Tensor) -> Tensor:
    return x


share_data = memcpy = memcpy_h2d = memcpy_d2h = assign


def shape(input: Tensor) -> Tensor:
    return input.new(np.asarray(input.shape, np.int32))


def shape64(input: Tensor) -> Tensor:
    return input.new(np.asarray(input.shape, np.int64))


def numel(input: Tensor) -> Tensor:
    return input.new(np.asarray(input.type.size, np.int64))


size = numel
