"""Plans for GPUs: what a host may rely on."""

import numpy as np
import pytest
from support.gpu_plans import run
from support.opencl import opencl

from edgekit.codegen.gpu.memory import ALIGN
from edgekit.codegen.gpu.plan import GpuPlan, plan, plans
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.slice import Slice
from edgekit.core.types import DType, Type

_F32 = DType.F32


def assert_right(graph: Graph, planned: GpuPlan) -> None:
    inputs = simulate.random_inputs(graph, 0)
    found = run(opencl(), planned, inputs)
    for name, right in simulate.run(graph, inputs).items():
        if right.dtype.kind == "f":
            assert np.abs(found[name] - right).max() <= 1e-5 * np.abs(right).max()
        else:
            assert np.array_equal(found[name], right)


def awkward() -> Graph:
    """A tensor that is read twice, parts that end within words, a view that starts anywhere."""
    b = Builder()
    x = b.input("x", Type(_F32, (1, 3, 5)))
    squared = b.one(Mul(), x, x)
    both = b.one(Concat(1), squared, b.one(Add(), x, squared))
    part = b.one(Slice((0, 1, 0), (1, 1, 1), (1, 4, 5)), both)
    return b.graph("awkward", [x], [b.one(Add(), part, part), both])


def test_awkward_memory_is_right() -> None:
    assert_right(awkward(), plan(awkward()))


def test_weights_grow_for_winograd_as_far_as_they_may() -> None:
    b, random = Builder(), np.random.default_rng(0)
    w = random.normal(size=(32, 3, 3, 16)).astype(np.float32)
    x = b.input("x", Type(_F32, (1, 16, 16, 16)))
    y = b.one(Conv2d((1, 1), (1, 1, 1, 1)), x, b.const(w), b.const(np.zeros(32, np.float32)))
    graph = b.graph("net", [x], [y])
    for growth, factor in ((0.0, 16 / 9), (1.0, 1), (1.7, 1), (1.8, 16 / 9)):
        (planned,) = plans([graph], growth=growth)
        assert len(planned.weights) == round(w.nbytes * factor) + 32 * 4
        assert_right(graph, planned)


def parts() -> Graph:
    """A whole that is read beside one of its parts, parts that overlap, and equal constants."""
    b = Builder()
    x = b.input("x", Type(_F32, (1, 4, 32)))
    y = b.one(Mul(), x, b.one(Add(), x, x))
    first, second = (b.one(Slice((0, start, 0), (1, 1, 1), (1, 2, 32)), y) for start in (0, 2))
    middle = b.one(Slice((0, 1, 0), (1, 1, 1), (1, 2, 32)), y)
    row = b.one(Slice((0, 3, 0), (1, 1, 1), (1, 1, 32)), y)
    both = b.one(Concat(1), first, second)
    sums = b.one(Add(), b.one(Add(), first, middle), second)
    twice = b.one(Mul(), *(b.const(np.full((1, 4, 32), 3, np.float32)) for _ in range(2)))
    return b.graph("parts", [x], [b.one(Add(), y, row), both, sums, b.one(Add(), twice, y)])


def test_memory_that_is_read_twice_is_right() -> None:
    assert_right(parts(), plan(parts()))


@pytest.mark.parametrize("graph", [awkward(), parts()], ids=["awkward", "parts"])
def test_hosts_can_bind_every_span(graph: Graph) -> None:
    """What is written is aligned, and no dispatch binds memory twice."""
    for d in plan(graph).dispatches:
        ranges = []
        for buffer, span in zip(d.kernel.buffers, d.spans, strict=True):
            assert span.offset % (ALIGN if buffer.writes else 16) == 0
            start = span.offset - span.offset % ALIGN
            ranges.append((span.where, span.number, start, span.offset + span.size))
        for i, (where, number, start, end) in enumerate(ranges):
            for other in ranges[:i]:
                assert other[:2] != (where, number) or other[3] <= start or end <= other[2]


def test_what_has_no_kernel_is_named() -> None:
    b = Builder()
    x = b.input("x", Type(_F32, (1, 9)))
    graph = b.graph("sums", [x], [b.one(Cumulative("sum", 1), x)])
    with pytest.raises(EdgeKitError, match="Cumulative does not run on GPUs") as caught:
        plan(graph)
    assert caught.value.code == "E0203"
