"""Operators in torch, for gradients to flow through: values come from the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import Op
from edgekit.core.ops._map import Map
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.recurrent import Recurrent
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.resample import Resample
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.quantize.gradients import has_derivative
from edgekit.torch.formulas import elementwise
from edgekit.torch.recurrent import unrolled

Tensor = torch.Tensor


def results_of(op: Op, *args: Tensor) -> tuple[Tensor, ...]:
    """All that an operator makes of these tensors."""
    return unrolled(op, *args) if isinstance(op, Recurrent) else (torch_op(op, *args),)


def torch_op(op: Op, *args: Tensor) -> Tensor:
    """What an operator makes of these tensors."""
    match op:
        case Conv2d():
            return _conv(op, *args)
        case ConvTranspose2d():
            return _conv_transpose(op, *args)
        case Dense():
            return functional.linear(*args).clamp(op.lo, op.hi)
        case Pool2d():
            return _pool(op, *args)
        case Reduce():
            return _reduce(op, *args)
        case Softmax():
            return functional.softmax(args[0], dim=-1)
        case Reshape() | Expand():
            return args[0].reshape(op.shape) if isinstance(op, Reshape) else args[0].expand(op.shape)
        case Transpose():
            return args[0].permute(op.perm)
        case Concat():
            return torch.cat(args, dim=op.axis)
        case Slice():
            return _slice(op, *args)
        case Pad():
            x, value = args
            around = [n for pair in zip(op.before, op.after, strict=True) for n in reversed(pair)][::-1]
            return functional.pad(x, around, value=float(value.detach()))
        case MatMul():
            a, b = (x.permute(p) if p else x for x, p in zip(args, (op.perm_a, op.perm_b), strict=True))
            return torch.matmul(a, b)
        case LayerNorm():
            x, scale, shift = args
            return functional.layer_norm(x, x.shape[-1:], eps=op.epsilon) * scale + shift
        case RmsNorm():
            x, scale = args[:2]
            return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + op.epsilon) * scale
        case Gather():
            return _gather(op, *args)
        case Resample():
            return _resample(op, *args)
        case Map() if has_derivative(op):
            return elementwise(op, *args)
    raise not_trainable(type(op).__name__)


def not_trainable(what: str, where: str = "") -> EdgeKitError:
    hint = "train the model of floats in PyTorch, then quantize it: edgekit quantize needs no training"
    return EdgeKitError("E0205", f"{what} cannot be trained", where, hint)


def _conv(op: Conv2d, x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    top, left, bottom, right = op.pads
    image = functional.pad(x.permute(0, 3, 1, 2), (left, right, top, bottom))
    kernel = w.permute(0, 3, 1, 2)
    y = functional.conv2d(image, kernel, b, op.strides, 0, op.dilations, op.groups)
    return y.permute(0, 2, 3, 1).clamp(op.lo, op.hi)


def _conv_transpose(op: ConvTranspose2d, x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    outputs = w.shape[0]
    # torch has the inputs of all groups first, and the outputs of one group behind them.
    kernel = w.reshape(op.groups, outputs // op.groups, *w.shape[1:]).permute(0, 4, 1, 2, 3)
    kernel = kernel.reshape(-1, *kernel.shape[2:])
    image = x.permute(0, 3, 1, 2)
    y = functional.conv_transpose2d(image, kernel, b, op.strides, 0, 0, op.groups, op.dilations)
    # Cells before the first window, where pads are negative, and beyond the last one hold the bias alone.
    (rows, columns), (top, left), (height, width) = y.shape[2:], op.pads, op.size
    around = (-left, left + width - columns, -top, top + height - rows)
    y = functional.pad(y - b[:, None, None], [max(n, 0) for n in around]) + b[:, None, None]
    top, left = max(top, 0), max(left, 0)
    return y[:, :, top : top + height, left : left + width].permute(0, 2, 3, 1).clamp(op.lo, op.hi)


def _pool(op: Pool2d, x: Tensor) -> Tensor:
    top, left, bottom, right = op.pads
    fill = -torch.inf if op.kind == "max" else 0.0
    image = functional.pad(x.permute(0, 3, 1, 2), (left, right, top, bottom), value=fill)
    if op.kind == "max":
        y = functional.max_pool2d(image, op.size, op.strides, 0, op.dilations)
        return y.permute(0, 2, 3, 1)
    channels = image.shape[1]
    ones = x.new_ones((channels, 1, *op.size))
    y = functional.conv2d(image, ones, None, op.strides, 0, op.dilations, channels).permute(0, 2, 3, 1)
    if op.kind == "mean":
        counts = np.asarray(op.counts(x.shape[1], x.shape[2]), np.float32)
        y = y / torch.from_numpy(counts)[:, :, None].to(x.device)
    return y


def _reduce(op: Reduce, x: Tensor) -> Tensor:
    functions: Mapping[str, Any] = {
        "mean": torch.mean,
        "sum": torch.sum,
        "max": torch.amax,
        "min": torch.amin,
    }
    if op.kind not in functions:
        raise not_trainable(f"a reduction to the {op.kind}")
    result: Tensor = functions[op.kind](x, dim=op.axes, keepdim=op.keepdims) if op.axes else x
    return result


def _gather(op: Gather, x: Tensor, index: Tensor) -> Tensor:
    size = x.shape[op.axis]
    at = torch.where(index < 0, index + size, index).clamp(0, size - 1).long()
    if at.numel() == at.shape[op.axis]:
        return torch.index_select(x, op.axis, at.reshape(-1))
    return torch.take_along_dim(x, at, op.axis)


def _resample(op: Resample, x: Tensor, index: Tensor, w: Tensor) -> Tensor:
    """Tap by tap, as the operator says."""
    column = [-1 if i == op.axis else 1 for i in range(x.ndim)]
    taps = (
        torch.index_select(x, op.axis, index[:, k].long()) * w[:, k].reshape(column)
        for k in range(index.shape[1])
    )
    return sum(taps, start=x.new_zeros(()))


def _slice(op: Slice, x: Tensor) -> Tensor:
    for axis, (start, step, size) in enumerate(zip(op.starts, op.steps, op.shape, strict=True)):
        x = torch.index_select(x, axis, torch.arange(size, device=x.device) * step + start)
    return x
