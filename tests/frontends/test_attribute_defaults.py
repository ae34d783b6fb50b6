"""Attributes that a file leaves out: readers take the default of the framework, attribute by attribute.

Rows of attribute_defaults/<reader>.tsv say what the framework's documentation or code says, and where: `-`
for an attribute that it does not name, `required` for one without default. Where a handler has another value,
the row says why that means the same. ONNX and torch, whose schemas are installed, need such rows alone.
"""

from __future__ import annotations

import ast
import csv
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import inf, isclose
from pathlib import Path
from types import ModuleType
from typing import Any

import onnx
import pytest
from support.tools import require_module

from edgekit.converters.caffe import ops
from edgekit.converters.frontend import handlers
from edgekit.converters.keras import function_ops
from edgekit.converters.keras import ops as keras_ops
from edgekit.converters.mindir import ops as mindir_ops
from edgekit.converters.mxnet import ops as mxnet_ops
from edgekit.converters.onnx import reader as onnx_reader
from edgekit.converters.paddle import ops as paddle_ops
from edgekit.converters.stablehlo import ops as stablehlo_ops
from edgekit.converters.tensorflow import ops as tensorflow_ops
from edgekit.converters.tflite import ops as tflite_ops
from edgekit.converters.torch_export import ops as torch_export_ops

TABLES = Path(__file__).parent / "attribute_defaults"
DOCUMENTED: Mapping[str, ModuleType] = {
    "caffe": ops,
    "keras": keras_ops,
    "keras_functions": function_ops,
    "mindspore": mindir_ops,
    "mxnet": mxnet_ops,
    "paddle": paddle_ops,
    "tensorflow": tensorflow_ops,
}
WITHOUT = ("-", "required")  # what a framework may say instead of a default
CONTEXT = ("opset", "outputs", "importer")  # not of a file


@dataclass(frozen=True)
class Row:
    """What a framework says of an attribute, and what a handler has instead."""

    documented: str
    here: str
    why: str
    source: str

    @property
    def default(self) -> Any:
        return value(self.here or self.documented)


Key = tuple[str, str]  # operator, attribute


