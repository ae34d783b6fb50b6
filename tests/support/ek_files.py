"""Takes .ek files apart and puts them together, with a right checksum around a wrong content."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgekit import file, flat
from edgekit.errors import EdgeKitError


def refused(path: Path, code: str, words: str) -> EdgeKitError:
    with pytest.raises(EdgeKitError, match=words) as info:
        file.load(path)
    assert info.value.code == code
    return info.value


def forge(path: Path, structure: bytes, data: bytes, identifier: bytes = b"") -> None:
    """Write a file with this structure and these data, and the right sizes and checksum."""
    structure += bytes(-len(structure) % file.ALIGNMENT)
    header = file._HEADER.pack(file._SIGNATURE, file.VERSION, 0, len(structure), len(data), b"")[
        : file._DIGEST
    ]
    path.write_bytes(header + hashlib.sha256(header + structure + data).digest() + structure + data)


def sections(path: Path) -> tuple[bytes, bytes]:
    """Structure and data of a file."""
    content = path.read_bytes()
    size = file._HEADER.unpack_from(content)[3]
    return content[file._HEADER.size :][:size], content[file._HEADER.size + size :]


def edit(path: Path, change: Callable[[flat.Record], object]) -> None:
    """Change the record that a file holds."""
    structure, data = sections(path)
    record = thawed(flat.read(file.schema(), structure))
    change(record)
    forge(path, flat.write(file.schema(), record), data)


def thawed(value: Any) -> Any:
    """The record with lists, which can be changed, for tuples."""
    if isinstance(value, dict):
        return {name: thawed(item) for name, item in value.items()}
    return [thawed(item) for item in value] if isinstance(value, tuple | list) else value
