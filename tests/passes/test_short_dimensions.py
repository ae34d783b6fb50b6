"""Operators with dimensions of 0, 1 and 2 compute the same when their graph is simplified."""

import pytest
from support.op_cases import as_graph, assert_close, expected
from support.resized_cases import all_resized

from edgekit.core import simulate
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify


@pytest.mark.parametrize("length", [0, 1, 2])
def test_passes_keep_what_operators_of_such_dimensions_compute(length: int) -> None:
    for case in all_resized(length):
        graph, inputs, (names,) = as_graph([case])
        simple = simplify(graph)
        verify(simple)
        found = simulate.run(simple, {name: inputs[name] for name in simple.inputs})
        for name, wanted in zip(names, expected(case), strict=True):
            assert_close(found[name], wanted, case)
