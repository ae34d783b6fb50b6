"""A small graph and its file."""

from pathlib import Path

import numpy as np
import pytest

from edgekit.core import ek_file
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, Source
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import DType, Type


@pytest.fixture
def graph() -> Graph:
    """Two layers with weights, and a view."""
    builder = Builder()
    x = builder.input("x", Type(DType.F32, (1, 4)))
    builder.origin = "layer/1"
    weights = builder.const(np.arange(12, dtype=np.float32).reshape(3, 4), hint="w")
    y = builder.one(
        Dense(lo=0.0, hi=6.0), x, weights, builder.const(np.ones(3, np.float32), hint="b"), name="y"
    )
    z = builder.one(Reshape((3, 1)), y, name="z")
    return builder.graph("net", [x], [z, y], Source("net.onnx", "ab" * 32, "onnx", "test 1"))


@pytest.fixture
def path(tmp_path: Path, graph: Graph) -> Path:
    """The file of that graph."""
    ek_file.save(graph, tmp_path / "net.ek")
    return tmp_path / "net.ek"
