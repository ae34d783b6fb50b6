"""Flatbuffers by their schema: records to bytes and back, with every offset of a file checked.

The schema is the .fbs file itself, so there is no generated code and nothing to keep in step with it. Reading
is safe on hostile bytes: nothing outside the buffer is read, and since an honest file holds every part once,
a reader that has read more than the file's size has met a trap and stops.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import flatbuffers
import numpy as np
from flatbuffers import number_types

from edgekit.core.reasons import DamageError

# A table: its fields by name. Of those that are absent in a file, scalars are their default, texts "",
# vectors (), and tables None. Vectors of bytes are bytes.
Record = dict[str, Any]

_FORMATS = {
    "bool": "?",
    "byte": "b",
    "ubyte": "B",
    "int": "i",
    "uint": "I",
    "long": "q",
    "ulong": "Q",
    "float": "f",
    "double": "d",
}
_FLAGS = {
    "bool": number_types.BoolFlags,
    "byte": number_types.Int8Flags,
    "ubyte": number_types.Uint8Flags,
    "int": number_types.Int32Flags,
    "uint": number_types.Uint32Flags,
    "long": number_types.Int64Flags,
    "ulong": number_types.Uint64Flags,
    "float": number_types.Float32Flags,
    "double": number_types.Float64Flags,
}
_MAX_DEPTH = 32


@dataclass(frozen=True)
class Field:
    """A field of a table: a scalar, an enum, `string`, another table, or a vector of them."""

    name: str
    type: str
    vector: bool
    default: int


@dataclass(frozen=True)
class Schema:
    """The part of the schema language that EdgeKit uses: tables and enums."""

    tables: Mapping[str, tuple[Field, ...]]
    enums: Mapping[str, tuple[str, ...]]
    root: str
    identifier: bytes


def parse(text: str) -> Schema:
    """The schema that an .fbs file states."""
    text = re.sub(r"//.*", "", text)
    tables = {
        name: tuple(
            Field(field, type, bool(vector), int(default or 0))
            for field, vector, type, default in re.findall(
                r"(\w+):\s*(\[?)(\w+)\]?\s*(?:=\s*(-?\d+)\s*)?;", body
            )
        )
        for name, body in re.findall(r"table\s+(\w+)\s*{(.*?)}", text, re.DOTALL)
    }
    enums = {
        name: tuple(re.findall(r"\w+", body))
        for name, body in re.findall(r"enum\s+(\w+)\s*:\s*ubyte\s*{(.*?)}", text, re.DOTALL)
    }
    (root,) = re.findall(r"root_type\s+(\w+)\s*;", text)
    (identifier,) = re.findall(r'file_identifier\s+"(.{4})"\s*;', text)
    return Schema(tables, enums, root, identifier.encode())


def write(schema: Schema, record: Record) -> bytes:
    """The flatbuffer that holds `record`; fields that are missing or None stay absent."""
    builder = flatbuffers.Builder(1 << 12)
    builder.Finish(_write_table(builder, schema, schema.root, record), schema.identifier)
    return bytes(builder.Output())


def _write_table(builder: flatbuffers.Builder, schema: Schema, name: str, record: Record) -> int:
    fields = schema.tables[name]
    assert record.keys() <= {field.name for field in fields}, f"{name} has no such fields: {list(record)}"
    # What a table refers to is written before it.
    given = [
        (slot, field, _write_value(builder, schema, field, record[field.name]))
        for slot, field in enumerate(fields)
        if record.get(field.name) is not None
    ]
    builder.StartObject(len(fields))
    for slot, field, value in given:
        if field.vector or field.type == "string" or field.type in schema.tables:
            builder.PrependUOffsetTRelative(value)
        else:
            builder.Prepend(_FLAGS["ubyte" if field.type in schema.enums else field.type], value)
        builder.Slot(slot)
    return builder.EndObject()  # type: ignore[no-any-return]  # an offset


def _write_value(builder: flatbuffers.Builder, schema: Schema, field: Field, value: Any) -> Any:
    """The offset of what is stored elsewhere; of a scalar, the scalar."""
    if field.vector and field.type in _FORMATS:
        numbers = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value
        return builder.CreateNumpyVector(np.array(numbers, _numpy(field.type)))
    if field.vector:
        item_field = replace(field, vector=False)
        offsets = [_write_value(builder, schema, item_field, item) for item in value]
        builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            builder.PrependUOffsetTRelative(offset)
        return builder.EndVector()
    if field.type == "string":
        return builder.CreateString(value, errors="surrogatepass")
    if field.type in schema.tables:
        return _write_table(builder, schema, field.type, value)
    if field.type in schema.enums:
        return schema.enums[field.type].index(value)
    return value


def read(schema: Schema, buffer: bytes, shared: int = 1) -> Record:
    """The record that a flatbuffer holds; ValueError where it is damaged. Of writers that store equal texts
    once, each is read so many times."""
    if buffer[4:8] != schema.identifier:
        raise DamageError(f"the identifier is {buffer[4:8].hex()}, not {schema.identifier.hex()}")
    reader = _Reader(schema, buffer, shared)
    return reader.table(schema.root, reader.target(0), 0)


class _Reader:
    """Reads one buffer, and no more bytes than it has."""

    def __init__(self, schema: Schema, buffer: bytes, shared: int) -> None:
        self.schema = schema
        self.buffer = buffer
        self.shared = shared
        self.left = len(buffer)

    def unpack(self, format: str, at: int) -> Any:
        if not 0 <= at <= len(self.buffer) - struct.calcsize("<" + format):
            raise DamageError("an offset leads out of the file")
        return struct.unpack_from("<" + format, self.buffer, at)[0]

    def target(self, at: int) -> int:
        """Where the offset stored at `at` leads."""
        return at + int(self.unpack("I", at))

    def charge(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise DamageError("its parts overlap")

    def table(self, name: str, at: int, depth: int) -> Record:
        if depth > _MAX_DEPTH:
            raise DamageError("its parts are nested too deep")
        vtable = at - self.unpack("i", at)
        slots = (self.unpack("H", vtable) - 4) // 2
        self.charge(max(4, self.unpack("H", vtable + 2)))
        record: Record = {}
        for slot, field in enumerate(self.schema.tables[name]):
            offset = self.unpack("H", vtable + 4 + 2 * slot) if slot < slots else 0
            record[field.name] = self.value(field, at + offset if offset else None, depth)
        return record

    def value(self, field: Field, at: int | None, depth: int) -> Any:
        """A field that is stored at `at`, or its default."""
        schema = self.schema
        if field.vector:
            return self.vector(field.type, self.target(at), depth) if at is not None else ()
        if field.type == "string":
            return self.text(self.target(at)) if at is not None else ""
        if field.type in schema.tables:
            return self.table(field.type, self.target(at), depth + 1) if at is not None else None
        if field.type in schema.enums:
            number = self.unpack("B", at) if at is not None else field.default
            names = schema.enums[field.type]
            if number >= len(names):
                raise DamageError(f"{field.name} {number} is unknown")
            return names[number]
        return self.unpack(_FORMATS[field.type], at) if at is not None else field.default

    def text(self, at: int) -> str:
        size = self.unpack("I", at)
        self.charge((4 + size) // self.shared)
        if size > len(self.buffer) - at - 4:
            raise DamageError("a text leads out of the file")
        return self.buffer[at + 4 : at + 4 + size].decode(errors="surrogatepass")

    def vector(self, type: str, at: int, depth: int) -> tuple[Any, ...] | bytes:
        count = self.unpack("I", at)
        size = struct.calcsize(_FORMATS[type]) if type in _FORMATS else 4
        self.charge(4 + count * size)
        if count * size > len(self.buffer) - at - 4:
            raise DamageError("a list leads out of the file")
        if type == "ubyte":
            return self.buffer[at + 4 : at + 4 + count]
        if type in _FORMATS:
            return tuple(np.frombuffer(self.buffer, _numpy(type), count, at + 4).tolist())
        if type == "string":
            return tuple(self.text(self.target(at + 4 + 4 * i)) for i in range(count))
        return tuple(self.table(type, self.target(at + 4 + 4 * i), depth + 1) for i in range(count))


def _numpy(type: str) -> np.dtype[Any]:
    return np.dtype("<" + _FORMATS[type])
