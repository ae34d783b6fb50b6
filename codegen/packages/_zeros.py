"""Leaves runs of zeros out of the data of a module: memory is zero before any data are copied into it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from edgekit.codegen.compilation import wasm

_DATA, _COUNT = 11, 12  # sections: what is copied into memory, and of how many parts that is
_PLAIN = b"\0\x41"  # a part of the only memory that begins at a constant
_END = b"\x0b"
_MIN_ZERO_BYTES = 12  # zeros that take more bytes than another part


def without_zeros(module: bytes) -> bytes:
    """The same module, smaller if it can be."""
    sections, end = [], 8
    for kind, size, body in wasm.sections(module):
        end += size
        sections.append((kind, module[body:end]))
    parts = list(_parts(next((content for kind, content in sections if kind == _DATA), b"\0")))
    shorter = [piece for start, data in parts for piece in _pieces(start, data)]
    if len(shorter) == len(parts):
        return module
    changed = {_DATA: _section(shorter), _COUNT: wasm.unsigned(len(shorter))}
    result = module[:8]
    for kind, content in sections:
        content = changed.get(kind, content)
        result += bytes([kind]) + wasm.unsigned(len(content)) + content
    return result


def _parts(content: bytes) -> Iterator[tuple[int, bytes]]:
    """(address, bytes) of what is copied."""
    count, at = wasm.read_unsigned(content, 0)
    for _ in range(count):
        assert content.startswith(_PLAIN, at), "our linker makes no other parts"
        start, at = wasm.read_unsigned(content, at + len(_PLAIN))
        size, at = wasm.read_unsigned(content, at + len(_END))
        yield start, content[at : at + size]
        at += size


def _pieces(start: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """What is left of a part without its long runs of zeros."""
    at = 0
    for run in re.finditer(rb"\0{%d,}" % _MIN_ZERO_BYTES, data):
        if run.start() > at:
            yield start + at, data[at : run.start()]
        at = run.end()
    if at < len(data):
        yield start + at, data[at:]


def _section(parts: list[tuple[int, bytes]]) -> bytes:
    rows = (_PLAIN + wasm.signed(start) + _END + wasm.unsigned(len(data)) + data for start, data in parts)
    return wasm.unsigned(len(parts)) + b"".join(rows)
