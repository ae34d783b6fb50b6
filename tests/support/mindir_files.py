"""Small MindIR files for tests, put together field by field."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from support.caffe_files import part, varint

from edgekit.core.types import Array

_CODES = {"float32": 1, "int8": 3, "int32": 6, "int64": 7, "bool": 9}
Parts = Sequence[bytes]


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def tensor(
    array: Array, name: str = "", dims: Sequence[int] | None = None, data: bytes | None = None
) -> bytes:
    """A stored tensor; its shape and its elements may lie."""
    shape = array.shape if dims is None else dims
    content = array.tobytes() if data is None else data
    return (
        b"".join(number(1, n) for n in shape)
        + number(2, _CODES[str(array.dtype)])
        + part(7, name.encode())
        + part(9, content)
    )


def described(dims: Sequence[int], code: int = 1) -> bytes:
    """A type alone."""
    return b"".join(number(1, n) for n in dims) + number(2, code)


def attribute(name: str, value: Any) -> bytes:
    return part(1, name.encode()) + _value(value)


def node(
    kind: str,
    inputs: Sequence[str],
    output: str,
    said: Sequence[int] | None = None,
    **attributes: Any,
) -> bytes:
    """A node, with the shape that it states."""
    shape = [] if said is None else [part(1, b"shape") + part(12, described(said)) + number(16, 19)]
    settings = [*shape, *(attribute(key, value) for key, value in attributes.items())]
    return (
        b"".join(part(1, name.encode()) for name in inputs)
        + part(2, output.encode())
        + part(3, output.encode())
        + part(4, kind.encode())
        + b"".join(part(5, a) for a in settings)
    )


def constant(name: str, value: Any) -> bytes:
    return node("Constant", [], name, value=value)


def primitive(key: str, kind: str, **attributes: Any) -> bytes:
    settings = b"".join(part(3, attribute(name, value)) for name, value in attributes.items())
    return part(1, key.encode()) + part(2, kind.encode()) + settings + number(5, 1)


def model(
    nodes: Parts,
    inputs: Mapping[str, bytes],
    output: str,
    parameters: Mapping[str, bytes | Array] | None = None,
    primitives: Parts = (),
    more: bytes = b"",
) -> bytes:
    """The file; inputs are types, parameters arrays or stored tensors."""
    stored = [
        tensor(given, name) if isinstance(given, np.ndarray) else given
        for name, given in (parameters or {}).items()
    ]
    graph = (
        b"".join(part(1, n) for n in nodes)
        + part(2, b"net")
        + b"".join(part(3, p) for p in stored)
        + b"".join(part(5, part(1, name.encode()) + part(2, type)) for name, type in inputs.items())
        + part(6, part(1, output.encode()))
    )
    head = part(1, b"1.1") + part(2, b"MindSpore") + part(5, b"2.10.0")
    return head + part(7, graph) + number(10, 1) + b"".join(part(12, p) for p in primitives) + more


def write(folder: Path, content: bytes) -> Path:
    (folder / "net.mindir").write_bytes(content)
    return folder / "net.mindir"


def _value(value: Any) -> bytes:
    """The content of an attribute, and its kind."""
    match value:
        case bool():
            return number(3, int(value)) + number(16, 9)
        case int():
            return number(3, value) + number(16, 7)
        case float():
            return b"\x15" + struct.pack("<f", value) + number(16, 1)
        case str():
            return part(5, value.encode()) + number(16, 8)
        case None:
            return number(16, 25)
        case np.ndarray():
            return part(12, tensor(value)) + number(16, 19)
        case bytes():  # as it is
            return value
    return b"".join(part(17, _value(item)) for item in value) + number(16, 20)
