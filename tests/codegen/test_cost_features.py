"""The work of a kernel call, which estimates are made of, is what loops over its results count."""

import re
from collections import Counter
from collections.abc import Mapping
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgekit.codegen.cost.cost_features import work_of
from edgekit.codegen.kernels.expressions import Expression, expression
from edgekit.codegen.kernels.kernel_files import all_variants
from edgekit.core.ops import Arg, Call
from edgekit.core.types import DType, Type, Value


def work(
    params: Mapping[str, Any],
    *,
    outputs: int = 6,
    constants: Mapping[str, int] | None = None,
    own: Mapping[str, Expression] | None = None,
) -> Any:
    x, y = (Arg(name, Value(Type(DType.S8, (n,)))) for name, n in (("x", 5), ("y", outputs)))
    w = Arg("w", Value(Type(DType.S8, (4,)), np.zeros(4, np.int8)))
    call = Call("kernel", {"T": DType.S8}, (x, w, y), params, scratch=48, macs=77)
    return work_of(call, constants or {}, own)


def same(found: Mapping[str, float], expected: Mapping[str, float]) -> None:
    assert {name: found[name] for name in expected} == dict(expected)


def parts(n: int, size: int) -> int:
    """How many parts of so many numbers cover n."""
    return len(range(0, n, size))


def test_operands_count_without_constants() -> None:
    expected = {"calls": 1, "inputs": 5, "outputs": 6, "products": 77, "scratch": 48, "positions": 3}
    same(work({"rows": 3}), expected)
    same(work({"rows": 3, "outputs": 7}), {"odd outputs": 3 * 3})


@pytest.mark.parametrize("rows", [1, 4, 5])
@pytest.mark.parametrize("inputs", [16, 17, 32])
def test_rows_of_a_dense_layer_come_in_pairs(rows: int, inputs: int) -> None:
    found = work({"rows": rows, "inputs": inputs, "outputs": 9}, constants={"w": 30, "b": 12})
    pairs = parts(rows, 2)
    expected = {"padded products": rows * 30, "padded outputs": rows * 12}
    same(found, expected | {"paired products": pairs * 30, "paired outputs": pairs * 12})


@pytest.mark.parametrize(("lo", "hi", "clamped"), [(-128, 127, 0), (-127, 127, 6), (-128, 126, 6)])
def test_clamps_count_where_they_take_something_away(lo: int, hi: int, clamped: int) -> None:
    same(work({"lo": lo, "hi": hi}), {"clamped outputs": clamped})


@pytest.mark.parametrize("n", [(2, 3, 37), (1, 5, 48), (4, 1, 47), (1, 1, 1)])
@pytest.mark.parametrize("step", [1, 3])
def test_elementwise_loops_have_rows(n: tuple[int, ...], step: int) -> None:
    seen = Counter[str]()
    for _ in product(*map(range, n[:-1])):
        seen["long row blocks"] += parts(n[-1], 16) if step == 1 and n[-1] >= 48 else 0
        seen["short row cells"] += n[-1] if step == 1 and n[-1] < 48 else 0
        seen["strided row cells"] += n[-1] if step > 1 else 0
    found = work({"n": n, "x": (9, 9, step), "y": (9, 9, 1)})
    same(found, seen)
    assert found["positions"] == prod(n[:-1])


@pytest.mark.parametrize("step", [1, 2])
def test_sums_have_rows_of_what_is_summed(step: int) -> None:
    n, r = (2, 3), (2, 5, 50)
    rows = prod(n) * 2 * 5
    found = work({"n": n, "r": r, "x": (1, 1), "y": (7, 7), "x_r": (1, 1, step)})
    same(found, {"strided row cells": rows * 50 * (step == 2)})
    same(found, {"long row blocks": rows * 4 * (step == 1), "short row cells": 0, "positions": 2})


@pytest.mark.parametrize("inner", [1, 4, 37])
def test_filters_along_an_axis(inner: int) -> None:
    seen = Counter[str]()
    for _ in range(2 * 5):
        seen["filter taps"] += 3
    same(work({"outer": 2, "out_n": 5, "taps": 3, "inner": inner}), seen)


@pytest.mark.parametrize("size", [4, 16, 21])
def test_gates_of_recurrent_layers(size: int) -> None:
    seen = Counter[str]()
    for _ in range(2 * 3):
        seen["gates of steps"] += 4 * size
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
        seen["whole"] += inside
        seen["tap 4-vectors"] += taps * (channels // 4)
        seen["tap cells beside 4-vectors"] += taps * (channels % 4)
        seen["window 16-vectors"] += out_c // 16
        seen["products beside 16-vectors"] += taps * (depth % 16) * out_c
        seen["border cells"] += k_h * k_w * channels * (not inside)
        whole = inside and groups == 1 and dilation == 1
        seen["whole line blocks"] += whole * k_h * parts(line, 16)
        seen["parted windows"] += groups - whole
        seen["parted window lines"] += (groups - whole) * k_h
    own = {name: expression(f"batch * {name}_h * {name}_w") for name in ("taps", "whole")}
    found = work(given, own=own)
    same(found, seen)
    same(found, {"positions": 2 * out_h * out_w, "lines": 2 * out_h})


def _pair(stride: int, dilation: int) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("stride", stride), ("dilation", dilation)


def test_results_of_a_row_advance_in_pairs() -> None:
    found = work({"batch": 2, "out_h": 3, "out_w": 5}, constants={"w": 30})
    pairs = 2 * 3 * 2
    same(found, {"products of row pairs": 30 * pairs, "products of row ends": 180})


@pytest.mark.parametrize(
    ("high", "wide", "stride", "expected"),
    [
        (5, 6, 1, (5 * 3, 5, 5, 5 * 2, 1)),  # five lines of three pairs, not six of three
        (4, 9, 1, (9 * 2, 9, 9, 0, 1)),  # turned: nine lines of two pairs, not four of five
        (8, 6, 2, (4 * 2, 4, 5 + 4, 9 * 2, 2)),  # in two halves
    ],
)
def test_a_kernel_counts_what_its_own_loops_do(
    high: int, wide: int, stride: int, expected: tuple[int, ...]
) -> None:
    """Those of dsp/depthwise2d_int.c: pairs of results and their rows, rows and single cells that it brings
    into planes, and these."""
    (variant,) = (variant for variant in all_variants() if variant.file == "dsp/depthwise2d_int")
    params = {"batch": 2, "in_h": high, "in_w": wide, "out_h": high // stride, "out_w": wide // stride}
    params |= {"in_c": 3, "out_c": 3, "k_h": 3, "k_w": 3, "stride_h": stride, "stride_w": stride}
    params |= dict.fromkeys(("pad_top", "pad_left"), 2 - stride)
    found = work(params, own=variant.counts)
    kinds = ("pairs", "result rows", "rows", "singles", "planes")
    assert {kind: found[kind] for kind in kinds} == {
        k: 2 * 3 * n for k, n in zip(kinds, expected, strict=True)
    }


def test_kinds_of_work_are_few() -> None:
    """Another one had better be a kernel's own, in a tag @count beside its loops."""
    sentences = re.findall(r'yield f?"', Path(work_of.__code__.co_filename).read_text(encoding="utf-8"))
    assert len(sentences) <= 40
