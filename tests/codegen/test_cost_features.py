"""The work of a kernel call, which estimates are made of, is what loops over its results count."""

from collections import Counter
from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from edgekit.codegen.cost.cost_features import work_of
from edgekit.core.ops import Arg, Call
from edgekit.core.types import DType, Type, Value


def work(params: Mapping[str, Any], *, outputs: int = 6, constants: Mapping[str, int] | None = None) -> Any:
    x, y = (Arg(name, Value(Type(DType.S8, (n,)))) for name, n in (("x", 5), ("y", outputs)))
    w = Arg("w", Value(Type(DType.S8, (4,)), np.zeros(4, np.int8)))
    call = Call("kernel", {"T": DType.S8}, (x, w, y), params, scratch=48, macs=77)
    return work_of(call, constants or {})


def same(found: Mapping[str, float], expected: Mapping[str, float]) -> None:
    assert {name: found[name] for name in expected} == dict(expected)


def parts(n: int, size: int) -> int:
    """How many parts of so many numbers cover n."""
    return len(range(0, n, size))


def test_operands_count_without_constants() -> None:
    expected = {"calls": 1, "inputs": 5, "outputs": 6, "products": 77, "scratch": 48, "positions": 3}
    same(work({"rows": 3}), expected)
    same(work({"rows": 3, "outputs": 7}), {"odd outputs": 3 * 3})
    same(work({"a_exponent": -1, "b_exponent": 0}), {"rescaled inputs": 6})


@pytest.mark.parametrize("rows", [1, 4, 5])
@pytest.mark.parametrize("inputs", [16, 17, 32])
def test_rows_of_a_dense_layer_come_in_pairs(rows: int, inputs: int) -> None:
    found = work({"rows": rows, "inputs": inputs, "outputs": 9}, constants={"w": 30, "b": 12})
    pairs = parts(rows, 2)
    expected = {"padded products": rows * 30, "padded outputs": rows * 12}
    same(found, expected | {"paired products": pairs * 30, "paired outputs": pairs * 12})
    rests = {"rests of rows": rows * parts(9, 4), "rests of paired rows": pairs * parts(9, 4)}
    assert {name: found[name] for name in rests if name in found} == (rests if inputs == 17 else {})


@pytest.mark.parametrize(("lo", "hi", "clamped"), [(-128, 127, 0), (-127, 127, 6), (-128, 126, 6)])
def test_clamps_count_where_they_take_something_away(lo: int, hi: int, clamped: int) -> None:
    same(work({"lo": lo, "hi": hi}), {"clamped outputs": clamped})


@pytest.mark.parametrize("n", [(2, 3, 37), (1, 5, 48), (4, 1, 47), (1, 1, 1)])
@pytest.mark.parametrize("step", [1, 3])
def test_elementwise_loops_have_rows(n: tuple[int, ...], step: int) -> None:
    seen = Counter[str]()
    for _ in product(*map(range, n[:-1])):
        seen["rows"] += 1
        seen["row words"] += parts(n[-1], 4)
        seen["long row blocks"] += parts(n[-1], 16) if step == 1 and n[-1] >= 48 else 0
        seen["short row cells"] += n[-1] if step == 1 and n[-1] < 48 else 0
        seen["strided row cells"] += n[-1] if step > 1 else 0
    found = work({"n": n, "x": (9, 9, step), "y": (9, 9, 1)})
    same(found, seen)
    assert found["positions"] == seen["rows"]


@pytest.mark.parametrize("step", [1, 2])
def test_sums_have_rows_of_what_is_summed(step: int) -> None:
    n, r = (2, 3), (2, 5, 50)
    rows = prod(n) * 2 * 5
    found = work({"n": n, "r": r, "x": (1, 1), "y": (7, 7), "x_r": (1, 1, step)})
    same(found, {"rows": rows, "row words": rows * 13, "strided row cells": rows * 50 * (step == 2)})
    same(found, {"long row blocks": rows * 4 * (step == 1), "short row cells": 0, "positions": 2})


