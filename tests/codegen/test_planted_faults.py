"""Faults planted in kernels: verification provokes each, and so refuses the library."""

from __future__ import annotations

import pytest
from support.nets import Net
from support.planted import compiled_as

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import DType


def pooling(dtype: DType) -> Graph:
    net = Net(dtype)
    return net.done(net(Pool2d("max", (3, 3), (2, 2), (1, 1, 1, 1)), net.x(1, 5, 5, 3)))


def classes() -> Graph:
    """Probabilities of ten classes."""
    net = Net()
    return net.done(net(Softmax(), net(Dense(), net.x(1, 16), net.random(10, 16), net.random(10))))


ROW_BELOW = (b"row >= p->in_h", b"row > p->in_h")
TYPES = (DType.F16, DType.BF16, DType.F32, DType.F64, DType.S8, DType.S16)
FAULTS = {
    **{f"a maximum of {dtype.name} reads a row too many": (pooling(dtype), *ROW_BELOW) for dtype in TYPES},
    "the maximum of a softmax misses the tail": (classes(), b"l = 0; i + l < n", b"l = 16; i + l < n"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_refused(fault: str) -> None:
    graph, right, wrong = FAULTS[fault]
    with pytest.raises(EdgeKitError, match="E0601"), compiled_as(graph, graph, (right, wrong)):
        pass


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_is_refused_without_a_fault(fault: str) -> None:
    graph, right, _ = FAULTS[fault]
    with compiled_as(graph, graph, (right, right)):
        pass
