"""`edgekit build`, `verify`, `run` and `bench` for GPUs, on whatever OpenCL there is."""

import re
from pathlib import Path

import numpy as np
import pytest
from support.op_cases import normal
from support.opencl import opencl
from support.tools import ROOT, require

from edgekit import api
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.rank import ArgExtreme, TopK
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.softmax import Softmax
from edgekit.core.target import Optimize
from edgekit.core.types import DType, Type

_F32 = DType.F32


def network() -> Graph:
    """A convolution, a full layer and a softmax."""
    b = Builder()
    x = b.input("x", Type(_F32, (1, 6, 5, 3)))
    w, bias = b.const(normal(_F32, 8, 3, 3, 3)), b.const(normal(_F32, 8))
    image = b.one(Conv2d((2, 2), (1, 1, 1, 1), lo=0.0), x, w, bias)
    row = b.one(Reshape((1, 72)), image)
    classes = b.one(Dense(), row, b.const(normal(_F32, 5, 72)), b.const(normal(_F32, 5)))
    return b.graph("network", [x], [b.one(Softmax(), classes)])


@pytest.fixture(scope="module")
def quantized() -> Graph:
    return api.quantize_model(network(), "random", calibrate="minmax")[0]


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_a_library_is_built_and_verified(optimize: Optimize, quantized: Graph, tmp_path: Path) -> None:
    opencl()
    require("gcc")
    report = api.build(quantized, tmp_path, target="opencl", optimize=optimize, verify=True)
    assert report.verification is not None
    assert report.verification.exact
    assert {"network_gpu.c", "network_gpu.h", "edgekit/run_opencl.h"} <= set(report.files)
    source = (tmp_path / "network_gpu.c").read_text()
    assert ("static const uint32_t values[]" in source) == (optimize == "size")


def test_reals_are_near(tmp_path: Path) -> None:
    opencl()
    require("gcc")
    x = np.asarray(normal(_F32, 1, 6, 5, 3))
    (y,) = api.run(network(), x, target="opencl", optimize="size").values()
    (right,) = api.run(network(), x).values()
    assert np.abs(y - right).max() <= 1e-5
    assert api.bench(network(), target="opencl", optimize="size").microseconds


def test_floats_of_16_bits_are_near(tmp_path: Path) -> None:
    opencl()
    require("gcc")
    narrow, _ = api.quantize_model(network(), None, dtype="f16", activations="f16")
    x = np.asarray(normal(_F32, 1, 6, 5, 3))
    (y,) = api.run(narrow, x, target="opencl", optimize="size").values()
    (right,) = api.run(narrow, x).values()
    assert np.abs(y - right).max() <= 1e-3
    assert api.verify(narrow, target="opencl").samples


def test_indices_go_in_and_come_out(tmp_path: Path) -> None:
    """A table of words, the class that is most likely, and the two best of it."""
    opencl()
    require("gcc")
    b = Builder()
    words = b.input("words", Type(DType.S64, (1, 6)))
    rows = b.one(Gather(0), b.const(normal(_F32, 9, 12)), b.one(Reshape((6, 1)), words))
    text = b.one(Reshape((1, 72)), rows)
    scores = b.one(Dense(), text, b.const(normal(_F32, 5, 72)), b.const(normal(_F32, 5)))
    best, places = b.add(TopK(1, 2), scores)
    graph = b.graph("words", [words], [b.one(ArgExtreme(1), scores), best, places])
    found = api.run(graph, np.array([[3, -1, 8, 0, 100, 5]]), target="opencl", optimize="size")
    right = api.run(graph, np.array([[3, -1, 8, 0, 100, 5]]))
    for name, y in found.items():
        assert np.allclose(y, right[name], rtol=1e-5), name


def test_the_same_model_is_the_same_text(quantized: Graph) -> None:
    first, second = (
        render(compile_graph(quantized, target.load("opencl")), "speed", "bin") for _ in range(2)
    )
    assert "network_gpu_weights.bin" in first
    assert first == second


def test_what_does_not_run_there_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    b = Builder()
    x = b.input("x", Type(_F32, (4, 4)))
    graph = b.graph("sums", [x], [b.one(Cumulative("sum", 0), x)])
    with pytest.raises(EdgeKitError, match="Cumulative does not run on GPUs"):
        api.build(graph, tmp_path / "sums", target="opencl")
    assert not (tmp_path / "sums").exists()


def test_inputs_in_the_arena_are_refused(quantized: Graph, tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match="leaves inputs and outputs to the caller"):
        api.build(quantized, tmp_path, target="opencl", ports="arena")


def test_a_target_without_an_operating_system_is_refused(quantized: Graph) -> None:
    bare = target.parse("bare", 'base = "aarch64"\ngpu = "opencl"')
    with pytest.raises(EdgeKitError, match="without an operating system"):
        render(compile_graph(quantized, bare), "speed")


def test_the_target_of_the_page_is_one() -> None:
    page = (ROOT / "docs" / "gpu.md").read_text()
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert target.parse("phone", text).gpu == "opencl"
    render(compile_graph(network(), target.parse("phone", text)), "speed")


def test_layers_of_16_bits_get_a_hint_that_works(tmp_path: Path) -> None:
    wide, _ = api.quantize_model(network(), "random", calibrate="minmax", activations="int16")
    with pytest.raises(EdgeKitError, match="s16") as caught:
        api.build(wide, tmp_path / "out", target="opencl")
    assert "--strict-int8" in caught.value.hint
