"""Windows that slide over images: what convolutions and pools share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from edgekit.codegen.gpu.ast import Expr
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.kernels._split_k import Part
from edgekit.codegen.gpu.use import integer, integers
from edgekit.core.ops import Call

PARAMS = "in_h in_w in_c out_h out_w out_c k_h k_w stride_h stride_w pad_top pad_left dilation_h dilation_w"
_POOL = PARAMS.replace("in_c ", "").replace(" out_c", "")


@dataclass(frozen=True)
class Pixel:
    """One pixel of the result: where its window starts in the image, maybe outside, and in which image."""

    image: Expr
    top: Expr
    left: Expr


def pixel(k: KernelBuilder, p: Expr) -> Pixel:
    """The pixel of this number, counted through all images."""
    out_h, out_w, stride_h, stride_w, top, left = k.constants(
        "out_h out_w stride_h stride_w pad_top pad_left"
    )
    row = k.let("row", p // out_w)
    return Pixel(
        image=k.let("in_image", row // out_h),
        top=k.let("top", (row % out_h) * stride_h - top),
        left=k.let("left", (p % out_w) * stride_w - left),
    )


@contextmanager
def taps(k: KernelBuilder, part: Part | None = None) -> Iterator[tuple[Expr, Expr, Expr]]:
    """The cells of a window, or of a part of it: (number, rows down, columns right)."""
    k_h, k_w, down, right = k.constants("k_h k_w dilation_h dilation_w")
    if part and part.split.taps > 1:
        with k.loop("tap", part.tap, k_h * k_w, part.split.taps) as tap:
            yield tap, (tap // k_w) * down, (tap % k_w) * right
        return
    with k.loop("i", 0, k_h) as i, k.loop("j", 0, k_w) as j:
        yield k.let("tap", i * k_w + j), i * down, j * right


def inside(k: KernelBuilder, at: Pixel, down: Expr, right: Expr) -> tuple[Expr, Expr, Expr]:
    """(is it in the image, row, column) of a cell."""
    in_h, in_w = k.constants("in_h in_w")
    row, column = k.let("y_row", at.top + down), k.let("y_column", at.left + right)
    is_inside = (row >= 0) & (row < in_h) & ((column >= 0) & (column < in_w))
    return k.let("is_inside", is_inside), row, column


def has_border(call: Call) -> bool:
    """Does some window reach out of the image?"""
    for axis, before in (("h", "top"), ("w", "left")):
        size, out, k, stride, pad, dilation = (
            integer(call, name)
            for name in (
                f"in_{axis}",
                f"out_{axis}",
                f"k_{axis}",
                f"stride_{axis}",
                f"pad_{before}",
                f"dilation_{axis}",
            )
        )
        if pad or (out - 1) * stride + (k - 1) * dilation >= size:
            return True
    return False


def values(call: Call) -> dict[str, float]:
    """The constants of a convolution."""
    return integers(call, PARAMS)


def pool_values(call: Call) -> dict[str, float]:
    """Those of a pool."""
    return integers(call, f"{_POOL} channels")
