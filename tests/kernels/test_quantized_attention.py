"""Attention to caches of int8: the bits of the simulator on every target, whole and in parts."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.each_target import TARGETS, drive, load
from support.kernel_records import expecting

from edgekit.codegen.execution.driver import BACKWARDS
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.ops.quantized_attention import QuantizedCachedAttention
from edgekit.core.target import Target
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


def program_of(target: Target) -> tuple[Program, dict[str, Array]]:
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
    return compile_graph(builder.graph("attention", list(given), outputs), target), given


# The sets that have a kernel of their own, for whole eights or fours.
KERNELS = {
    "x86-64-avx2": "avx2",
    "x86-64-avx512": "avx2",
    "aarch64": "neon",
    "aarch64-dotprod": "dotprod",
    "aarch64-i8mm": "dotprod",
    "wasm32-simd": "wasm",
    "wasm32-relaxed": "wasm",
    "cortex-m4": "dsp",
    "cortex-m55": "mve",
}


@pytest.mark.parametrize("name", KERNELS)
def test_instruction_sets_have_kernels(name: str) -> None:
    program, _ = program_of(load(name))
    assert {kernel.function.partition("__")[2] for kernel in program.kernels} == {KERNELS[name], "ref"}


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("cores", [1, 3])
def test_attention_to_caches_of_int8(name: str, cores: int, tmp_path: Path) -> None:
    program, given = program_of(replace(load(name), cores=cores, part_macs=1))
    assert (cores > 1) == any(line.call.parts for line in program.lines)
    driver = drive(program, tmp_path, ("-O2",)).with_threads(BACKWARDS if cores > 1 else 0)
    found, expected = driver.run(program, given), expecting(simulate.run)(program.graph, given)
    for output in (port.name for port in program.outputs):
        np.testing.assert_array_equal(found[output], expected[output], err_msg=output)
