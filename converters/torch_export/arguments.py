"""Arguments of the operators of an exported program: a kind and a content each, as Python values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from edgekit.converters.file_formats.json_record import Record, checked
from edgekit.converters.torch_export.file import dtype_of
from edgekit.core.errors import EdgeKitError

_FLOATS = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}
_PLAIN: Mapping[str, type] = {"as_int": int, "as_bool": bool, "as_string": str}
_LISTS: Mapping[str, type] = {"as_ints": int, "as_bools": bool, "as_strings": str}


@dataclass(frozen=True)
class StorageArgument:
    """An argument that says how something is stored."""


@dataclass(frozen=True)
class Subgraph:
    """A graph as an argument."""

    graph: Record


IRRELEVANT = StorageArgument()


def only(union: Record) -> tuple[str, Any]:
    """Kind and content of what can be one of several things."""
    if len(union.fields) != 1:
        raise EdgeKitError("E0401", f"{union.where} should be one thing, is {len(union.fields)}")
    return next(iter(union.fields.items()))


def argument(given: Record, scope: Mapping[str, Any]) -> Any:
    """The value of an argument; `scope` says what names stand for."""
    kind, content = only(given)
    match kind:
        case "as_none":
            return None
        case "as_int" | "as_bool" | "as_string":
            return checked(content, _PLAIN[kind], given.where)
        case "as_float":
            return _float(content, given.where)
        case "as_ints" | "as_bools" | "as_strings":
            return [checked(v, _LISTS[kind], given.where) for v in checked(content, list, given.where)]
        case "as_floats":
            return [_float(v, given.where) for v in checked(content, list, given.where)]
        case "as_tensor" | "as_sym_int" | "as_sym_float" | "as_sym_bool" | "as_optional_tensor":
            return _named(content, scope, given.where)
        case "as_tensors" | "as_sym_ints" | "as_sym_floats" | "as_sym_bools" | "as_optional_tensors":
            return [_named(v, scope, given.where) for v in checked(content, list, given.where)]
        case "as_scalar_type":
            return dtype_of(checked(content, int, given.where), given.where)
        case "as_memory_format" | "as_layout" | "as_device":
            return IRRELEVANT
        case "as_graph":
            return Subgraph(Record.of(content, given.where).record("graph"))
    raise EdgeKitError("E0205", f"arguments of kind {kind[:40]} are not supported", given.where)


def read_names(node: Record) -> Iterator[str]:
    """The names that a node reads."""
    for given in node.records("inputs"):
        yield from result_names(given.record("arg"))


def result_names(given: Record) -> Iterator[str]:
    """The names that an argument consists of; results are written as arguments, too."""
    kind, content = only(given)
    if not kind.endswith(("tensor", "tensors", "sym_int", "sym_ints", "sym_float", "sym_bool")):
        return
    for item in content if isinstance(content, list) else [content]:
        name = _name(Record.of(item, given.where))
        if name is not None:
            yield name


def _named(content: Any, scope: Mapping[str, Any], where: str) -> Any:
    """What a name stands for; some names are numbers, or nothing, instead."""
    record = Record.of(content, where)
    name = _name(record)
    if name is None:
        kind, value = only(record)
        return _float(value, where) if kind == "as_float" else None if kind == "as_none" else value
    if name not in scope:
        raise EdgeKitError("E0401", f"{name} is computed later or never", where)
    return scope[name]


def _name(record: Record) -> str | None:
    """The name in a reference, which some kinds wrap once more."""
    if "name" in record or "as_name" in record:
        return record.text("name" if "name" in record else "as_name")
    return _name(record.record("as_tensor")) if "as_tensor" in record else None


def _float(content: Any, where: str) -> float:
    """A number; JSON has none for infinities."""
    return _FLOATS[content] if content in list(_FLOATS) else float(checked(content, float, where))
