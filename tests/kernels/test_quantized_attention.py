"""Attention to caches of int8: the bits of the simulator on every target, whole and in parts."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.each_target import TARGETS, load, run_both, whole_and_in_parts, with_kernel
from support.kernel_records import expecting

from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.quantized_attention import QuantizedCachedAttention
from edgekit.core.types import Array, DType, Type

# Heads of queries and of keys, rows of a cache, elements of a key and of a value: whole vectors and rests.
SHAPES = (
    (2, 2, 70, 8, 8),
    (4, 2, 135, 16, 16),
    (6, 2, 65, 64, 64),
    (3, 1, 5, 7, 5),
    (4, 2, 131, 36, 50),
    (8, 2, 67, 12, 20),
)


def attentions() -> tuple[Graph, dict[str, Array]]:
    """Positions at the ends of blocks of keys, and outside; integers at the ends of their range; scales that
    make weights equal, and such that are far apart."""
    builder, numbers = Builder(), np.random.default_rng(11)
    given: dict[str, Array] = {}
    outputs: list[str] = []

    def rows(*shape: int, spread: float) -> None:
        integers = numbers.integers(-128, 128, shape).astype(np.int8)
        integers[..., : shape[2] // 2, 0] = -128
        scales = 0.02 * 2 ** numbers.uniform(0, spread, (*shape[:3], *(1,) * (shape[1] == shared)))
        for value in (integers, scales.astype(np.float32)):
            given[f"x{len(given)}"] = value

    for i, ((heads, shared, keys, size, values), spread) in enumerate(product(SHAPES, (1.0, 9.0))):
        at = [keys - 1, 0, keys // 2, keys + 9, -3, 63, 64][i % 2 : 7 if i % 4 else 2]
        first = len(given)
        q = numbers.integers(-128, 128, (1, heads, len(at), size)).astype(np.int8)
        given |= {
            f"x{first}": q,
            f"x{first + 1}": numbers.uniform(0.001, 0.1, q.shape[:3]).astype(np.float32),
        }
        rows(1, shared, keys, size, spread=spread)
        rows(1, shared, keys, values, spread=spread)
        given[f"x{len(given)}"] = np.array(at, (np.int32, np.int64)[i % 2])
        names = list(given)[first:]
        for name in names:
            builder.input(name, Type(DType.of(given[name].dtype), given[name].shape))
        op = QuantizedCachedAttention(0.03, keys * 3 // 4 * (i % 3 == 0))
        outputs += builder.add(op, *names)
    return builder.graph("attention", list(given), outputs), given


# The sets that have a kernel of their own, for whole eights or fours.
KERNELS = with_kernel("cached_attention_s8", own=False)


@pytest.mark.parametrize("name", KERNELS)
def test_instruction_sets_have_kernels(name: str) -> None:
    program = compile_graph(attentions()[0], load(name))
    assert {kernel.function.partition("__")[2] for kernel in program.kernels} == {KERNELS[name], "ref"}


@pytest.mark.parametrize("name", TARGETS)
def test_attention_to_caches_of_int8(name: str, tmp_path: Path) -> None:
    graph, given = attentions()
    programs = whole_and_in_parts(graph, load(name))
    assert [any(line.call.parts for line in program.lines) for program in programs] == [False, True]
    expected = expecting(simulate.run)(graph, given)
    for found in run_both(programs, given, tmp_path, ("-O2",)):
        for output in graph.outputs:
            np.testing.assert_array_equal(found[output], expected[output], err_msg=output)
