"""Convolutions over one, two and three dimensions of N C ... tensors, as one operator over [N, H, W, C].

Images are wrapped in transposes, which a pass removes again; one dimension becomes two; three become a sum
over the depth of the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.converters.semantics.movement import pad, part
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d

Ints = Sequence[int]


def pads_of(
    auto_pad: str, pads: Ints | None, size: Ints, kernel: Ints, strides: Ints, dilations: Ints
) -> tuple[int, ...]:
    """Begin pads, then end pads, as ONNX's auto_pad has them."""
    n = len(size)
    if auto_pad in ("", "NOTSET"):
        return tuple(pads) if pads is not None else (0,) * (2 * n)
    if auto_pad == "VALID":
        return (0,) * (2 * n)
    totals = [
        max((-(-x // s) - 1) * s + (k - 1) * d + 1 - x, 0)
        for x, k, s, d in zip(size, kernel, strides, dilations, strict=True)
    ]
    return halves(totals, more_at_end=auto_pad == "SAME_UPPER")


def halves(totals: Ints, more_at_end: bool) -> tuple[int, ...]:
    """Padding split between the begin and the end of each dimension."""
    small, large = [t // 2 for t in totals], [t - t // 2 for t in totals]
    return (*small, *large) if more_at_end else (*large, *small)


@dataclass(frozen=True)
class SlidingWindow:
    """How a window slides over each spatial dimension; `pads` are begins, then ends."""

    strides: Ints
    dilations: Ints
    pads: Ints

    def along(self, i: int) -> tuple[int, int, tuple[int, int]]:
        """Stride, dilation and pads of one dimension."""
        return self.strides[i], self.dilations[i], (self.pads[i], self.pads[i + len(self.strides)])

    def flat(self) -> SlidingWindow:
        """One dimension as two, of which the first does nothing."""
        return SlidingWindow((1, *self.strides), (1, *self.dilations), (0, self.pads[0], 0, self.pads[1]))

    def plane(self) -> SlidingWindow:
        """Three dimensions without the first."""
        return SlidingWindow(self.strides[1:], self.dilations[1:], (*self.pads[1:3], *self.pads[4:6]))


def sliding(
    x: Tensor, w: Tensor, auto_pad: str, dilations: Ints | None, pads: Ints | None, strides: Ints | None
) -> SlidingWindow:
    """The attributes of a convolution, with ONNX's defaults."""
    strides, dilations = strides or (1,) * (x.rank - 2), dilations or (1,) * (x.rank - 2)
    return SlidingWindow(
        strides, dilations, pads_of(auto_pad, pads, x.shape[2:], w.shape[2:], strides, dilations)
    )


def check_kernel(w: Tensor, declared: Ints | None) -> None:
    """ONNX says the size of the window twice: the weights count, and an attribute may only repeat them."""
    if declared is not None and tuple(declared) != w.shape[2:]:
        raise EdgeKitError("E0401", f"kernel_shape {list(declared)} contradicts the weights {w.type}")


def conv(x: Tensor, w: Tensor, b: Tensor | None, slide: SlidingWindow, groups: int) -> Tensor:
    """x [N, C, ...] with w [O, C / groups, ...]."""
    check_rank(x, w)
    b = b if b is not None else x.like(np.zeros(w.shape[0]))
    if x.rank == 3:
        return unflat(conv(flat(x), flat(w), b, slide.flat(), groups))
    if x.rank == 5:
        return _conv_3d(x, w, b, slide, groups)
    op = Conv2d(pair(slide.strides), four(slide.pads), pair(slide.dilations), groups)
    return x.to_nhwc().apply(op, w.to_nhwc(), b).to_nchw()


def _conv_3d(x: Tensor, w: Tensor, b: Tensor, slide: SlidingWindow, groups: int) -> Tensor:
    stride, dilation, ends = slide.along(0)
    x = pad(x, (0, 0, ends[0], 0, 0), (0, 0, ends[1], 0, 0), "constant")
    depth = (x.shape[2] - (w.shape[2] - 1) * dilation - 1) // stride + 1
    total: Tensor | None = None
    for i in range(w.shape[2]):
        planes = part(x, 2, i * dilation, depth, stride)
        y = conv(as_batch(planes), plane(w, i), b if i == 0 else None, slide.plane(), groups)
        total = y if total is None else total + y
    assert total is not None, "a window has a depth"
    return from_batch(total, x.shape[0])


def conv_transpose(
    x: Tensor, w: Tensor, b: Tensor | None, slide: SlidingWindow, size: Ints, groups: int
) -> Tensor:
    """x [N, C, ...] with w [O, C / groups, ...]; `size` is that of the result."""
    check_rank(x, w)
    b = b if b is not None else x.like(np.zeros(w.shape[0]))
    if x.rank == 3:
        return unflat(conv_transpose(flat(x), flat(w), b, slide.flat(), (1, *size), groups))
    if x.rank == 5:
        return _conv_transpose_3d(x, w, b, slide, size, groups)
    op = ConvTranspose2d(pair(size), pair(slide.strides), pair(slide.pads[:2]), pair(slide.dilations), groups)
    return x.to_nhwc().apply(op, w.to_nhwc(), b).to_nchw()


def _conv_transpose_3d(
    x: Tensor, w: Tensor, b: Tensor, slide: SlidingWindow, size: Ints, groups: int
) -> Tensor:
    stride, dilation, (front, _) = slide.along(0)
    depth, total = x.shape[2], b.reshape(b.shape[0], 1, 1, 1)
    for i in range(w.shape[2]):
        planes = conv_transpose(as_batch(x), plane(w, i), None, slide.plane(), size[1:], groups)
        y = from_batch(planes, x.shape[0])
        n, outputs, _, *area = y.shape
        # Planes stand `stride` apart, then where this part of the window puts them.
        apart = pad(y.reshape(n, outputs, depth, 1, *area), (0,) * 6, (0, 0, 0, stride - 1, 0, 0), "constant")
        apart = apart.reshape(n, outputs, depth * stride, *area)
        before = i * dilation - front
        after = size[0] - depth * stride - before
        total = pad(apart, (0, 0, before, 0, 0), (0, 0, after, 0, 0), "constant") + total
    return total


def check_rank(x: Tensor, w: Tensor) -> None:
    if not 3 <= x.rank <= 5 or w.rank != x.rank:
        raise EdgeKitError("E0205", f"convolution of {x.type} with weights {w.type}")


def flat(x: Tensor) -> Tensor:
    """A line as an image of one row."""
    return x.reshape(*x.shape[:2], 1, x.shape[2])


def unflat(y: Tensor) -> Tensor:
    return y.reshape(*y.shape[:2], y.shape[3])


def plane(w: Tensor, i: int) -> Tensor:
    """One plane of the weights of a window with depth."""
    return part(w, 2, i, 1).reshape(*w.shape[:2], *w.shape[3:])


def as_batch(x: Tensor) -> Tensor:
    """[N, C, D, H, W] as images [N D, C, H, W]."""
    n, channels, depth, *area = x.shape
    return x.transpose(0, 2, 1, 3, 4).reshape(n * depth, channels, *area)


def from_batch(y: Tensor, n: int) -> Tensor:
    """Images [N D, C, H, W] as [N, C, D, H, W]."""
    many, channels, *area = y.shape
    return y.reshape(n, many // n if n else 0, channels, *area).transpose(0, 2, 1, 3, 4)


def pair(values: Ints) -> tuple[int, int]:
    if len(values) != 2:
        raise EdgeKitError("E0401", f"{list(values)[:8]} should be a number for height and one for width")
    first, second = values
    return first, second


def four(values: Ints) -> tuple[int, int, int, int]:
    if len(values) != 4:
        raise EdgeKitError("E0401", f"pads {list(values)[:8]} should be two for each of two dimensions")
    top, left, bottom, right = values
    return top, left, bottom, right
