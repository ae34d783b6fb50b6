"""Numbers, and options that a file leaves out, are those of the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.tflite_writer import Operator, model
from support.tools import require_module
from tflite import integer_cases, real_cases
from tflite.litert import converted

from edgekit.converters.tflite import codes
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

CASES: Mapping[str, real_cases.Make] = {
    **{f"{kind} of floats": make for kind, make in real_cases.CASES.items()},
    **{f"{kind} of integers": make for kind, make in integer_cases.CASES.items()},
}


@pytest.mark.parametrize("kind", CASES)
def test_options_left_out_are_those_of_the_schema(kind: str, tmp_path: Path) -> None:
    """flatbuffers does not write what equals the default, unless it is told to."""
    schema = require_module("ai_edge_litert.schema_py_generated")
    op = CASES[kind](np.random.default_rng(1))
    fields = vars(getattr(schema, f"{op.options}T")()) if op.options else {}
    for field in (*fields, ""):
        less = replace(op, values={key: value for key, value in op.values.items() if key != field})
        assert outcome(less, tmp_path, False) == outcome(less, tmp_path, True), field


def outcome(op: Operator, folder: Path, every_field: bool) -> str:
    """The graph, or why there is none."""
    try:
        graph = converted(model(op, every_field=every_field), folder, "model")
    except EdgeKitError as error:
        return str(error)
    constants = {name: None if v.data is None else v.data.tobytes() for name, v in graph.values.items()}
    types = {name: value.type for name, value in graph.values.items()}
    return str((graph.nodes, graph.inputs, graph.outputs, types, constants))


def test_numbers_of_operators_and_types_are_those_of_the_schema() -> None:
    schema = require_module("ai_edge_litert.schema_py_generated")
    operators = {n: name for name, n in vars(schema.BuiltinOperator).items() if isinstance(n, int)}
    assert {n: name for n, name in operators.items() if n < len(codes.OPERATORS)} == dict(
        enumerate(codes.OPERATORS)
    )
    names = {"float": "F", "int": "S", "uint": "U"}
    types = {n: name.lower() for name, n in vars(schema.TensorType).items() if isinstance(n, int)}
    for number, dtype in codes.TYPES.items():
        if dtype is DType.BOOL:
            assert types[number] == "bool"
        else:
            word = types[number].rstrip("0123456789")
            assert f"{names[word]}{types[number][len(word) :]}" == dtype.name
