"""Caches of decoders on GPUs: rows that are written in place, and attention to those that are filled."""

import importlib
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from support.gpu_calls import Device, assert_computes, assert_same_bits, compute, kernels_of
from support.op_cases import Case, as_graph, case
from support.opencl import kernel_device
from support.webgpu import webgpu

from edgekit.core import simulate
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.scatter import Scatter
from edgekit.core.types import DType

DEVICES: dict[str, Callable[[], Device]] = {"opencl": kernel_device, "wgsl": webgpu}
# Elements of one byte to eight, in rows that are whole words, and in others.
TYPES = (DType.S8, DType.BOOL, DType.F16, DType.BF16, DType.F32, DType.S32, DType.S64)


def rows() -> list[Case]:
    """One row and several; the same row twice, where the last one counts; rows outside of the cache, and from
    the back; one cache and more behind one another; indices of both sizes."""
    numbers = np.random.default_rng(7)
    found = []
    for i, (dtype, n) in enumerate(product(TYPES, (1, 3, 8))):
        for places in ([0], [6], [2, 3, 4], [5, 1, 5, -1], [-9, 99, -3, 6]):
            outer, index = (1, 2, 3)[i % 3], (DType.S32, DType.S64)[i % 2]
            x, u = (
                numbers.integers(0, 2 if dtype is DType.BOOL else 100, (outer, m, n))
                for m in (7, len(places))
            )
            at = np.array(places, index.numpy).reshape(1, -1, 1)
            found.append(case(Scatter(1), x.astype(dtype.numpy), at, u.astype(dtype.numpy)))
    return found


@pytest.mark.parametrize("device", DEVICES)
def test_rows_are_written_in_place(device: str) -> None:
    graph, given, _ = as_graph(rows())
    found = {name for name in kernels_of(graph) if name.startswith("scatter_rows")}
    assert found == {f"scatter_rows_{i}{p}" for i in ("s32", "s64") for p in ("", "_parts_2", "_parts_4")}
    assert_same_bits(DEVICES[device](), graph, given)


def attentions() -> list[Case]:
    """From the first position to a full cache; tiles of keys that end anywhere; heads of any size; one query,
    several, and a rest of four."""
    numbers = np.random.default_rng(9)
    found = []
    forms = ((4, 2, 20, 8, 8), (3, 3, 130, 7, 5), (2, 1, 200, 64, 64), (2, 2, 70, 12, 130), (1, 1, 1, 1, 1))
    positions = ([0], [63], [64], [199], [-5, 999], [3, 17, 0, 80], [127, 128, 129, 0, 198, 4])
    for i, ((heads, shared, keys, size, values), at) in enumerate(product(forms, positions)):
        batch = 2 if size == 7 else 1
        q, k, v = (
            numbers.normal(size=shape).astype(np.float32)
            for shape in (
                (batch, heads, len(at), size),
                (batch, shared, keys, size),
                (batch, shared, keys, values),
            )
        )
        index = (DType.S32, DType.S64)[i % 2]
        found.append(case(CachedAttention(size**-0.5), q, 3 * k, v, np.array(at, index.numpy), ulps=16))
    return found


@pytest.mark.parametrize("device", DEVICES)
def test_attention_to_filled_rows(device: str) -> None:
    usual = [
        c for c in importlib.import_module("ops.cases.attention").CASES if c.operands[0].dtype == np.float32
    ]
    graph, given, _ = as_graph([*usual, *attentions()])
    assert {
        "cached_attention_fours_s64_1_x1",
        "cached_attention_s32_1_x4",
        "cached_attention_fours_s64_3_x4",
    } <= set(kernels_of(graph))
    assert not assert_computes(DEVICES[device](), graph, given)


def test_rows_that_are_not_filled_are_not_read() -> None:
    """What is behind a position may be anything, also no number."""
    numbers = np.random.default_rng(3)
    q, k, v = (numbers.normal(size=(1, 2, n, 8)).astype(np.float32) for n in (5, 80, 80))
    at = np.array([0, 69, 64, 3, 12], np.int32)
    graph, given, ((name,),) = as_graph([case(CachedAttention(0.3), q, k, v, at)])
    expected = simulate.run(graph, given)[name]
    k[:, :, 70:], v[:, :, 70:] = np.nan, np.nan
    found = compute(kernel_device(), graph, given).result(name, graph.type(name))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_scores_far_apart_do_not_overflow() -> None:
    """The largest score grows from tile to tile, and then a tile has none near it."""
    k = np.zeros((1, 1, 200, 4), np.float32)
    k[0, 0, :, 0] = np.concatenate([np.linspace(0, 900, 130), np.full(70, -900)])
    q, v = np.ones((1, 1, 1, 4), np.float32), np.random.default_rng(3).normal(size=(1, 1, 200, 4))
    for at in (10, 129, 199):
        operands = (q, k, v.astype(np.float32), np.array([at]))
        graph, given, _ = as_graph([case(CachedAttention(1.0), *operands)])
        assert not assert_computes(kernel_device(), graph, given)
