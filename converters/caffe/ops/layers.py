"""Layers with weights and windows, and normalizations."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.compose import dense
from edgekit.converters.semantics.convolution import SlidingWindow, check_kernel, check_rank, conv
from edgekit.converters.semantics.onnx import conv as onnx_conv
from edgekit.converters.semantics.onnx import normalize, pool
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError

Ints = int | tuple[int, ...]


def Convolution(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    num_output: int,
    bias_term: bool = True,
    group: int = 1,
    axis: int = 1,
    kernel_size: Ints = (),
    kernel_h: int = 0,
    kernel_w: int = 0,
    stride: Ints = (),
    stride_h: int = 0,
    stride_w: int = 0,
    pad: Ints = (),
    pad_h: int = 0,
    pad_w: int = 0,
    dilation: Ints = (),
) -> Tensor:
    kernel = _each(x, kernel_size, kernel_h, kernel_w, 0)
    steps = _each(x, stride, stride_h, stride_w, 1)
    pads = _each(x, pad, pad_h, pad_w, 0)
    _check_weights(x, w, w.shape[0], num_output, kernel, axis)
    slide = SlidingWindow(steps, _each(x, dilation, 0, 0, 1), pads * 2)
    return conv(x, w, _bias(b, num_output, bias_term), slide, group)


def Deconvolution(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    num_output: int,
    bias_term: bool = True,
    group: int = 1,
    axis: int = 1,
    kernel_size: Ints = (),
    kernel_h: int = 0,
    kernel_w: int = 0,
    stride: Ints = (),
    stride_h: int = 0,
    stride_w: int = 0,
    pad: Ints = (),
    pad_h: int = 0,
    pad_w: int = 0,
    dilation: Ints = (),
) -> Tensor:
    kernel = _each(x, kernel_size, kernel_h, kernel_w, 0)
    steps = _each(x, stride, stride_h, stride_w, 1)
    pads = _each(x, pad, pad_h, pad_w, 0)
    _check_weights(x, w, w.shape[1] * group, num_output, kernel, axis)
    return onnx_conv.ConvTranspose(
        x,
        w,
        _bias(b, num_output, bias_term),
        dilations=_each(x, dilation, 0, 0, 1),
        group=group,
        pads=pads * 2,
        strides=steps,
    )


def InnerProduct(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    num_output: int,
    bias_term: bool = True,
    axis: int = 1,
    transpose: bool = False,
) -> Tensor:
    axis = x.axis(axis)
    inputs = x.type.size // max(int(np.prod(x.shape[:axis])), 1)
    if w.type.size != num_output * inputs:
        message = f"weights {w.type} do not make {num_output} of {inputs}"
        raise EdgeKitError("E0401", message)
    shape = (inputs, num_output) if transpose else (num_output, inputs)
    weights = w.reshape(*shape).transpose(1, 0) if transpose else w.reshape(*shape)
    return dense(x.reshape(*x.shape[:axis], inputs), weights, _bias(b, num_output, bias_term))


def Pooling(
    x: Tensor,
    *,
    pool: str = "MAX",
    kernel_size: Ints = (),
    kernel_h: int = 0,
    kernel_w: int = 0,
    stride: Ints = (),
    stride_h: int = 0,
    stride_w: int = 0,
    pad: Ints = (),
    pad_h: int = 0,
    pad_w: int = 0,
    global_pooling: bool = False,
    round_mode: str = "CEIL",
) -> Tensor:
    """The last window may reach over the end; a mean counts the padding, but nothing behind it."""
    if pool not in ("MAX", "AVE") or round_mode not in ("CEIL", "FLOOR"):
        raise EdgeKitError("E0203", f"Pooling: {pool} with {round_mode} is not supported")
    kernel = x.shape[2:] if global_pooling else _each(x, kernel_size, kernel_h, kernel_w, 0)
    steps, pads = _each(x, stride, stride_h, stride_w, 1), _each(x, pad, pad_h, pad_w, 0)
    for size, k, s, p in zip(x.shape[2:], kernel, steps, pads, strict=True):
        if k < 1 or s < 1 or not 0 <= p < k or size + 2 * p < k:
            raise EdgeKitError("E0401", f"a window of {k} with stride {s} and padding {p} on {size} cells")
        if round_mode == "CEIL" and p == 0 and -(-(size - k) // s) * s >= size:
            raise EdgeKitError("E0205", f"the last window, {k} with stride {s} on {size} cells, is empty")
    return _pool(x, pool == "MAX", kernel, steps, pads, int(round_mode == "CEIL"))


def BatchNorm(
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    factor: Tensor,
    *,
    eps: float = 1e-5,
    use_global_stats: bool = True,
    moving_average_fraction: float = 0.999,
) -> Tensor:
    """Sums of means and variances, and what to divide them by."""
    if not use_global_stats:
        raise EdgeKitError("E0205", "BatchNorm with the statistics of the batch is not supported")
    total = float(factor.constant("the factor").reshape(-1)[0])
    scale = 1 / total if total else 0.0
    n = x.shape[1]
    return normalize.BatchNormalization(
        x,
        x.like(np.ones(n)),
        x.like(np.zeros(n)),
        mean.reshape(n) * scale,
        variance.reshape(n) * scale,
        epsilon=eps,
    )[0]


def Scale(
    x: Tensor,
    a: Tensor,
    b: Tensor | None = None,
    *,
    axis: int = 1,
    num_axes: int = 1,
    bias_term: bool = False,
) -> Tensor:
    """The scale is a blob or a second bottom; the bias is a blob."""
    y = x * _along(a, x, axis)
    return y + _along(_needed(b), x, axis) if bias_term else y


def Bias(x: Tensor, b: Tensor, *, axis: int = 1, num_axes: int = 1) -> Tensor:
    return x + _along(b, x, axis)


def LRN(
    x: Tensor,
    *,
    local_size: int = 5,
    alpha: float = 1.0,
    beta: float = 0.75,
    k: float = 1.0,
    norm_region: str = "ACROSS_CHANNELS",
) -> Tensor:
    if norm_region != "ACROSS_CHANNELS" or local_size % 2 == 0:
        raise EdgeKitError("E0203", f"LRN {norm_region} over {local_size} is not supported")
    return normalize.LRN(x, size=local_size, alpha=alpha, beta=beta, bias=k)


def _each(x: Tensor, both: Ints, height: int, width: int, default: int) -> tuple[int, ...]:
    """A setting for each spatial dimension: given once, for each, or as height and width."""
    n = x.rank - 2
    given = both if isinstance(both, tuple) else (both,)
    if height or width:
        return height, width
    if len(given) not in (0, 1, n):
        raise EdgeKitError("E0401", f"{len(given)} settings for {n} dimensions")
    return given if len(given) == n else (given or (default,)) * n


def _check_weights(
    x: Tensor, w: Tensor, outputs: int, num_output: int, kernel: tuple[int, ...], axis: int
) -> None:
    check_rank(x, w)
    if axis != 1:
        raise EdgeKitError("E0203", f"channels along axis {axis} are not supported")
    check_kernel(w, kernel)
    if outputs != num_output:
        raise EdgeKitError("E0401", f"weights {w.type} do not make {num_output} channels")


def _bias(b: Tensor | None, size: int, wanted: bool) -> Tensor | None:
    return _needed(b).reshape(size) if wanted else None


def _needed(b: Tensor | None) -> Tensor:
    if b is None:
        raise EdgeKitError("E0401", "the blob of the bias is missing")
    return b


def _along(a: Tensor, x: Tensor, axis: int) -> Tensor:
    """With dimensions behind, so that it begins at that axis of x."""
    behind = x.rank - x.axis(axis) - a.rank if a.rank else 0
    if behind < 0:
        raise EdgeKitError("E0401", f"{a.type} does not fit {x.type} at axis {axis}")
    return a.reshape(*a.shape, *(1,) * behind)


def _pool(
    x: Tensor,
    is_max: bool,
    kernel: tuple[int, ...],
    steps: tuple[int, ...],
    pads: tuple[int, ...],
    ceil: int,
) -> Tensor:
    if is_max:
        return pool.MaxPool(x, kernel_shape=kernel, strides=steps, pads=pads * 2, ceil_mode=ceil)[0]
    return pool.AveragePool(
        x, kernel_shape=kernel, strides=steps, pads=pads * 2, ceil_mode=ceil, count_include_pad=1
    )
