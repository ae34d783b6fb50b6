"""Takes .ek files apart and puts them together, with a right checksum around a wrong content."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.hostile_files import PYTHON

from edgekit.core import ek_file, flatbuffer
from edgekit.core.errors import EdgeKitError


def refused(path: Path, code: str, words: str) -> EdgeKitError:
    with pytest.raises(EdgeKitError, match=words) as info:
        ek_file.load(path)
    assert info.value.code == code
    assert not PYTHON.search(str(info.value)), "words of Python"
    return info.value


def forge(path: Path, structure: bytes, data: bytes, identifier: bytes = b"") -> None:
    """Write a file with this structure and these data, and the right sizes and checksum."""
    structure += bytes(-len(structure) % ek_file.ALIGNMENT)
    header = ek_file._HEADER.pack(ek_file._SIGNATURE, ek_file.VERSION, 0, len(structure), len(data), b"")[
        : ek_file._DIGEST
    ]
    path.write_bytes(header + hashlib.sha256(header + structure + data).digest() + structure + data)


def sections(path: Path) -> tuple[bytes, bytes]:
    """Structure and data of a file."""
    content = path.read_bytes()
    size = ek_file._HEADER.unpack_from(content)[3]
    return content[ek_file._HEADER.size :][:size], content[ek_file._HEADER.size + size :]


def edit(path: Path, change: Callable[[flatbuffer.Record], object]) -> None:
    """Change the record that a file holds."""
    structure, data = sections(path)
    record = thawed(flatbuffer.read(ek_file.schema(), structure))
    change(record)
    forge(path, flatbuffer.write(ek_file.schema(), record), data)


def thawed(value: Any) -> Any:
    """The record with lists, which can be changed, for tuples."""
    if isinstance(value, dict):
        return {name: thawed(item) for name, item in value.items()}
    return [thawed(item) for item in value] if isinstance(value, tuple | list) else value
