"""Operators and tokenizers as plain data and back: what an .ek file holds of them (`Attribute` in ek.fbs).

An operator is its class name and its fields. Values are None, bool, int, float, str, members of enums,
tuples, and frozen dataclasses of these. Out of a file come only classes that the fields of an operator are
declared with, and only values that the declaration admits.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any

from edgekit.core.flatbuffer import Record
from edgekit.core.ops import Op, registry
from edgekit.core.reasons import DamageError, OperandError, reason_of
from edgekit.core.text.tokenizer import Tokenizer

_INT64 = range(-(1 << 63), 1 << 63)


class UnknownOperatorError(DamageError):
    """A file names an operator, an attribute or a type that this version does not have."""


def _encode(value: object) -> Record:
    match value:
        case None:
            return {"kind": "none"}
        case bool():
            return {"kind": "flag", "integer": int(value)}
        case Enum():
            return {"kind": "member", "text": f"{type(value).__name__}.{value.name}"}
        case int() if type(value) is int and value in _INT64:
            return {"kind": "integer", "integer": value}
        case float() if type(value) is float:
            return {"kind": "number", "number": value}
        case str() if type(value) is str:
            return {"kind": "text", "text": value}
        case tuple() if all(type(x) is int and x in _INT64 for x in value):
            return {"kind": "integers", "integers": value}
        case tuple() if all(type(x) is float for x in value):
            return {"kind": "numbers", "numbers": value}
        case tuple():
            return {"kind": "items", "items": [_encode(x) for x in value]}
    if is_dataclass(value) and type(value) in _declarations():
        return {"kind": "record", "text": type(value).__name__, "items": encode_fields(value)}
    # A numpy number would come back as another type, and compute with another precision.
    raise OperandError(f"attributes are plain values, this is {type(value).__name__}: {value!r:.80}")


def encode_fields(value: Any) -> list[Record]:
    """The fields of a dataclass; TypeError where one holds what its declaration does not admit, since such a
    file could not be read back."""
    records = []
    for name, hint in _declarations()[type(value)].items():
        item = getattr(value, name)
        records.append({"name": name, **_encode(item)})
        if not admits(hint, item):
            raise OperandError(f"{name} of {type(value).__name__} cannot be {item!r:.80}")
    return records


def decode_op(name: str, attributes: Sequence[Record]) -> Op:
    """The operator that a file describes; ValueError where this version has none like it."""
    if name not in registry():
        raise UnknownOperatorError(f"operator {name} is unknown")
    return typing.cast(Op, decode_fields(registry()[name], attributes))


def decode_fields(cls: type[Any], attributes: Sequence[Record]) -> Any:
    """The dataclass whose fields these are."""
    hints = _declarations()[cls]
    values: dict[str, Any] = {}
    for attribute in attributes:
        name = attribute["name"]
        if name not in hints:
            raise UnknownOperatorError(f"attribute {name} of {cls.__name__} is unknown")
        if name in values:
            raise DamageError(f"attribute {name} of {cls.__name__} is there twice")
        values[name] = _decode(attribute)
        if not admits(hints[name], values[name]):
            raise DamageError(f"attribute {name} of {cls.__name__} cannot be {values[name]!r:.80}")
    for field in fields(cls):
        if field.name not in values and field.default is MISSING and field.default_factory is MISSING:
            raise DamageError(f"attribute {field.name} of {cls.__name__} is missing")
    try:
        return cls(**values)
    except Exception as error:  # a class may refuse values that its declaration admits
        raise DamageError(f"{cls.__name__} cannot have these attributes: {reason_of(error)}") from error


def _decode(record: Record) -> Any:
    match record["kind"]:
        case "none":
            return None
        case "flag":
            return bool(record["integer"])
        case "items":
            return tuple(_decode(item) for item in record["items"])
        case "member":
            name, _, member = record["text"].partition(".")
            enum = _types().get(name)
            if enum is None or not issubclass(enum, Enum) or member not in enum.__members__:
                raise UnknownOperatorError(f"{record['text']} is unknown")
            return enum[member]
        case "record":
            cls = _types().get(record["text"])
            if cls is None or not is_dataclass(cls):
                raise UnknownOperatorError(f"{record['text']} is unknown")
            return decode_fields(cls, record["items"])
        case kind:
            return record[kind]


def admits(hint: Any, value: object) -> bool:
    """May a field that is declared with this type hold the value? As type checkers see it: an int is a float
    too, and a bool is an int."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(admits(argument, value) for argument in arguments)
    if origin is typing.Literal:
        return any(type(value) is type(argument) and value == argument for argument in arguments)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(arguments) == 2 and arguments[1] is ...:
            return all(admits(arguments[0], item) for item in value)
        return len(value) == len(arguments) and all(map(admits, arguments, value))
    if hint is Op:
        return isinstance(value, Op)
    if hint in (int, float):
        return type(value) in (int, bool, hint)
    return type(value) is hint


@cache
def _declarations() -> Mapping[type[Any], Mapping[str, Any]]:
    """The fields of every operator and of tokenizers, of every dataclass and enum (which has none) that
    fields are declared with, and their types."""
    found: dict[type[Any], Mapping[str, Any]] = {}
    queue: list[type[Any]] = [*registry().values(), Tokenizer]
    while queue:
        cls = queue.pop()
        if cls not in found and (issubclass(cls, Enum) or is_dataclass(cls)):
            hints = typing.get_type_hints(cls)
            found[cls] = {field.name: hints[field.name] for field in fields(cls)} if is_dataclass(cls) else {}
            queue.extend(part for hint in found[cls].values() for part in _classes(hint))
    return found


@cache
def _types() -> Mapping[str, type[Any]]:
    """The classes that a file may name."""
    found = {cls.__name__: cls for cls in _declarations()}
    assert len(found) == len(_declarations()), "two of these types have the same name"
    return found


def _classes(hint: Any) -> Iterator[type[Any]]:
    if isinstance(hint, type) and not typing.get_origin(hint):
        yield hint
    for argument in typing.get_args(hint):
        yield from _classes(argument)
