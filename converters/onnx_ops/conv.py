"""Convolutions: wrapped in transposes to NHWC, which a pass removes again; one dimension becomes two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.converters.tensor import Tensor
from edgekit.errors import EdgeKitError
from edgekit.ops.conv2d import Conv2d


def pads_of(
    auto_pad: str,
    pads: Sequence[int] | None,
    size: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[int, ...]:
    """Begin pads, then end pads, as the specification's auto_pad has them."""
    n = len(size)
    if auto_pad in ("", "NOTSET"):
        return tuple(pads) if pads is not None else (0,) * (2 * n)
    if auto_pad == "VALID":
        return (0,) * (2 * n)
    totals = [
        max((-(-x // s) - 1) * s + (k - 1) * d + 1 - x, 0)
        for x, k, s, d in zip(size, kernel, strides, dilations, strict=True)
    ]
    small, large = [t // 2 for t in totals], [t - t // 2 for t in totals]
    return (*small, *large) if auto_pad == "SAME_UPPER" else (*large, *small)


def Conv(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    kernel_shape: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    spatial = x.rank - 2
    if spatial not in (1, 2):
        raise EdgeKitError("E0205", f"convolution over {spatial} dimensions is not supported")
    kernel = w.shape[2:]
    strides = strides or (1,) * spatial
    dilations = dilations or (1,) * spatial
    pads = pads_of(auto_pad, pads, x.shape[2:], kernel, strides, dilations)
    if b is None:
        b = x.like(np.zeros(w.shape[0]))
    if spatial == 1:
        x = x.reshape(*x.shape[:2], 1, x.shape[2])
        w = w.reshape(*w.shape[:2], 1, w.shape[2])
        strides, dilations, pads = (1, *strides), (1, *dilations), (0, pads[0], 0, pads[1])
    op = Conv2d(strides[:2], pads[:4], dilations[:2], group)  # type: ignore[arg-type]  # two and four by now
    y = x.to_nhwc().apply(op, w.to_nhwc(), b).to_nchw()
    return y.reshape(*y.shape[:2], y.shape[3]) if spatial == 1 else y
