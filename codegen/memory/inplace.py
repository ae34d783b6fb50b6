"""How far before its input a result must start so that a kernel may write the one over the other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from edgekit.core.ops import Call, Param
from edgekit.core.types import Array

_NEVER = 1 << 40

CHANNELS = "channels"
ORDERS = ("pixels", "rows", "lines", "windows", "bands", "planes", CHANNELS)


def distance(order: str, call: Call) -> int | None:
    """Bytes from the start of the result to that of the first operand, at least; None where the kernel has no
    order, or these operands none that it holds for.

    A kernel's file states its order, which is a promise: that x and y meet is no secret to the compiler, and

        pixels N    x and y are images in NHWC. All of a pixel of y is written before anything of the next, by
                    N channels of each group at a time, and N are written after all that they read is read
        rows N      the same of a matrix: a row is a pixel
        pixels N M  of M pixels side by side, N channels each are computed at a time
        rows N M
        lines N M   of all pixels of M rows of an image, or one row, N channels each are computed at a time
        channels    all of a channel is read before any of it is written: the result may lie where x lies, no
                    less and no more (Call.inplace)
        planes M    of M rows of an image, one channel is computed at a time, and read before any of it is
                    written: as channels, where these are all rows
        windows M   as pixels, where all that M pixels of an image need is read before any of them is written
        bands M     the same of M rows of an image; without M, of all of them, or of all of a matrix
    """
    if not order or is_by_channel(order, call):
        return None
    x, y = call.args[0].type, call.args[-1].type
    if min(x.dtype.bits, y.dtype.bits) < 8 or call.results != 1:
        return None
    if x.dtype is not y.dtype and min(x.dtype.bits, y.dtype.bits) > 8:
        return None  # C lets only bytes be looked at as something else
    sizes = tuple((key, value) for key, value in call.params.items() if isinstance(value, int))
    return _distance(order, sizes, x.dtype.bytes, y.dtype.bytes)


def is_by_channel(order: str, call: Call) -> bool:
    """May the result lie where the first operand lies? All of a channel is read before any is written."""
    name, _, rows = order.partition(" ")
    return name == CHANNELS or (name == "planes" and int(rows) >= _number(call.params, "out_h"))


# Searches and other targets ask for layers of the same sizes again and again.
@lru_cache(1 << 12)
def _distance(order: str, sizes: tuple[tuple[str, int], ...], x_bytes: int, y_bytes: int) -> int | None:
    """The same from what it depends on."""
    name, *numbers = order.split()
    block, group = (int(n) for n in (*numbers, "1", "1")[:2])
    p = dict(sizes)
    match name:
        case "pixels":
            return _pixels(p, block, group, x_bytes, y_bytes) if _is_dense(p) else None
        case "windows":
            return _windows(p, block, x_bytes, y_bytes) if _is_dense(p) else None
        case "bands":
            if "rows" in p:
                return 0
            rows = block if numbers else _number(p, "out_h")
            pixels = max(rows * _number(p, "out_w"), 1)
            return _windows(p, pixels, x_bytes, y_bytes) if _is_dense(p) else None
        case "lines":
            return _lines(p, block, group, x_bytes, y_bytes) if _is_dense(p) else None
        case "planes":
            return _lines(p, 1, block, x_bytes, y_bytes) if _is_dense(p) else None
        case "rows":
            image = {"in_w": p["rows"], "out_w": p["rows"], "in_c": p["inputs"], "out_c": p["outputs"]}
            return _pixels(image, block, group, x_bytes, y_bytes)
    raise AssertionError(f"unknown order {name}")


def _is_dense(p: Mapping[str, Param]) -> bool:
    """Is the image stored pixel by pixel, with all channels side by side?"""
    if "step_c" not in p:
        return True
    in_w, in_c = _number(p, "in_w"), _number(p, "in_c")
    return [_number(p, f"step_{d}") for d in "hwc"] == [in_w * in_c, in_c, 1]


def _pixels(p: Mapping[str, Param], block: int, group: int, x_bytes: int, y_bytes: int) -> int:
    out_c = _number(p, "out_c" if "out_c" in p else "channels")
    needed = _needed(p) * x_bytes
    pixels = np.arange(len(needed), dtype=np.int64)
    # While the last block of a pixel is computed, all others of it are there, and of those beside it.
    outputs = out_c // _number(p, "groups")
    unwritten = outputs % block or min(block, outputs)
    written = np.minimum(pixels + group, len(pixels)) * out_c - unwritten
    return max(0, int((written * y_bytes - needed).max(initial=0)))


def _lines(p: Mapping[str, Param], block: int, group: int, x_bytes: int, y_bytes: int) -> int:
    out_c = _number(p, "out_c" if "out_c" in p else "channels")
    if out_c <= block and group == 1:
        return _pixels(p, block, 1, x_bytes, y_bytes)
    batch, out_h, out_w = (_number(p, name) for name in ("batch", "out_h", "out_w"))
    # All that the rows of a group need may still be read when only the last channels are to be written.
    needed = _needed(p).reshape(batch, out_h, out_w)[:, ::group, 0] * x_bytes
    ends = np.minimum(np.arange(0, out_h, group, dtype=np.int64) + group, out_h)
    rows = np.arange(batch, dtype=np.int64)[:, None] * out_h + ends
    written = rows * (out_w * out_c) - (out_c % block or min(block, out_c))
    return max(0, int((written * y_bytes - needed).max(initial=0)))


def _windows(p: Mapping[str, Param], group: int, x_bytes: int, y_bytes: int) -> int | None:
    if _number(p, "groups") > 1:
        return None  # they are read one after the other
    batch, size = _number(p, "batch"), _number(p, "out_h") * _number(p, "out_w")
    needed = np.append(_needed(p), _NEVER) * x_bytes
    ends = np.minimum(np.arange(0, size, group, dtype=np.int64) + group, size)
    done = (np.arange(batch, dtype=np.int64)[:, None] * size + ends).reshape(-1)
    return max(0, int((done * (_number(p, "out_c") * y_bytes) - needed[done]).max(initial=0)))


def _needed(p: Mapping[str, Param]) -> Array:
    """Elements of the image before the first that each pixel of the result, or one after it, reads."""
    in_c = _number(p, "in_c" if "in_c" in p else "channels")
    batch, in_h, in_w = (_number(p, name) for name in ("batch", "in_h", "in_w"))
    # The first cell of the image that each pixel reads, if any.
    top, left = _first_cells(p, "h", "top")[:, None], _first_cells(p, "w", "left")
    image = np.arange(batch, dtype=np.int64)[:, None, None] * (in_h * in_w)
    reads = np.where((top < in_h) & (left < in_w), image + top * in_w + left, _NEVER).reshape(-1)
    needed: Array = np.minimum.accumulate(reads[::-1])[::-1] * in_c
    return needed


def _first_cells(p: Mapping[str, Param], d: str, side: str) -> Array:
    """The first row or column of the image that each row or column of the result reads."""
    size, kernel, dilation = (_number(p, f"{name}_{d}") for name in ("in", "k", "dilation"))
    start = np.arange(_number(p, f"out_{d}"), dtype=np.int64) * _number(p, f"stride_{d}")
    start -= _number(p, f"pad_{side}")
    skipped = np.maximum(-(start // dilation), 0)  # taps before the image
    first = np.where(skipped < kernel, start + skipped * dilation, size)
    cells: Array = np.minimum(first, size)
    return cells


def _number(p: Mapping[str, Param], name: str) -> int:
    """A parameter; those that a kernel does not have change nothing."""
    value = p.get(name, 0 if name.startswith("pad") else 1)
    assert isinstance(value, int), f"{name} is no integer"
    return value
