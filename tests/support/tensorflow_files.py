"""Small GraphDef files for tests, put together field by field."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from support.caffe_files import part, varint
from support.mindir_files import number

from edgekit.converters.file_formats.crc32c import masked
from edgekit.core.types import Array

_CODES = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int8": 6, "int64": 9, "bool": 10}


def shape(dims: Sequence[int | None]) -> bytes:
    return b"".join(part(2, number(1, -1 if n is None else n)) for n in dims)


def tensor(array: Array, dims: Sequence[int] | None = None) -> bytes:
    """A constant, whose shape may lie."""
    said = shape(array.shape if dims is None else dims)
    return number(1, _CODES[str(array.dtype)]) + part(2, said) + part(4, array.tobytes())


def attribute(value: Any) -> bytes:
    """An attribute by its type in Python; bytes are one as it is stored."""
    match value:
        case bytes():
            return value
        case bool():
            return number(5, value)
        case int():
            return number(3, value)
        case float():
            return b"\x25" + struct.pack("<f", value)
        case str():
            return part(2, value.encode())
        case np.ndarray():
            return part(8, tensor(value))
        case np.dtype():
            return number(6, _CODES[str(value)])
        case tuple() | list():
            return part(1, b"".join(number(3, n) for n in value))
    raise TypeError(value)


def function(name: str) -> bytes:
    """An attribute that names a function."""
    return part(10, part(1, name.encode()))


def node(name: str, op: str, inputs: Sequence[str] = (), **attributes: Any) -> bytes:
    stored = part(1, name.encode()) + part(2, op.encode()) + b"".join(part(3, i.encode()) for i in inputs)
    for key, value in attributes.items():
        stored += part(5, part(1, key.encode()) + part(2, attribute(value)))
    return stored


def placeholder(name: str, dims: Sequence[int | None], dtype: str = "float32") -> bytes:
    return node(name, "Placeholder", dtype=np.dtype(dtype), shape=part(7, shape(dims)))


def constant(name: str, value: ArrayLike, dtype: str = "float32") -> bytes:
    value = np.asarray(value, dtype)
    return node(name, "Const", dtype=value.dtype, value=value)


def define(name: str, arguments: Sequence[str], nodes: Sequence[bytes], results: Mapping[str, str]) -> bytes:
    """A function; results are references by name."""
    signature = part(1, name.encode())
    signature += b"".join(part(2, part(1, a.encode()) + number(3, 1)) for a in arguments)
    signature += b"".join(part(3, part(1, r.encode()) + number(3, 1)) for r in results)
    returned = b"".join(part(4, part(1, k.encode()) + part(2, v.encode())) for k, v in results.items())
    return part(1, signature) + b"".join(part(3, n) for n in nodes) + returned


def graph(*nodes: bytes, functions: Sequence[bytes] = ()) -> bytes:
    library = part(2, b"".join(part(1, f) for f in functions)) if functions else b""
    return b"".join(part(1, n) for n in nodes) + library


def written_table(
    entries: Mapping[bytes, bytes], method: int = 0, data: bytes | None = None, times: int = 1
) -> bytes:
    """A sorted table of LevelDB with one block of entries, which may come as bytes already compressed; the
    index may name it several times."""
    block = _block(entries) if data is None else data
    made = _stored(block, method)
    handle = varint(0) + varint(len(block))
    index = _block({max(entries, default=b"") + bytes(i): handle for i in range(times)})
    at = len(made)
    made += _stored(index, 0)
    footer = varint(0) + varint(0) + varint(at) + varint(len(index))
    return made + footer.ljust(40, b"\0") + (0xDB4775248B80FB57).to_bytes(8, "little")


def _block(entries: Mapping[bytes, bytes]) -> bytes:
    made = b"".join(varint(0) + varint(len(k)) + varint(len(v)) + k + v for k, v in entries.items())
    return made + bytes(4) + (1).to_bytes(4, "little")


def _stored(block: bytes, method: int) -> bytes:
    content = block + bytes([method])
    return content + masked(content).to_bytes(4, "little")
