"""Convolutions, transposed ones, and those over integers."""

from __future__ import annotations

from edgekit.converters.semantics.convolution import (
    SlidingWindow,
    check_kernel,
    conv_transpose,
    halves,
)
from edgekit.converters.tensor import Tensor

Ints = tuple[int, ...] | None


def ConvTranspose(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Ints = None,
    group: int = 1,
    kernel_shape: Ints = None,
    output_padding: Ints = None,
    output_shape: Ints = None,
    pads: Ints = None,
    strides: Ints = None,
) -> Tensor:
    check_kernel(w, kernel_shape)
    spatial = x.rank - 2
    kernel = w.shape[2:]
    strides, dilations = strides or (1,) * spatial, dilations or (1,) * spatial
    extra = output_padding or (0,) * spatial
    reach = [
        s * (n - 1) + e + (k - 1) * d + 1
        for s, n, e, k, d in zip(strides, x.shape[2:], extra, kernel, dilations, strict=True)
    ]
    if output_shape is None and auto_pad.startswith("SAME"):
        # Where strides step over cells, there are none behind the last window.
        output_shape = tuple(min(n * s, r) for n, s, r in zip(x.shape[2:], strides, reach, strict=True))
    if output_shape is not None:
        output_shape = output_shape[-spatial:]  # some exporters give batch and channels too
        totals = [max(r - n, 0) for r, n in zip(reach, output_shape, strict=True)]
        ends = halves(totals, more_at_end=auto_pad == "SAME_UPPER")
    else:
        ends = pads if pads is not None and auto_pad in ("", "NOTSET") else (0,) * (2 * spatial)
        output_shape = tuple(r - a - z for r, a, z in zip(reach, ends, ends[spatial:], strict=False))
    # From [C, O / groups, ...] to [O, C / groups, ...].
    channels, outputs = w.shape[:2]
    parts = w.reshape(group, channels // group, outputs, *kernel)
    weights = parts.transpose(0, 2, 1, *range(3, parts.rank)).reshape(
        group * outputs, channels // group, *kernel
    )
    return conv_transpose(x, weights, b, SlidingWindow(strides, dilations, ends), output_shape, group)
