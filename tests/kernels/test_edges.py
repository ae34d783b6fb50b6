"""Kernels of all instruction sets at the edges of what they distinguish: to the bit what is simulated."""

from pathlib import Path

import numpy as np
import pytest
from support import x86
from support.each_target import REALS, TARGETS, drive, load
from support.edge_families import FAMILIES
from support.integer_bench import drawn
from support.real_edge_families import REAL_FAMILIES

from edgekit.codegen.lowering import call_rules
from edgekit.codegen.program import compile_graph


@pytest.mark.parametrize("name", TARGETS)
def test_layers_at_the_edges(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # The rules themselves: what is proven to give the same is another kernel, which random layers take.
    shortcuts = (call_rules.float_requantization, call_rules.sum_as_products)
    rules = tuple(rule for rule in call_rules.RULES if rule not in shortcuts)
    monkeypatch.setattr(call_rules, "RULES", rules)
    graph, inputs, expected = drawn(FAMILIES, len(name))
    program = compile_graph(graph, load(name))
    found = drive(program, tmp_path).run(program, inputs)
    for output in program.graph.outputs:
        assert np.array_equal(found[output], expected[output]), program.graph.producer(output)


@pytest.mark.parametrize("name", REALS)
def test_layers_of_floats_at_the_edges(name: str, tmp_path: Path) -> None:
    graph, inputs, expected = drawn(REAL_FAMILIES, len(name))
    program = compile_graph(graph, load(name))
    x86.check_results(program, drive(program, tmp_path).run(program, inputs), expected)
