"""States on GPUs: the plan keeps them in memory of a stream, and updates them in place where it can."""

from dataclasses import replace

import numpy as np
import pytest
from support.gpu_plans import run, stream
from support.opencl import opencl
from support.stateful import Remembering, accumulator, random_graph, samples

from edgekit.codegen.gpu.kernels import scatter_rows
from edgekit.codegen.gpu.plan import GpuPlan, plan
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.scatter import Scatter
from edgekit.core.simulate import Session
from edgekit.core.types import Array, DType

STEPS = 4


def assert_steps(graph: Graph, planned: GpuPlan, steps: list[dict[str, Array]]) -> None:
    """Two streams of which one begins later: outputs are those of the simulator."""
    streams = [(stream(planned), Session(graph)) for _ in range(2)]
    for i, inputs in enumerate(steps):
        for memory, session in streams[: 1 + (i > 1)]:
            found = run(opencl(), planned, inputs, memory)
            for name, right in session.run(inputs).items():
                np.testing.assert_array_equal(found[name], right, name)


@pytest.mark.parametrize("seed", range(12))
def test_random_networks_with_states_are_right(seed: int) -> None:
    graph = random_graph(seed)
    assert_steps(graph, plan(graph), samples(graph, STEPS))


def test_states_are_written_where_they_are() -> None:
    """A sum is not computed over what it reads: no device binds memory twice."""
    planned = plan(accumulator(DType.S32))
    total, *others = planned.dispatches
    read = [span.where for span in total.spans]
    assert sorted(read) == ["arena", "input", "states"]
    assert [d.kernel.name for d in others if d.spans[-1].where == "states"] == ["copy_words"]
    assert planned.state_bytes == 256


def cache(*, is_read_later: bool) -> Graph:
    """Rows of a cache that a run writes; and maybe the cache as it was before."""
    net = Remembering(DType.S32)
    rows, at = net.x(2, 6, name="rows"), net.x(2, 1, name="at")
    old = net.state("cache", np.zeros((8, 6), np.int32))
    new = net(Scatter(0), old, at, rows)
    outputs = [net(Add(), new, net.const(np.int32(1)))]
    outputs += [net(Add(), old, new)] * is_read_later
    return net.remembering(outputs, {old: new}, "cache")


def steps_of_cache() -> list[dict[str, Array]]:
    rng = np.random.default_rng(0)
    return [
        {
            "rows": rng.integers(-99, 100, (2, 6)).astype(np.int32),
            "at": np.array([[i], [7 - i]], np.int32),
        }
        for i in range(STEPS)
    ]


def test_a_cache_gets_rows_in_place() -> None:
    graph = cache(is_read_later=False)
    planned = plan(graph)
    assert [d.kernel.name for d in planned.dispatches].index("scatter_rows_s32") == 0
    assert "copy_words" not in {d.kernel.name for d in planned.dispatches}
    assert planned.dispatches[0].spans[2].where == "states"
    assert_steps(graph, planned, steps_of_cache())


def test_a_cache_that_is_read_as_it_was_is_copied_first() -> None:
    graph = cache(is_read_later=True)
    planned = plan(graph)
    assert [d.kernel.name for d in planned.dispatches][:2] == ["copy_words", "scatter_rows_s32"]
    assert planned.dispatches[1].spans[2].where == "arena"
    assert_steps(graph, planned, steps_of_cache())


def test_a_kernel_does_not_read_what_it_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    """That would be bound twice."""

    found = scatter_rows.use
    monkeypatch.setattr(scatter_rows, "use", lambda call: replace(found(call), updates=1))
    with pytest.raises(AssertionError, match="reads what it updates"):
        plan(cache(is_read_later=False))
