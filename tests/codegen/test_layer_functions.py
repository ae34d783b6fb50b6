"""Layers that are equal share a function: one for each kernel and shape, which is told what differs."""

from pathlib import Path

import numpy as np
import pytest
from support.each_target import drive, load

from edgekit.codegen.cost import counting
from edgekit.codegen.layer_functions import layer_functions
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.ops.dense import Dense
from edgekit.core.types import DType, Type


def program_of(name: str = "host") -> Program:
    """Five layers: two equal ones with a bias in common, one with bounds, two wider ones."""
    b, numbers = Builder(), np.random.default_rng(3)
    x = b.input("x", Type(DType.F32, (3, 8)))
    bias = b.const(numbers.normal(size=8).astype(np.float32), hint="bias")

    def weights(outputs: int, inputs: int) -> str:
        return b.const(numbers.normal(size=(outputs, inputs)).astype(np.float32), hint="weights")

    (a,) = b.add(Dense(), x, weights(8, 8), bias)
    (a,) = b.add(Dense(), a, weights(8, 8), bias)
    (a,) = b.add(Dense(0.0), a, weights(8, 8), bias)
    made = [
        b.add(Dense(), a, weights(12, 8), b.const(numbers.normal(size=12).astype(np.float32)))[0]
        for _ in range(2)
    ]
    return compile_graph(b.graph("layers", [x], made), load(name))


def test_equal_layers_have_one_function() -> None:
    program = program_of()
    found = layer_functions(program)
    lines = [line for line in program.lines if "dense" in line.kernel.function]
    users = [(found[line.c].c, found[line.c].users) for line in lines]
    first, _, bounded, wide, _ = (line.c for line in lines)
    assert users == [(first, 2), (first, 2), (bounded, 1), (wide, 2), (wide, 2)]
    text = render(program, "speed")["layers.c"].decode()
    assert text.count("EK_LAYER void layers_") == len({function.c for function in found.values()})
    assert ", and 1 more */" in text


def test_what_layers_have_in_common_is_no_argument() -> None:
    """The weights of the equal layers are arguments, their bias is not; both are of the wider ones."""
    program = program_of()
    found = layer_functions(program)
    constants = [
        sum(
            given and operand.place.kind == "constant"
            for given, operand in zip(f.given, f.line.operands, strict=True)
        )
        for f in (found[line.c] for line in program.lines if "dense" in line.kernel.function)
    ]
    assert constants == [1, 1, 0, 2, 2]


def test_instructions_are_counted_by_what_is_entered() -> None:
    program = program_of()
    functions = layer_functions(program)
    assert counting.entered(program, "speed") == [f"layers_{functions[line.c].c}" for line in program.lines]


@pytest.mark.parametrize("name", ["host", "wasm32-simd", "cortex-m4"])
def test_results_are_those_of_the_simulator(name: str, tmp_path: Path) -> None:
    program = program_of(name)
    given = {"x": np.random.default_rng(5).normal(size=(3, 8)).astype(np.float32)}
    found, expected = drive(program, tmp_path).run(program, given), simulate.run(program.graph, given)
    for output in program.outputs:
        largest = np.abs(expected[output.name]).max()
        np.testing.assert_allclose(found[output.name], expected[output.name], rtol=0, atol=1e-6 * largest)