@pytest.mark.parametrize("columns", [3, 16, 21])
@pytest.mark.parametrize("inner", [1, 16, 33])
def test_products_of_matrices(columns: int, inner: int) -> None:
    seen = Counter[str]()
    for _ in range(6):
        seen["matrices"] += 1
        seen["blocks of rows and columns"] += (4 + columns) * parts(inner, 16)
        for _ in range(4):
            seen["matrix rows"] += 1
            seen["matrix row cells"] += inner
            seen["matrix row words"] += parts(columns, 4)
            seen["cells by words"] += parts(columns, 4) * inner
            seen["cells by whole blocks"] += columns // 16 * inner
            seen["cells by words of the rest"] += parts(columns % 16, 4) * inner
            seen["blocks by words"] += parts(columns, 4) * parts(inner, 16)
    same(work({"n": (2, 3), "rows": 4, "inner": inner, "columns": columns}), seen)


@pytest.mark.parametrize("inner", [1, 4, 37])
def test_filters_along_an_axis(inner: int) -> None:
    seen = Counter[str]()
    for _ in range(2 * 5):
        seen["results along an axis"] += 1
        seen["filter words"] += parts(inner, 4)
        for _ in range(3):
            seen["filter taps"] += 1
            seen["filter tap cells"] += inner
            seen["filter tap blocks"] += inner // 16
            seen["filter tap words of the rest"] += parts(inner % 16, 4)
    same(work({"outer": 2, "out_n": 5, "taps": 3, "inner": inner}), seen)


@pytest.mark.parametrize("size", [4, 16, 21])
def test_gates_of_recurrent_layers(size: int) -> None:
    seen = Counter[str]()
    for _ in range(2 * 3):
        seen["steps"] += 1
        seen["units of steps"] += size
        for _ in range(4 * size):
            seen["gates of steps"] += 1
            seen["gate blocks"] += parts(size, 16)
            seen["gate words"] += parts(size, 4)
            seen["gate cells of the rest"] += size % 16
    same(work({"steps": 2, "batch": 3, "groups": 4, "size": size}), seen)


