"""Pools: each result is made of the cells of a window that lie inside of the image."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from edgekit.codegen.gpu.ast import I32, Expr, GpuKernel, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import Elements, elements, for_each, per_item, stored
from edgekit.codegen.gpu.kernels import _window
from edgekit.codegen.gpu.use import groups_for, integer, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

COUNTED = "counted_top counted_left counted_bottom counted_right"
Result = Callable[[Elements, _window.Pixel, Expr], Expr]


def kernel(k: KernelBuilder, dtype: DType, result: Result) -> GpuKernel:
    """y = result(x, the pixel, the channel) everywhere."""
    x, y = elements(k, "x", dtype), k.buffer("y", stored(dtype), writes=True)
    channels = k.constant("channels")
    at = for_each_pixel(k, x, channels, result)
    for_each(k, y, dtype, k.constant("results"), at)
    return k.done()


def for_each_pixel(k: KernelBuilder, x: Elements, channels: Expr, result: Result) -> Callable[[Expr], Expr]:
    def of(i: Expr) -> Expr:
        channel = k.let("channel", i % channels)
        return result(x, _window.pixel(k, i // channels), channel)

    return of


@contextmanager
def cells(k: KernelBuilder, x: Elements, at: _window.Pixel, channel: Expr) -> Iterator[Expr]:
    """The cells of the window that there are."""
    in_h, in_w, channels = k.constants("in_h in_w channels")
    with _window.taps(k) as (_, down, right):
        is_inside, row, column = _window.inside(k, at, down, right)
        with k.when(is_inside):
            yield k.let("cell", x[((at.image * in_h + row) * in_w + column) * channels + channel])


def counted(k: KernelBuilder, at: _window.Pixel) -> Expr:
    """How many cells of the window count: those of the image, and of a border of it."""
    in_h, in_w = k.constants("in_h in_w")
    top, left, bottom, right = k.constants(COUNTED)
    counts = []
    for axis, first, low, high in (("h", at.top, -top, in_h + bottom), ("w", at.left, -left, in_w + right)):
        size, step = k.constants(f"k_{axis} dilation_{axis}")
        count = k.var("count", number(0, I32))
        with k.loop("i", 0, size) as i:
            place = k.let("place", first + i * step)
            k.set(count, count + select((place >= low) & (place < high), number(1, I32), number(0, I32)))
        counts.append(count)
    return counts[0] * counts[1]


def values(call: Call, more: str = "") -> dict[str, float]:
    results = integer(call, "batch") * integer(call, "out_h") * integer(call, "out_w")
    results *= integer(call, "channels")
    window = "in_h in_w out_h out_w k_h k_w stride_h stride_w pad_top pad_left dilation_h dilation_w"
    return integers(call, f"{window} channels {more}") | {"results": results}


def groups(call: Call, values: dict[str, float]) -> int:
    return groups_for(-(-int(values["results"]) // per_item(call.args[-1].type.dtype)))
