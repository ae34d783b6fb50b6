"""Paddle's .pdiparams: tensors one behind the other, in the order of the names that a program has."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from edgekit.converters import files
from edgekit.converters.file_formats import protobuf
from edgekit.converters.paddle.program_desc import declared_tensor
from edgekit.core.builder import absurd
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

_MAX_LEVELS = 16


def read(raw: bytes, names: Sequence[str], where: str) -> dict[str, Array]:
    """The tensors by name; names sort as bytes do."""
    found: dict[str, Array] = {}
    at = 0
    for name in sorted(names, key=str.encode):
        found[name], at = _tensor(raw, at, f"{where}: {name}")
    if at != len(raw):
        message = f"{where} holds more than the {len(names)} parameters of the model"
        raise EdgeKitError("E0401", message, hint="do both files come from one export?")
    return found


def _tensor(raw: bytes, at: int, where: str) -> tuple[Array, int]:
    """One tensor, and where the next one begins: versions, levels of sequences, the type, the elements."""
    (version, levels), at = _unpack("<IQ", raw, at, where)
    if levels > _MAX_LEVELS:
        raise EdgeKitError("E0401", f"a tensor with {levels} levels of sequences", where)
    for _ in range(levels):
        (size,), at = _unpack("<Q", raw, at, where)
        _, at = _part(raw, at, size, where)
    (inner, size), at = _unpack("<Ii", raw, at, where)
    if version or inner:
        raise EdgeKitError("E0202", f"version {version or inner} of stored tensors is not known", where)
    described, at = _part(raw, at, size, where)
    type = declared_tensor(protobuf.message(described, where), where)
    shape = [n if n is not None else -1 for n in type.dims or ()]
    if absurd(shape):
        raise EdgeKitError("E0402", f"shape {shape[:8]} is absurd", where)
    count = type.dtype.bytes
    for n in shape:
        count *= n
    content, at = _part(raw, at, count, where)
    return files.array(content, type.dtype, shape, where, exact=True), at


def _unpack(form: str, raw: bytes, at: int, where: str) -> tuple[Sequence[int], int]:
    content, end = _part(raw, at, struct.calcsize(form), where)
    return struct.unpack(form, content), end


def _part(raw: bytes, at: int, size: int, where: str) -> tuple[bytes, int]:
    if not 0 <= size <= len(raw) - at:
        message = f"ends within a tensor: {size} bytes from {at} on, there are {len(raw)}"
        raise EdgeKitError("E0401", message, where, "do both files come from one export?")
    return raw[at : at + size], at + size