@cache
def table(name: str) -> Mapping[Key, Row]:
    with (TABLES / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = {
        (line["operator"], line["attribute"]): Row(
            *(line[k] for k in ("documented", "here", "why", "source"))
        )
        for line in lines
    }
    assert len(rows) == len(lines), "an attribute has two rows"
    return rows


def value(text: str) -> Any:
    """A literal of Python, or an infinity."""
    return {"inf": inf, "-inf": -inf}[text] if text in ("inf", "-inf") else ast.literal_eval(text)


def defaults(found: Mapping[Any, Callable[..., Any]]) -> Iterator[tuple[Any, str, Any]]:
    """(operator, attribute, default) of handlers. Operands that may be left out are none."""
    for operator, handler in found.items():
        for p in inspect.signature(handler).parameters.values():
            if p.default is p.empty or p.name in CONTEXT:
                continue
            if p.annotation in ("Tensor | None", "Edge | None"):
                assert p.default is None, f"{operator}: operand {p.name}"
                continue
            yield operator, p.name, p.default


def same(a: Any, b: Any) -> bool:
    """Equal and of one type; frameworks have floats of 32 bits."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b or isclose(a, b, rel_tol=1e-6)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    numbers = {type(a), type(b)} == {int, float}
    return bool(a == b) and (type(a) is type(b) or numbers)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_default_is_documented(name: str) -> None:
    found = {(operator, key): given for operator, key, given in defaults(handlers(DOCUMENTED[name]))}
    rows = table(name)
    assert set(found) - set(rows) == set(), "add a row with what the framework's documentation says"
    assert set(rows) - set(found) == set(), "no handler has such an attribute"
    wrong = {key: (given, rows[key]) for key, given in found.items() if not same(given, rows[key].default)}
    assert wrong == {}


@pytest.mark.parametrize("name", [*DOCUMENTED, "onnx", "torch"])
def test_rows_name_their_source_and_give_reasons(name: str) -> None:
    for key, row in table(name).items():
        assert row.source, key
        assert bool(row.here) == bool(row.why), key
        assert row.here or row.documented not in WITHOUT, key


def test_graphs_of_stablehlo_and_options_of_tflite_are_no_keywords() -> None:
    """The text of the one names every attribute, and tables of the other have defaults of their own."""
    assert list(defaults(handlers(stablehlo_ops))) == []
    names = {(operator, key) for operator, key, _ in defaults(handlers(tflite_ops))}
    assert names == {("same_pads", "dilations")}, "options come from the table, whose schema has the default"


# ONNX


@dataclass(frozen=True)
class Schema:
    """A version of an operator: its attributes and their defaults."""

    version: int
    attributes: Mapping[str, Any]


@cache
def schemas() -> Mapping[tuple[str, str], list[Schema]]:
    """Those of ONNX, and those that ONNX Runtime adds."""
    found = defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        given = {
            key: "required" if a.required else _stated(a.default_value)
            for key, a in schema.attributes.items()
        }
        found[schema.domain, schema.name].append(Schema(schema.since_version, given))
    runtime = require_module("onnxruntime.capi.onnxruntime_pybind11_state")
    own = set(found)  # ONNX Runtime registers some operators of its own in the domain of ONNX
    for schema in runtime.get_all_operator_schema():
        if schema.domain == "com.microsoft" or (not schema.domain and ("", schema.name) not in own):
            given = {}
            for key, a in schema.attributes.items():
                default = onnx.AttributeProto.FromString(a._default_value)
                given[key] = "required" if a.required else _stated(default)
            found[schema.domain, schema.name].append(Schema(schema.since_version, given))
    return found


def _stated(default: onnx.AttributeProto) -> Any:
    if not default.name:
        return None
    given = onnx.helper.get_attribute_value(default)
    if isinstance(given, list):
        return tuple(item.decode() if isinstance(item, bytes) else item for item in given)
    return given.decode() if isinstance(given, bytes) else given


def of_schemas(domain: str, operator: str, attribute: str) -> list[Any]:
    """The different defaults that an attribute had, the oldest first."""
    found: list[Any] = []
    for schema in sorted(schemas()[domain, operator], key=lambda s: s.version):
        if attribute not in schema.attributes:
            continue
        given = schema.attributes[attribute]
        if not any(same(given, other) for other in found):
            found.append(given)
    return found


def test_defaults_of_onnx_are_those_of_its_schemas() -> None:
    rows, seen = table("onnx"), set()
    for (domain, operator), key, given in defaults(onnx_reader.handlers()):
        stated = of_schemas(domain, operator, key)
        if len(stated) == 1 and same(given, stated[0]):
            continue
        name = f"{domain}.{operator}" if domain else operator
        assert (name, key) in rows, f"{name}: {key} is {given!r}, of the schemas {stated}"
        row = rows[name, key]
        seen.add((name, key))
        assert same(given, row.default), (name, key)
        assert row.documented == " | ".join(map(str, stated)), (name, key)
    assert set(rows) == seen, "rows that no attribute needs"


# torch


@cache
def overloads() -> Mapping[str, list[Any]]:
    torch = require_module("torch")
    require_module("torch.ao.quantization.fx._decomposed")  # registers quantized_decomposed
    found = defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        domain, _, name = schema.name.partition("::")
        if domain in ("aten", "quantized_decomposed", "prims"):
            found[name.strip("_")].append(schema)
    return found


def of_overloads(operator: str, attribute: str) -> list[Any]:
    """The different defaults of an argument. One number stands for as many as there are dimensions."""
    found: list[Any] = []
    for schema in overloads()[operator]:
        for argument in schema.arguments:
            if argument.name != attribute:
                continue
            given = argument.default_value if argument.has_default_value() else "required"
            if isinstance(given, list):
                given = tuple(given[:1]) if len(set(given)) <= 1 else tuple(given)
            if not any(same(given, other) for other in found):
                found.append(given)
    return sorted(found, key=str)


def test_defaults_of_torch_are_those_of_its_schemas() -> None:
    """What an overload lacks is None here."""
    rows, seen = table("torch"), set()
    for operator, key, given in defaults(handlers(torch_export_ops)):
        stated = of_overloads(operator, key)
        stated_defaults = [d for d in stated if d != "required"]
        if len(stated_defaults) == 1 and same(given, stated_defaults[0]):
            continue
        if stated == ["required"] and given is None:
            continue
        assert (operator, key) in rows, f"{operator}: {key} is {given!r}, of the schemas {stated}"
        row = rows[operator, key]
        seen.add((operator, key))
        assert same(given, row.default), (operator, key)
        assert row.documented == (" | ".join(map(str, stated)) or "-"), (operator, key)
    assert set(rows) == seen, "rows that no argument needs"
