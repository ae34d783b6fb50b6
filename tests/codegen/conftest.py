"""Generated libraries that several tests look at: every kernel, and whole models."""

from dataclasses import replace

import pytest
from support.chains import Chain
from support.every_kernel import graphs
from support.generated import Libraries, libraries
from support.stateful import accumulator
from support.tools import ROOT, require_shared

from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.onnx import reader as onnx_reader
from edgekit.converters.tflite import reader as tflite_reader
from edgekit.core import target
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Neg
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import DType, Quant, Type

HOST = target.load("host")


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    """The operators, in models that together call every kernel."""
    in_ram = compile_graph(mean_by_rows(), replace(HOST, least_ram=True))
    return written([*graphs(), empty(), accumulator()], tmp_path_factory, in_ram)


@pytest.fixture(scope="session", params=["examples", "mlperf_tiny"])
def models(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    """The examples, which are float, and int8 networks."""
    if request.param == "examples":
        found = [onnx_reader.convert(path) for path in sorted((ROOT / "examples").glob("*/*.onnx"))]
    else:
        folder = require_shared("models/mlperf_tiny")
        found = [tflite_reader.convert(folder / f"{name}.tflite") for name in ("kws_ref_model", "ad01_int8")]
    return written([simplify(graph) for graph in found], tmp_path_factory)


def written(found: list[Graph], factory: pytest.TempPathFactory, *others: Program) -> Libraries:
    programs = [*(compile_graph(graph, HOST) for graph in found), *others]
    return libraries(programs, {"size": factory.mktemp("size"), "speed": factory.mktemp("speed")})


def mean_by_rows() -> Graph:
    """A mean that is a running sum in a loop over rows."""
    chain = Chain(0, (1, 24, 24, 3), "E")
    chain.layer(Conv2d(), 32, 1, 1, 3)
    chain.add(Pool2d("mean", (24, 24)), quant=Quant((0.05,), (3,)))
    return chain.done("mean_by_rows")


def empty() -> Graph:
    """Nothing in, nothing out."""
    b = Builder()
    x = b.input("x", Type(DType.F32, (2, 0)))
    return b.graph("empty", [x], [b.one(Neg(), x)])
