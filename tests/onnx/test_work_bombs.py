"""Files of a few hundred bytes that ask for endless work end in bounded time and memory."""

import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.crashes import REFUSED, in_child
from support.onnx_models import model, node
from support.work_bombs import BOMBS

import edgekit
from edgekit import EdgeKitError
from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.core.builder import Builder
from edgekit.core.errors import Exit
from edgekit.core.ir import Graph
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import DType, Type

SECONDS, MEMORY = 10, 2 << 30


def within_limits(work: Callable[[], object]) -> int:
    """The exit code of a process that does this work, and may take no more."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        has = pages * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + MEMORY, has + MEMORY))
        try:
            work()
        except EdgeKitError as error:
            if error.exit_code not in (Exit.MALFORMED, Exit.UNSUPPORTED) or "than there is" in error.message:
                raise AssertionError(error) from None
            raise

    return in_child(limited)


# Each of them with constants that the model computes, and some with inputs that the caller gives.
CASES = [(name, False) for name in BOMBS] + [(name, True) for name in list(BOMBS)[::5]]


@pytest.mark.parametrize(("name", "live"), CASES)
def test_models_end_in_bounded_time_and_memory(name: str, live: bool, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(BOMBS[name](live).SerializeToString())
    assert within_limits(lambda: edgekit.inspect(edgekit.convert(path))) in (0, REFUSED)


def test_limits_can_be_raised(tmp_path: Path) -> None:
    steps = [node("ConstantOfShape", "n", "c"), node("Conv", "c c", "d")]
    steps += [node("ReduceMax", "d", "m", keepdims=0), node("Add", "x m", "y")]
    path = tmp_path / "net.onnx"
    path.write_bytes(model(steps, {"n": [1, 1, 1500, 1500]}).SerializeToString())
    with pytest.raises(EdgeKitError, match="9 billion steps to compute, Conv2d 9 billion") as caught:
        edgekit.convert(path)
    assert caught.value.hint.endswith("if it is meant so: --raise-limits 2")
    with edgekit.raised_limits(2):
        assert edgekit.convert(path).nodes
    with pytest.raises(EdgeKitError):
        edgekit.convert(path)


def test_dimensions_do_not_multiply_calls() -> None:
    """Kernels have six loops, and what has more dimensions takes a call for each place in the others."""
    builder = Builder()
    x = builder.input("x", Type(DType.F32, (2,) * 26))
    graph = builder.graph("net", [x], [builder.one(Transpose(tuple(range(26))[::-1]), x)])
    with pytest.raises(EdgeKitError, match=r"walking 26 dimensions takes 1,048,576 calls of a kernel"):
        compile_graph(graph, target.load("host"))
    assert within_limits(lambda: edgekit.inspect(graph)) == 0  # without a plan


def pooled(side: int, window: int) -> Graph:
    builder = Builder()
    x = builder.input("x", Type(DType.F32, (1, side, side, 1)))
    builder.origin = "largest"
    return builder.graph("net", [x], [builder.one(Pool2d("max", (window, window)), x)])


def test_a_run_without_end_is_refused_by_what_runs_it(tmp_path: Path) -> None:
    graph, small = pooled(3000, 1500), pooled(4, 2)
    samples = {"x": np.zeros((2, 1, 3000, 3000, 1), np.float32)}
    verbs: tuple[Callable[[], object], ...] = (
        lambda: edgekit.run(graph, samples),
        lambda: edgekit.run(graph, samples, target="host"),
        lambda: edgekit.bench(graph, target="host"),
        lambda: edgekit.bench(small, target="host", entries={"largest": graph}),
        lambda: edgekit.build(small, tmp_path / "built", entries={"largest": graph}),
        lambda: edgekit.float_accuracy(graph, samples, np.zeros(2, np.int64)),
        lambda: edgekit.tune(graph, samples, edgekit.Limits(ram=1000), folder=tmp_path / "tuned"),
        lambda: edgekit.diff(graph, graph),
        lambda: edgekit.quantize_model(graph, samples),
        lambda: edgekit.prune(graph, samples, edgekit.Pruning(flash=1000)),
        lambda: edgekit.verify(graph),
    )
    for verb in verbs:
        with pytest.raises(
            EdgeKitError, match=r"E0402 a run takes .* billion steps, more than 275"
        ) as caught:
            verb()
        assert "node largest, Pool2d" in caught.value.where
        assert "--raise-limits" in caught.value.hint
