"""Every case of ONNX's node suite as a test of its own, in the simulator; the suite compiles all at once.

Mutation testing needs to know which case runs which line; `pytest` alone does not collect this file.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from onnx.backend.test.runner import Runner
from support.node_suite import EXACT
from support.onnx_cases import Case, cases

from edgekit.core import simulate
from edgekit.onnx_backend import convert_case


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_case(case: Case) -> None:
    """Cases that are refused fail, and judge nothing."""
    graph = convert_case(case.model, case.tensors)
    results = simulate.run(graph, {name: case.tensors[name] for name in graph.inputs})
    found = [results[value.name] for value in case.model.graph.output]
    expected: Sequence[Any] = EXACT[case.name](case.tensors) if case.name in EXACT else case.expected
    Runner.assert_similar_outputs(expected, found, case.rtol, case.atol)
