"""Dense layers of what is quantized in each run, on processors with vectors: the bits of the simulator."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.each_target import DYNAMIC_ROWS, drive, load, run_both, whole_and_in_parts

from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.dynamic_quantize import MAX_INPUTS, DynamicQuantizeDense
from edgekit.core.types import Array, DType, Type


def layers(sizes: tuple[int, ...]) -> tuple[Graph, dict[str, Array]]:
    """Rows: one, some, tiles and a rest. Outputs: blocks and rests. The first rows and weights are the least
    that there are, and the largest; zero points are at the ends, and between."""
    builder, numbers = Builder(), np.random.default_rng(5)
    given: dict[str, Array] = {}
    outputs: list[str] = []

    def operand(x: Array) -> str:
        name = builder.input(f"x{len(given)}", Type(DType.of(x.dtype), x.shape))
        given[name] = x
        return name

    for i, (rows, inputs) in enumerate(product((1, 2, 4, 8, 13), sizes)):
        words = (1, 7, 16, 32, 35, 64)[i % 6]
        q = numbers.integers(-128, 128, (rows, inputs)).astype(np.int8)
        w = numbers.integers(-128, 128, (words, inputs)).astype(np.int8)
        q[0], w[0], w[-1] = (-128, 127)[i % 2], -128, 127 if words > 1 else -128
        zero = np.array((-128, 127, 0, -5)[i % 4], np.int8)
        constants = (w, *(numbers.normal(size=words).astype(np.float32) for _ in range(2)))
        operands = (operand(x) for x in (q, np.array(numbers.uniform(0.001, 0.1), np.float32), zero))
        outputs += builder.add(DynamicQuantizeDense(), *operands, *map(builder.const, constants))
    return builder.graph("layers", list(given), outputs), given


@pytest.mark.parametrize("name", DYNAMIC_ROWS)
def test_layers_of_whole_eights(name: str, tmp_path: Path) -> None:
    """As a whole, and in parts in the wrong order."""
    graph, given = layers((8, 40, 168))
    programs = whole_and_in_parts(graph, load(name))
    for program in programs:
        called = {k.function for k in program.kernels if k.name.startswith("dynamic_quantize_dense")}
        assert called == {f"ek_dynamic_quantize_dense__{DYNAMIC_ROWS[name]}"}
    assert any(line.call.parts for line in programs[1].lines)
    check(graph, given, *run_both(programs, given, tmp_path, ("-O2",)))


@pytest.mark.parametrize(("name", "isa"), [("cortex-m4", "dsp"), ("cortex-m55", "mve")])
def test_layers_of_any_size_on_cortex_m(name: str, isa: str, tmp_path: Path) -> None:
    """As a whole, and in parts in the wrong order."""
    graph, given = layers((1, 7, 16, 20, 35))
    programs = whole_and_in_parts(graph, load(name))
    for program in programs:
        assert {k.function for k in program.kernels} == {f"ek_dynamic_quantize_dense__{isa}"}
    assert any(line.call.parts for line in programs[1].lines)
    check(graph, given, *run_both(programs, given, tmp_path))


def test_other_layers_take_portable_c(tmp_path: Path) -> None:
    graph, given = layers((7, 20))
    program = compile_graph(graph, load("x86-64-avx2"))
    assert {k.function for k in program.kernels} == {"ek_dynamic_quantize_dense_ref__ref"}
    check(graph, given, drive(program, tmp_path, ("-O2",)).run(program, given))


OPERANDS = {
    "x": Type(DType.S8, (2, 8)),
    "x_scale": Type(DType.F32, ()),
    "x_zero": Type(DType.S8, ()),
    "w": Type(DType.S8, (3, 8)),
    "scale": Type(DType.F32, (3,)),
    "b": Type(DType.F32, (3,)),
}


@pytest.mark.parametrize(
    ("operand", "type", "words"),
    [
        ("x", Type(DType.U8, (2, 8)), "takes plain s8"),
        ("x", Type(DType.S8, (2, 7)), "has 7 features"),
        ("w", Type(DType.S8, (3, 8, 1)), "takes x"),
        ("x_scale", Type(DType.F32, (2,)), "one scale and one zero point"),
        ("x_zero", Type(DType.S8, (2,)), "one scale and one zero point"),
        ("scale", Type(DType.F32, ()), "a scale and a bias of each output"),
        ("b", Type(DType.F32, (2,)), "a scale and a bias of each output"),
    ],
)
def test_operands_that_do_not_fit_are_refused(operand: str, type: Type, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        DynamicQuantizeDense().infer(*{**OPERANDS, operand: type}.values())


def test_sums_beyond_32_bits_are_refused() -> None:
    size = MAX_INPUTS + 1
    wide = {**OPERANDS, "x": Type(DType.S8, (1, size)), "w": Type(DType.S8, (3, size))}
    with pytest.raises(TypeError, match="do not fit into sums of 32 bits"):
        DynamicQuantizeDense().infer(*wide.values())


def test_weights_that_are_computed_are_refused() -> None:
    builder = Builder()
    operands = [builder.input(name, type) for name, type in OPERANDS.items()]
    graph = builder.graph("layer", operands, builder.add(DynamicQuantizeDense(), *operands))
    with pytest.raises(EdgeKitError, match="E0207"):
        compile_graph(graph, load("x86-64-avx2"))


def check(graph: Graph, given: Mapping[str, Array], *results: Mapping[str, Array]) -> None:
    expected = simulate.run(graph, given)
    for output, found in product(graph.outputs, results):
        np.testing.assert_array_equal(found[output], expected[output], err_msg=output)