WINDOWS = (  # in_h, in_w, k_h, k_w, stride, dilation, pad
    (6, 7, 3, 3, 1, 1, 1),
    (9, 5, 3, 2, 2, 1, 0),
    (8, 8, 3, 3, 1, 2, 2),
    (4, 9, 1, 5, 1, 1, 2),
    (3, 8, 3, 3, 1, 1, 1),
)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize(("channels", "groups"), [(3, 1), (16, 1), (20, 20), (6, 2)])
def test_windows_over_images(window: tuple[int, ...], channels: int, groups: int) -> None:
    in_h, in_w, k_h, k_w, stride, dilation, pad = window
    out_h, out_w = (
        (n + 2 * pad - (k - 1) * dilation - 1) // stride + 1 for n, k in ((in_h, k_h), (in_w, k_w))
    )
    depth, out_c = channels // groups, channels + groups
    given = {"in_h": in_h, "in_w": in_w, "k_h": k_h, "k_w": k_w, "out_h": out_h, "out_w": out_w, "batch": 2}
    given |= {"in_c": channels, "out_c": out_c, "groups": groups, "pad_top": pad, "pad_left": pad}
    given |= {f"{name}_{axis}": value for axis in "hw" for name, value in _pair(stride, dilation)}
    seen = Counter[str]()
    line = k_w * depth
    for _, top, left in product(range(2), range(out_h), range(out_w)):
        rows = [0 <= top * stride - pad + i * dilation < in_h for i in range(k_h)]
        columns = [0 <= left * stride - pad + j * dilation < in_w for j in range(k_w)]
        taps, inside = sum(rows) * sum(columns), all(rows) and all(columns)
        seen["taps"] += taps
        seen["tap lines"] += sum(rows)
        seen["cells"] += taps * channels
        seen["tap words"] += taps * parts(channels, 4)
        seen["tap blocks"] += taps * parts(channels, 8)
        seen["tap vectors of 16"] += taps * (channels // 16)
        seen["tap cells beside vectors of 4"] += taps * (channels % 4)
        seen["window lines"] += k_h
        seen["window vectors of 16"] += out_c // 16
        seen["products inside"] += taps * depth * out_c
        seen["products beside vectors of 16"] += taps * (depth % 16) * out_c
        seen["inner cells"] += k_h * k_w * channels * inside
        seen["inner words"] += k_h * parts(line, 4) * inside
        seen["unaligned words"] += k_h * parts(line, 4) * inside * (line % 4 > 0)
        seen["border positions"] += not inside
        seen["border cells"] += k_h * k_w * channels * (not inside)
        seen["group window cells"] += groups * k_h * k_w
        whole = inside and groups == 1 and dilation == 1
        seen["whole windows"] += whole
        seen["whole line blocks"] += whole * k_h * parts(line, 16)
        seen["whole line words"] += whole * k_h * parts(line, 4)
        parted = groups - whole
        seen["parted window taps"] += parted * k_h * k_w
        seen["parted tap blocks"] += parted * k_h * k_w * parts(depth, 16)
        seen["parted tap words"] += parted * k_h * k_w * parts(depth, 4)
    found = work(given)
    same(found, seen)
    across, down = out_h * parts(out_w, 2), out_w * parts(out_h, 2)
    same(found, {"channel pairs": 2 * out_c * min(across, down), "positions": 2 * out_h * out_w})
    turned = down < across
    lines = {"turned lines": out_w if turned else out_h, "turned input lines": in_w if turned else in_h}
    same(found, {name: out_c * n for name, n in lines.items()})


def _pair(stride: int, dilation: int) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("stride", stride), ("dilation", dilation)


def test_results_of_a_row_advance_in_pairs() -> None:
    found = work({"batch": 2, "out_h": 3, "out_w": 5}, constants={"w": 30})
    pairs = 2 * 3 * 2
    same(found, {"row pairs": pairs, "row ends": 6})
    same(found, {"products of row pairs": 30 * pairs, "products of row ends": 180})


@pytest.mark.parametrize(
    ("high", "wide", "stride", "planes"),
    [
        (5, 6, 1, [(5, 6)]),  # five lines of three pairs, not six of three
        (4, 9, 1, [(9, 4)]),  # turned: nine lines of two pairs, not four of five
        (8, 6, 2, [(2, 3), (2, 3)]),  # in two halves
    ],
)
def test_channels_are_brought_into_planes(
    high: int, wide: int, stride: int, planes: list[tuple[int, int]]
) -> None:
    channels, batch, out_h, out_w = 3, 2, high // stride, wide // stride
    size = {
        "in_h": high,
        "in_w": wide,
        "out_h": out_h,
        "out_w": out_w,
        "stride_h": stride,
        "stride_w": stride,
    }
    window = {"k_h": 3, "k_w": 3, "pad_top": 0, "pad_left": 0, "in_c": channels, "out_c": channels}
    found = work({"batch": batch} | size | window)
    pairs = sum(lines * parts(results, 2) for lines, results in planes)
    expected = {"planes": len(planes), "lines of planes": sum(n for n, _ in planes), "pairs of planes": pairs}
    same(found, {name: batch * channels * count for name, count in expected.items()})
    border = sum(
        (2 * parts(results, 2) * stride + 2) * ((lines - 1) * stride + 3) for lines, results in planes
    )
    assert found["border of planes"] == batch * border
    assert "planes" not in work({"batch": batch, "groups": 1} | size | window)


@pytest.mark.parametrize(
    ("high", "wide", "channels", "pairs"),
    [(7, 5, 3, [4]), (24, 24, 120, [2] * 6), (30, 70, 2, [1] * 15), (23, 39, 8, [1] * 12)],
)
def test_rows_of_channels_are_interleaved_in_bands(
    high: int, wide: int, channels: int, pairs: list[int]
) -> None:
    """The first image is small: it is one band."""
    size = {"in_h": high, "in_w": wide, "out_h": high, "out_w": wide, "in_c": channels, "out_c": channels}
    found = work(size | {"batch": 2, "k_h": 3, "k_w": 3, "pad_top": 1, "pad_left": 1})
    images, eights = 2 * channels, parts(wide, 8)
    inside = sum(row >= 1 and row + 2 < high for row in range(0, high, 2))
    blocks = [parts(n * (wide + 1) - 1, 4) for n in pairs]
    expected = {
        "bands": 2 * len(pairs),
        "bands of channels": images * len(pairs),
        "row pairs of channels": images * sum(pairs),
        "eights into columns": images * inside * eights,
        "eights into columns at borders": images * (sum(pairs) - inside) * eights,
        "column blocks of channels": images * sum(blocks),
        "places of columns": 4 * sum(set(blocks)),
    }
    same(found, expected)
