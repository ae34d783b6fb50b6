"""Weights of TensorFlow.js: a manifest with names, types and shapes, and their bytes one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgekit.converters import files
from edgekit.converters.file_formats.json_record import Record, checked
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType

_DTYPES = {"float32": DType.F32, "int32": DType.S32, "bool": DType.BOOL, "uint8": DType.U8}
_QUANTIZED = {"uint8": DType.U8, "uint16": DType.U16, "float16": DType.F16}
_MAX_SHARDS = 1 << 12


@dataclass(frozen=True)
class ManifestWeights:
    """Those of a layer and of the layers in it, which are known by their names alone."""

    builder: Builder
    arrays: Mapping[str, Array]
    is_found: bool = False  # or those of all layers, as a model in a model has no name there

    def part(self, path: str, name: str = "") -> ManifestWeights:
        found = {full: data for full, data in self.arrays.items() if _is_within(full, name)} if name else {}
        return replace(self, arrays=found or self.arrays, is_found=self.is_found or bool(found))

    def tensors(self) -> list[Tensor]:
        own = self.arrays.values() if self.is_found else ()
        return [Tensor(self.builder, self.builder.const(data, hint="w")) for data in own]


def shards(model: Path, groups: list[Record]) -> Iterator[bytes]:
    """The bytes of each group of weights."""
    names = [[checked(p, str, f"paths of {g.where}") for p in g.items("paths")] for g in groups]
    if sum(map(len, names)) > _MAX_SHARDS:
        raise EdgeKitError("E0402", f"more than {_MAX_SHARDS} shards are absurd", model.name)
    left = files.MAX_FILE
    for paths in names:
        parts = []
        for path in paths:
            parts.append(files.read_beside(model, path, "the shard", left))
            left -= len(parts[-1])
        yield b"".join(parts)


def arrays(raw: bytes, group: Record) -> Iterator[tuple[str, Array]]:
    """The weights of a group, which fill its bytes."""
    at = 0
    for entry in group.records("weights"):
        name, shape = entry.text("name"), entry.integers("shape")
        where = f"weight {name:.80}"
        kind = entry.text("dtype")
        stored = entry.record("quantization") if "quantization" in entry else None
        known, found = (_DTYPES, kind) if stored is None else (_QUANTIZED, stored.text("dtype"))
        if found not in known or kind not in _DTYPES:
            raise EdgeKitError("E0204", f"elements of type {found:.40} are not supported", where)
        data = files.array(raw, known[found], shape, where, offset=at)
        at += data.nbytes
        yield name, data if stored is None else _widened(data, stored, _DTYPES[kind])
    if at != len(raw):
        raise EdgeKitError("E0401", f"weights take {at} bytes, there are {len(raw)}", group.where)


def _widened(data: Array, stored: Record, dtype: DType) -> Array:
    """Integers are so many steps above a minimum, in floats of 32 bits."""
    if data.dtype.kind == "f":
        return data.astype(dtype.numpy)
    scale, low = (np.float32(stored.number(key)) for key in ("scale", "min"))
    real = data.astype(np.float32) * scale + low
    return (real if dtype is DType.F32 else np.rint(real)).astype(dtype.numpy)


def _is_within(full: str, name: str) -> bool:
    """Does a weight lie within this name? One with _ at the end stands for all that begin so."""
    within = full.split("/")[:-1]
    return any(part == name or (name[-1] == "_" and part.startswith(name)) for part in within)
