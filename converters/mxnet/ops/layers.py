"""Layers with weights and windows."""

from __future__ import annotations

from math import prod

from edgekit.converters.semantics.compose import dense
from edgekit.converters.semantics.convolution import SlidingWindow, check_kernel, check_rank, conv
from edgekit.converters.semantics.movement import cast, repeat
from edgekit.converters.semantics.onnx import conv as onnx_conv
from edgekit.converters.semantics.onnx import indexing, pool
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

Ints = tuple[int, ...]


def Convolution(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    kernel: Ints,
    stride: Ints = (),
    dilate: Ints = (),
    pad: Ints = (),
    num_group: int = 1,
    no_bias: bool = False,
    layout: str = "",
) -> Tensor:
    _check(x, w, kernel, layout)
    n = len(kernel)
    slide = SlidingWindow(stride or (1,) * n, dilate or (1,) * n, (pad or (0,) * n) * 2)
    return conv(x, w, _bias(b, no_bias), slide, num_group)


def Deconvolution(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    kernel: Ints,
    stride: Ints = (),
    dilate: Ints = (),
    pad: Ints = (),
    adj: Ints = (),
    target_shape: Ints = (),
    num_group: int = 1,
    no_bias: bool = True,
    layout: str = "",
) -> Tensor:
    _check(x, w, kernel, layout)
    n = len(kernel)
    steps, holes = stride or (1,) * n, dilate or (1,) * n
    pads, more = pad or (0,) * n, adj or (0,) * n
    if any(target_shape):  # the padding follows from the size of the result
        sizes = zip(x.shape[2:], kernel, steps, holes, target_shape, strict=True)
        extra = [(size - 1) * s + (k - 1) * d + 1 - target for size, k, s, d, target in sizes]
        pads, more = tuple((e + 1) // 2 for e in extra), tuple(e % 2 for e in extra)
    return onnx_conv.ConvTranspose(
        x,
        w,
        _bias(b, no_bias),
        dilations=holes,
        group=num_group,
        output_padding=more,
        pads=pads * 2,
        strides=steps,
    )


def FullyConnected(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    num_hidden: int,
    no_bias: bool = False,
    flatten: bool = True,
) -> Tensor:
    rows = x.reshape(x.shape[0], prod(x.shape[1:])) if flatten else x
    if w.shape != (num_hidden, rows.shape[-1]):
        raise EdgeKitError("E0401", f"weights {w.type} do not make {num_hidden} of {rows.shape[-1]}")
    return dense(rows, w, _bias(b, no_bias))


def Embedding(index: Tensor, w: Tensor, *, input_dim: int, output_dim: int, dtype: str = "float32") -> Tensor:
    return indexing.Gather(w, cast(index, DType.S32))


def Pooling(
    x: Tensor,
    *,
    kernel: Ints = (),
    stride: Ints = (),
    pad: Ints = (),
    pool_type: str = "max",
    global_pool: bool = False,
    pooling_convention: str = "valid",
    count_include_pad: bool = True,
    p_value: int = 2,
    layout: str = "",
) -> Tensor:
    """`full` lets the last window reach over the end; what lies there counts for nothing."""
    _check_layout(layout)
    if pooling_convention not in ("valid", "full") or pool_type not in ("max", "avg", "sum", "lp"):
        raise EdgeKitError("E0203", f"Pooling: {pool_type}, {pooling_convention} is not supported")
    size = x.shape[2:]
    n, is_full = len(size), pooling_convention == "full" and not global_pool
    kernel = size if global_pool else kernel
    steps = (1,) * n if global_pool else stride or (1,) * n
    pads = (0,) * n if global_pool else pad or (0,) * n
    for cells, k, s, p in zip(size, kernel, steps, pads, strict=True):
        if k < 1 or s < 1 or not 0 <= p < k or cells + 2 * p < k:
            raise EdgeKitError("E0401", f"a window of {k} with stride {s} and padding {p} on {cells} cells")
        if is_full and -(-(cells + 2 * p - k) // s) * s >= cells + p:
            raise EdgeKitError("E0205", f"the last window, {k} with stride {s} on {cells} cells, is empty")
    if pool_type == "sum" and is_full:
        raise EdgeKitError("E0203", "Pooling: sum, full is not supported")
    if pool_type == "max":
        return pool.MaxPool(x, kernel_shape=kernel, strides=steps, pads=pads * 2, ceil_mode=int(is_full))[0]
    if pool_type == "lp":
        return pool.LpPool(
            x, kernel_shape=kernel, p=p_value, strides=steps, pads=pads * 2, ceil_mode=int(is_full)
        )
    if global_pool:
        mean = pool.GlobalAveragePool(x)
    else:
        counts = count_include_pad or pool_type == "sum"
        mean = pool.AveragePool(
            x,
            kernel_shape=kernel,
            strides=steps,
            pads=pads * 2,
            ceil_mode=int(is_full),
            count_include_pad=int(counts),
        )
    return mean * prod(kernel) if pool_type == "sum" else mean


def UpSampling(
    x: Tensor,
    *others: Tensor,
    scale: int,
    sample_type: str = "nearest",
    multi_input_mode: str = "concat",
) -> Tensor:
    """By copies of cells, or by a transposed convolution of each channel with the weights that follow."""
    height, width = x.shape[2] * scale, x.shape[3] * scale
    if sample_type == "bilinear" and len(others) == 1:
        k, p = 2 * scale - scale % 2, scale // 2
        return Deconvolution(
            x, others[0], kernel=(k, k), stride=(scale, scale), pad=(p, p), num_group=x.shape[1]
        )
    if sample_type != "nearest" or multi_input_mode not in ("concat", "sum"):
        raise EdgeKitError("E0203", f"UpSampling: {sample_type}, {multi_input_mode} is not supported")
    copies = [repeat(a, (1, 1, height // a.shape[2], width // a.shape[3])) for a in (x, *others)]
    if len(copies) == 1 or multi_input_mode == "concat":
        return concat(copies, 1) if len(copies) > 1 else copies[0]
    total = copies[0]
    for copy in copies[1:]:
        total = total + copy
    return total


def _check(x: Tensor, w: Tensor, kernel: Ints, layout: str) -> None:
    _check_layout(layout)
    check_rank(x, w)
    check_kernel(w, kernel)


def _check_layout(layout: str) -> None:
    if layout not in ("", "NCW", "NCHW", "NCDHW"):
        raise EdgeKitError("E0203", f"layout {layout} is not supported", hint="export the net as NCHW")


def _bias(b: Tensor | None, no_bias: bool) -> Tensor | None:
    if b is None and not no_bias:
        raise EdgeKitError("E0401", "the bias is missing")
    return None if no_bias else b
