"""Messages of TensorFlow that are written as text or JSON, put into the bytes that they stand for."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from edgekit.converters.file_formats.text_proto import Fields
from edgekit.core.errors import EdgeKitError

# Messages with their fields: name, number, and type. Those that nothing reads are left out.
_TEXT = """
GraphDef: node 1 NodeDef, library 2 FunctionDefLibrary
FunctionDefLibrary: function 1 FunctionDef
FunctionDef: signature 1 OpDef, node_def 3 NodeDef, ret 4 texts, control_ret 6 texts
OpDef: name 1 text, input_arg 2 ArgDef, output_arg 3 ArgDef
ArgDef: name 1 text, type 3 type
NodeDef: name 1 text, op 2 text, input 3 text, attr 5 map:AttrValue
AttrValue: list 1 ListValue, s 2 bytes, i 3 int, f 4 float, b 5 int, type 6 type, shape 7 TensorShapeProto,
 tensor 8 TensorProto, func 10 NameAttrList
ListValue: s 2 bytes, i 3 int, f 4 float, b 5 int, type 6 type, shape 7 TensorShapeProto, func 9 NameAttrList
NameAttrList: name 1 text
TensorShapeProto: dim 2 Dim, unknown_rank 3 int
Dim: size 1 int
TensorProto: dtype 1 type, tensor_shape 2 TensorShapeProto, tensor_content 4 bytes, float_val 5 float,
 double_val 6 double, int_val 7 int, string_val 8 bytes, int64_val 10 int, bool_val 11 int, half_val 13 int,
 uint32_val 16 int, uint64_val 17 int
SavedModel: saved_model_schema_version 1 int, meta_graphs 2 MetaGraphDef
MetaGraphDef: meta_info_def 1 MetaInfoDef, graph_def 2 GraphDef, saver_def 3 SaverDef,
 signature_def 5 map:SignatureDef
MetaInfoDef: tags 4 text, tensorflow_version 5 text
SaverDef: filename_tensor_name 1 text, restore_op_name 3 text
SignatureDef: inputs 1 map:TensorInfo, outputs 2 map:TensorInfo
TensorInfo: name 1 text, dtype 2 type, tensor_shape 3 TensorShapeProto
"""
# Element types by their numbers.
TYPE_CODES = {
    "FLOAT": 1,
    "DOUBLE": 2,
    "INT32": 3,
    "UINT8": 4,
    "INT16": 5,
    "INT8": 6,
    "STRING": 7,
    "COMPLEX64": 8,
    "INT64": 9,
    "BOOL": 10,
    "QINT8": 11,
    "QUINT8": 12,
    "QINT32": 13,
    "BFLOAT16": 14,
    "QINT16": 15,
    "QUINT16": 16,
    "UINT16": 17,
    "COMPLEX128": 18,
    "HALF": 19,
    "RESOURCE": 20,
    "VARIANT": 21,
    "UINT32": 22,
    "UINT64": 23,
}
REFERENCE = 100  # is added to the type of a variable in graphs of TensorFlow 1
_MAX_DEPTH = 64


@dataclass(frozen=True)
class _Field:
    number: int
    kind: str


def _schema() -> Mapping[str, Mapping[str, _Field]]:
    found = {}
    for line in _TEXT.replace(",\n ", ", ").strip().splitlines():
        message, _, fields = line.partition(": ")
        words = [field.split() for field in fields.split(", ")]
        found[message] = {name: _Field(int(number), kind) for name, number, kind in words}
    return found


_SCHEMA = _schema()


def of_json(message: str, given: Any) -> bytes:
    """A message as its JSON, whose bytes are base64 and whose maps are objects."""
    return _Writer(_from_json).message(message, given, 0)


def of_text(message: str, given: Fields) -> bytes:
    """A message as its text, whose maps are messages of a key and a value."""
    return _Writer(_from_text).message(message, given, 0)


@dataclass(frozen=True)
class _Writer:
    """Writes messages whose fields `entries` takes apart, each with one value after the other: maps as pairs
    of keys and values, and bytes as `bytes`."""

    entries: Callable[[Any, Mapping[str, _Field]], Iterator[tuple[_Field, Any]]]

    def message(self, name: str, given: Any, depth: int) -> bytes:
        if depth > _MAX_DEPTH:
            raise EdgeKitError("E0402", "is nested without end", name)
        return b"".join(self._field(field, one, depth) for field, one in self.entries(given, _SCHEMA[name]))

    def _field(self, field: _Field, given: Any, depth: int) -> bytes:
        kind = field.kind
        if kind == "texts" or kind.startswith("map:"):
            key, one = given
            entry = _part(1, _text(key))
            content = _text(one) if kind == "texts" else self.message(kind[4:], one, depth + 1)
            return _part(field.number, entry + _part(2, content))
        if kind in _SCHEMA:
            return _part(field.number, self.message(kind, given, depth + 1))
        if kind in ("text", "bytes"):
            return _part(field.number, given if isinstance(given, bytes) else _text(given))
        if kind in ("float", "double"):
            wire, layout = (5, "<f") if kind == "float" else (1, "<d")
            return _varint(field.number << 3 | wire) + struct.pack(layout, float(given))
        number = _code(given) if kind == "type" else int(given)
        return _varint(field.number << 3) + _varint(number & ((1 << 64) - 1))


def _from_json(given: Any, fields: Mapping[str, _Field]) -> Iterator[tuple[_Field, Any]]:
    if not isinstance(given, Mapping):
        raise EdgeKitError("E0401", "a message should be an object")
    for name, value in given.items():
        snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
        if (field := fields.get(snake)) is None or value is None:
            continue
        if field.kind == "texts" or field.kind.startswith("map:"):
            values = list(value.items())
        else:
            values = value if isinstance(value, list) else [value]
        for one in values:
            yield field, base64.b64decode(one) if field.kind == "bytes" else one


def _from_text(given: Any, fields: Mapping[str, _Field]) -> Iterator[tuple[_Field, Any]]:
    if not isinstance(given, Fields):
        raise EdgeKitError("E0401", "a message should be in braces")
    for name, values in given.fields.items():
        if (field := fields.get(name)) is None:
            continue
        for one in values:
            if field.kind == "texts" or field.kind.startswith("map:"):
                if not isinstance(one, Fields):
                    raise EdgeKitError("E0401", f"{name} should be messages")
                content = one.fields.get("value") or [Fields({}, one.where)]
                yield field, (one.text("key"), content[-1])
            else:
                yield field, one


def _code(given: Any) -> int:
    """An element type, by its name or its number."""
    name = str(given).removeprefix("DT_")
    if name in TYPE_CODES:
        return TYPE_CODES[name]
    if name.removesuffix("_REF") in TYPE_CODES:
        return TYPE_CODES[name.removesuffix("_REF")] + REFERENCE
    return int(given)


def _text(given: Any) -> bytes:
    if not isinstance(given, str):
        raise EdgeKitError("E0401", "a name should be text")
    return given.encode(errors="surrogateescape")


def _part(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
