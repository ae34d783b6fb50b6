"""Kernels of all instruction sets at the edges of what they distinguish: to the bit what is simulated.

As a whole, and in parts: in the wrong order, and by several threads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support import x86
from support.each_target import REALS, TARGETS, drive, drive_all, load, whole_and_in_parts
from support.edge_families import FAMILIES
from support.integer_bench import Bench, Family, Tensors, drawn
from support.real_edge_families import REAL_FAMILIES

from edgekit.codegen.execution.driver import BACKWARDS, Driver
from edgekit.codegen.execution.runner import runs_threads
from edgekit.codegen.lowering import call_rules
from edgekit.codegen.lowering.lower import lower
from edgekit.codegen.program import Program, compile_graph
from edgekit.core.ir import Graph
from edgekit.core.ops import Call
from edgekit.core.ops.activations import Gelu
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.layer_norm import LayerNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.softmax import Softmax
from edgekit.core.passes import drop_dead
from edgekit.core.target import Target
from edgekit.core.types import DType, Type


def given(b: Bench, *shape: int) -> str:
    name = f"x{len(b.inputs)}"
    b.inputs[name] = b.choices.generator().normal(size=shape).astype(np.float32)
    return b.builder.input(name, Type(DType.F32, shape))


def weights(b: Bench, *shape: int, dtype: DType = DType.F32) -> str:
    return b.constant(b.choices.generator().normal(size=shape).astype(dtype.numpy))


def convolutions(dtype: DType, b: Bench) -> None:
    """Images that are large enough for parts where kernels ask for several rows."""
    for height, width, kernel, stride, depth, outputs in (
        (20, 32, 3, 1, 8, 16),  # Winograd
        (40, 17, 3, 2, 20, 24),  # strided
        (10, 10, 3, 1, 8, 128),  # Winograd, few tiles a part
        (14, 11, 3, 1, 8, 12),
        (20, 20, 3, 2, 16, 48),  # strided, few tiles a part
        (40, 17, 3, 2, 32, 24),
        (20, 10, 3, 2, 32, 80),
        (24, 8, 3, 2, 16, 24),
        (13, 12, 3, 1, 4, 36),
        (33, 5, 3, 1, 4, 7),
        (3, 3, 1, 1, 8, 32),  # parts of three pixels
        (3, 4, 1, 1, 16, 64),
        (3, 5, 1, 1, 16, 8),  # of five
        (4, 4, 1, 1, 12, 24),
        (30, 9, 5, 1, 3, 3),
        (27, 3, 3, 1, 5, 12),
        (7, 7, 1, 1, 20, 40),
        (9, 5, 1, 1, 16, 3),
        (21, 1, 1, 1, 7, 5),
    ):
        pads = (kernel // 2,) * 4
        op = Conv2d((stride, stride), pads)
        w = weights(b, outputs, kernel, kernel, depth, dtype=dtype)
        b.result(op, given(b, 1, height, width, depth), w, weights(b, outputs))


def rows(dtype: DType, b: Bench) -> None:
    for stride, height in ((1, 23), (2, 24)):
        op = Conv2d((stride, stride), (1, 1, 1, 1), groups=20)
        b.result(op, given(b, 1, height, 9, 20), weights(b, 20, 3, 3, 1, dtype=dtype), weights(b, 20))
    for n, inputs, outputs in ((1, 40, 100), (33, 20, 35), (17, 9, 3), (5, 30, 64), (1, 33, 51)):
        b.result(Dense(), given(b, n, inputs), weights(b, outputs, inputs, dtype=dtype), weights(b, outputs))


def sums(b: Bench) -> None:
    x = given(b, 1, 20, 32, 8)
    convolved = b.builder.one(Conv2d(pads=(1, 1, 1, 1)), x, weights(b, 8, 3, 3, 8), weights(b, 8))
    b.result(Add(), convolved, given(b, 1, 20, 32, 8))


def others(b: Bench) -> None:
    for image in ((1, 19, 12, 5), (3, 6, 6, 4)):
        b.result(Pool2d("max", (3, 3), (2, 2), (1, 1, 1, 1)), given(b, *image))
        b.result(Pool2d("mean", (3, 3), (1, 1), (1, 1, 1, 1)), given(b, *image))
    for shape in ((1, 1000), (50, 37), (3, 5, 70)):
        b.result(Gelu(), given(b, *shape))
        b.result(Softmax(), given(b, *shape))
        b.result(Add(), given(b, *shape), given(b, shape[-1]))
        b.result(LayerNorm(1e-5), given(b, *shape), weights(b, shape[-1]), weights(b, shape[-1]))
        b.result(Reduce("mean", (0,)), given(b, *shape))
        b.result(Reduce("sum", (len(shape) - 1,)), given(b, *shape))
    b.result(MatMul(), given(b, 37, 20), given(b, 20, 33))
    b.result(MatMul(), given(b, 3, 17, 20), given(b, 3, 20, 9))
    b.result(MatMul(), given(b, 19, 24), given(b, 24, 1))


FORMATS = (DType.F32, DType.BF16, DType.F16)
REAL_LAYERS: tuple[Family, ...] = (
    *(partial(family, dtype) for family in (convolutions, rows) for dtype in FORMATS),
    sums,
    others,
)


# Without kernels for what is proven to give the same.
WITHOUT_SHORTCUTS = ("host", "cortex-m0plus", "cortex-m3", "riscv32", "riscv64")


def parts(program: Program) -> int:
    """How many layers are computed in parts."""
    return sum(bool(line.call.parts) for line in program.lines)


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def calls(graph: Graph, target: Target) -> Mapping[str, Sequence[Call]]:
    """The calls that make each output."""
    return {
        name: [replace(step, args=()) for step in layer.steps if isinstance(step, Call)]
        for layer in lower(graph, target)
        for name in layer.node.outputs
        if name in graph.outputs
    }


def differing(
    program: Program, driver: Driver, inputs: Tensors, expected: Tensors, *first: int
) -> list[tuple[int, str]]:
    """Layers whose results have other bits, each with the number of threads."""
    found = []
    # Where there are no threads, the hardest order of the parts is enough.
    for count in (*first, BACKWARDS, *((1, 2, 3, 4) if runs_threads(program.target) else ())):
        results = driver.with_threads(count).run(program, inputs)
        names = [name for name, y in expected.items() if results[name].tobytes() != y.tobytes()]
        found += [(count, str(program.graph.producer(name))) for name in names]
    return found


@pytest.mark.parametrize("name", REALS)
def test_layers_of_floats_at_the_edges(name: str, tmp_path: Path) -> None:
    target, found = load(name), 0
    # The memory of a board does not hold them all.
    for families in (REAL_FAMILIES, REAL_LAYERS) if target.board else ((*REAL_FAMILIES, *REAL_LAYERS),):
        graph, inputs, expected = drawn(families, 1)
        alone, program = whole_and_in_parts(graph, target)
        found += parts(program)
        for line, whole in zip(program.lines, alone.lines, strict=True):
            same = line.kernel, line.call.params
            assert same == (whole.kernel, whole.call.params), "another call for one core"
        is_slow = name.startswith("x86") and x86.is_emulated(target)  # unoptimized, a run takes half a minute
        level = ("-O1",) if is_slow else ()
        # Compiled once, where memory holds both.
        one = drive_all([alone, *[program] * (not target.board)], made(tmp_path / f"whole{found}"), level)
        driver = drive(program, made(tmp_path / f"parts{found}"), level) if target.board else one
        results = one.run(alone, inputs)
        x86.check_results(alone, results, expected)
        assert differing(program, driver, inputs, results, 0) == []
    assert found > 100


@pytest.mark.parametrize("name", TARGETS)
def test_layers_of_integers_at_the_edges(name: str, tmp_path: Path) -> None:
    graph, inputs, expected = drawn(FAMILIES, 1)
    program = compile_graph(graph, replace(load(name), cores=4, part_macs=1))
    assert parts(program) > 100
    assert differing(program, drive(program, tmp_path), inputs, expected, 0) == []


@pytest.mark.parametrize("name", [name for name in TARGETS if name not in WITHOUT_SHORTCUTS])
def test_layers_at_the_edges_by_the_rules_themselves(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is proven to give the same is another kernel, which these layers take above."""
    target = load(name)
    graph, inputs, expected = drawn(FAMILIES, 1)
    short = calls(graph, target)
    shortcuts = (call_rules.float_requantization, call_rules.sum_as_products)
    monkeypatch.setattr(call_rules, "RULES", [rule for rule in call_rules.RULES if rule not in shortcuts])
    others = tuple(name for name, made in calls(graph, target).items() if made != short[name])
    assert others
    graph = drop_dead(replace(graph, outputs=others))
    graph = drop_dead(replace(graph, inputs=tuple(name for name in graph.inputs if graph.users(name))))
    program = compile_graph(graph, target)
    found = drive(program, tmp_path).run(program, {name: inputs[name] for name in graph.inputs})
    for output in others:
        assert found[output].tobytes() == expected[output].tobytes(), graph.producer(output)
