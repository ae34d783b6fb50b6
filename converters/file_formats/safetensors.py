"""safetensors: a JSON header with type, shape and place of each tensor, then their bytes without a gap."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from edgekit.converters import files
from edgekit.converters.file_formats.json_record import Record
from edgekit.core.builder import absurd
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType

MAX_HEADER = 100_000_000  # what the format's own readers accept
_METADATA = "__metadata__"
_DTYPES: Mapping[str, DType] = {
    "BOOL": DType.BOOL,
    "U8": DType.U8,
    "I8": DType.S8,
    "U16": DType.U16,
    "I16": DType.S16,
    "U32": DType.U32,
    "I32": DType.S32,
    "U64": DType.U64,
    "I64": DType.S64,
    "F16": DType.F16,
    "BF16": DType.BF16,
    "F32": DType.F32,
    "F64": DType.F64,
    "F8_E4M3": DType.F8E4M3FN,
    "F8_E5M2": DType.F8E5M2,
}


@dataclass(frozen=True)
class StoredTensor:
    """A tensor of a file, whose bytes are there: `tensors` has checked that."""

    raw: bytes
    dtype: DType
    shape: tuple[int, ...]
    begin: int
    where: str

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.bytes

    def array(self) -> Array:
        return files.array(self.raw, self.dtype, self.shape, self.where, offset=self.begin)

    def groups(self) -> None:
        """Integers with scales, of which the format has none."""


def tensors(raw: bytes, file: str) -> dict[str, StoredTensor]:
    """The tensors of a file by name. They have to fill it from the header to the end, each byte once."""
    start = 8 + int.from_bytes(raw[:8], "little")
    if len(raw) < 8 or start > min(len(raw), MAX_HEADER):
        raise EdgeKitError(
            "E0401", f"{file} has no header of {start - 8} bytes", hint="is the file complete?"
        )
    header = Record.of(files.parse_json(raw[8:start], f"the header of {file}"), f"the header of {file}")
    found = {name: _tensor(raw, header.record(name), start) for name in header.fields if name != _METADATA}
    end = start
    for one in sorted(found.values(), key=lambda one: (one.begin, one.bytes)):
        if one.begin != end:
            what = "behind a gap" if one.begin > end else "within another tensor"
            raise EdgeKitError("E0401", f"{one.where} begins {what}, at byte {one.begin}")
        end += one.bytes
    if end != len(raw):
        message = f"the tensors of {file} end at byte {end}, there are {len(raw)}"
        raise EdgeKitError("E0401", message, hint="is the file complete?")
    return found


def _tensor(raw: bytes, entry: Record, start: int) -> StoredTensor:
    kind, shape, places = entry.text("dtype"), entry.integers("shape"), entry.integers("data_offsets")
    if kind not in _DTYPES:
        raise EdgeKitError("E0204", f"data type {kind:.40} is not supported", entry.where)
    if absurd(shape):
        raise EdgeKitError("E0402", f"shape {shape[:8]} is absurd", entry.where)
    if len(places) != 2 or min(places) < 0:
        raise EdgeKitError("E0401", f"data_offsets {places[:4]} are no place", entry.where)
    begin, end = places
    made = StoredTensor(raw, _DTYPES[kind], tuple(shape), start + begin, entry.where)
    if end - begin != made.bytes:
        message = f"{kind} of shape {shape} takes {made.bytes} bytes, {begin} to {end} are {end - begin}"
        raise EdgeKitError("E0401", message, entry.where)
    return made
