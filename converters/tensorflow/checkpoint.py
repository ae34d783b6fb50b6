"""Variables of a checkpoint bundle: an index of names, and shards with their bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgekit.converters import files
from edgekit.converters.file_formats import protobuf, sorted_table
from edgekit.converters.file_formats.crc32c import masked
from edgekit.converters.file_formats.protobuf import Message
from edgekit.converters.tensorflow.attributes import static_shape, type_code
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

_MAX_SHARDS = 1 << 12


@dataclass(frozen=True)
class Bundle:
    """The variables of a model by name, and the shards that hold them."""

    index: bytes
    entries: Mapping[str, Message]
    shards: Sequence[bytes]

    def load(self, name: str) -> Array:
        """A variable, whose bytes have to be those that were saved."""
        where = f"variable {name[:80]}"
        if name not in self.entries:
            raise EdgeKitError("E0401", "is not in the checkpoint", where)
        entry = self.entries[name]
        if 7 in entry:
            raise sliced(where)
        sizes, shard = static_shape(entry.message(2)), entry.integer(3)
        if sizes is None or not 0 <= shard < len(self.shards):
            raise EdgeKitError("E0401", "has an open shape, or is in no shard", where)
        start, size = entry.integer(4), entry.integer(5)
        raw = self.shards[shard]
        if start < 0 or size < 0 or start + size > len(raw):
            message = f"takes {size} bytes from {start} on, the shard has {len(raw)}"
            raise EdgeKitError("E0401", message, where)
        stored = memoryview(raw)[start : start + size]
        made = files.array(stored, type_code(entry.integer(1)).dtype, sizes, where, exact=True)
        if masked(stored) != entry.fixed(6):
            raise EdgeKitError("E0401", "is damaged: its checksum differs", where, "copy the files again")
        return made


def sliced(where: str = "") -> EdgeKitError:
    """The error for a variable that lies in several pieces."""
    hint = "save the model from a program that keeps each variable in one piece"
    return EdgeKitError("E0205", "variables in slices are not supported", where, hint)


def bundle(folder: Path, name: str) -> Bundle:
    """The checkpoint of this name in a folder."""
    beside = folder / name
    index = files.read_beside(beside, f"{name}.index", "the index of variables")
    found = {key.decode(errors="replace"): value for key, value in sorted_table.entries(index, beside.name)}
    header = protobuf.message(found.pop("", b""), f"{name}.index")
    count = header.integer(1)
    if header.integer(2):
        raise EdgeKitError("E0205", "the variables are not little-endian", header.where)
    if not 0 <= count <= _MAX_SHARDS:
        raise EdgeKitError("E0402", f"{count} shards are absurd", header.where)
    shards, left = [], files.MAX_FILE
    for i in range(count):
        shard = f"{name}.data-{i:05}-of-{count:05}"
        shards.append(files.read_beside(beside, shard, "the shard", left))
        left -= len(shards[-1])
    entries = {key: protobuf.message(value, f"variable {key[:80]}") for key, value in found.items()}
    return Bundle(index, entries, shards)
