"""Reads .pt2 archives of torch.export: the graph is JSON, weights are raw bytes, pickles are left alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgekit.converters import files
from edgekit.converters.file_formats.archive import Archive, opened
from edgekit.converters.file_formats.json_record import Record
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Source
from edgekit.core.types import Array, DType

# The major version of torch's schema, which changes where an older reader would misunderstand.
SCHEMA = 8
# torch._export.serde.schema.ScalarType
DTYPES: Mapping[int, DType] = {
    1: DType.U8,
    2: DType.S8,
    3: DType.S16,
    4: DType.S32,
    5: DType.S64,
    6: DType.F16,
    7: DType.F32,
    8: DType.F64,
    12: DType.BOOL,
    13: DType.BF16,
    28: DType.U16,
    29: DType.F8E4M3FN,
    30: DType.F8E5M2,
    31: DType.F8E4M3FNUZ,
    32: DType.F8E5M2FNUZ,
    33: DType.F8E8M0,
    34: DType.U32,
    35: DType.U64,
}
_STRIDED = 7
_MODEL = re.compile(r"[^/]+/models/([^/]+)\.json")
_SAVE_AGAIN = "load it in the newest torch and save it again with torch.export.save"
_MAX_GROWTH = 4  # weights may share bytes, but not all of them all the time
_FREE_BYTES = 1 << 26


@dataclass(frozen=True)
class ExportedProgram:
    """An exported program: the graph as JSON, and parameters, buffers and constants by their full names."""

    graph: Record
    signature: Record
    tensors: Mapping[str, Array]
    ranges: Mapping[str, tuple[int, float]]  # of each symbol that sizes are made of
    source: Source


def is_program(names: frozenset[str]) -> bool:
    """Are these the members of a .pt2 archive, of today or of an older torch?"""
    return any(_MODEL.fullmatch(n) or n.endswith("serialized_exported_program.json") for n in names) or any(
        n.endswith("/archive_format") for n in names
    )


def load(path: Path) -> ExportedProgram:
    """The program of an archive; of several models, the one called model."""
    with opened(path) as archive:
        root, name = _find(archive)
        _check_byteorder(archive, root)
        where = f"{name}.json"
        top = Record.of(archive.json(f"{root}/models/{name}.json"), where)
        _check_version(top)
        module = top.record("graph_module")
        tensors = {
            key: array
            for kind in ("weights", "constants")
            for key, array in _tensors(archive, f"{root}/data/{kind}", f"{name}_{kind}_config.json", path)
        }
    limits = top.record("range_constraints") if "range_constraints" in top.fields else Record({}, where)
    ranges = {
        symbol: (_bound(limit.fields.get("min_val"), 0), _bound(limit.fields.get("max_val"), float("inf")))
        for symbol in limits.fields
        for limit in [limits.record(symbol)]
    }
    producer = f"PyTorch {top.text('torch_version', '')}".strip()
    source = files.source(path, "pt2", producer=producer)
    return ExportedProgram(module.record("graph"), module.record("signature"), tensors, ranges, source)


def sizes(meta: Record) -> tuple[int | None, ...]:
    """The shape that the file gives a tensor; None where a size is a symbol."""
    return tuple(_size(size, meta) for size in meta.items("sizes"))


def symbol(size: Any) -> str:
    """The name of the symbol that a size is, where it is one; the text of the expression otherwise."""
    text = str(size.get("as_expr", {}).get("expr_str", "")) if isinstance(size, dict) else ""
    found = re.fullmatch(r"Symbol\('(\w+)'.*\)", text)
    return found[1] if found else text


def dtype_of(code: int, where: str) -> DType:
    if code not in DTYPES:
        raise EdgeKitError("E0204", f"element type {code} is not supported", where)
    return DTYPES[code]


def _find(archive: Archive) -> tuple[str, str]:
    """The root folder of the archive, and the name of the model in it."""
    models = [found for name in archive.members if (found := _MODEL.fullmatch(name))]
    if not models:
        if any(name.endswith("serialized_exported_program.json") for name in archive.members):
            message = "the weights in this archive of an older torch are a pickle, which EdgeKit never reads"
            raise EdgeKitError("E0404", message, hint=_SAVE_AGAIN)
        if any("/aotinductor/" in name for name in archive.members):
            hint = "save the exported program itself: torch.export.save(ep, 'net.pt2')"
            raise EdgeKitError("E0206", "the archive holds compiled code instead of a model", hint=hint)
        raise EdgeKitError("E0401", "the archive holds no model", hint="is it complete?")
    if len(models) > 1 and not any(m[1] == "model" for m in models):
        names = ", ".join(sorted(m[1] for m in models)[:8])
        hint = "save each model to a file of its own"
        raise EdgeKitError("E0205", f"the archive holds several models: {names}", hint=hint)
    chosen = next((m for m in models if m[1] == "model"), models[0])
    return chosen[0].partition("/")[0], chosen[1]


def _check_byteorder(archive: Archive, root: str) -> None:
    name = f"{root}/byteorder"
    if name in archive.members and archive.read(name).strip() != b"little":
        raise EdgeKitError("E0205", "the weights are not little-endian", hint=_SAVE_AGAIN)


def _check_version(top: Record) -> None:
    version = top.record("schema_version")
    major, minor = version.integer("major"), version.integer("minor", 0)
    if major != SCHEMA:
        age = "older" if major < SCHEMA else "newer"
        message = f"schema {major}.{minor} of torch.export is {age} than {SCHEMA}, which EdgeKit knows"
        hint = _SAVE_AGAIN if major < SCHEMA else "save it with torch 2.13, or use a newer EdgeKit"
        raise EdgeKitError("E0202", message, hint=hint)


def _tensors(archive: Archive, folder: str, config: str, path: Path) -> Iterator[tuple[str, Array]]:
    """What a folder of the archive holds, by full name."""
    if f"{folder}/{config}" not in archive.members:
        pickles = [n for n in archive.members if n.startswith(f"{folder}/") and n.endswith(".pt")]
        if pickles:
            message = f"{pickles[0]} is a pickle, which EdgeKit never reads"
            raise EdgeKitError("E0404", message, hint=_SAVE_AGAIN)
        return
    entries = Record.of(archive.json(f"{folder}/{config}"), config).record("config")
    read: dict[str, bytes] = {}
    left = _MAX_GROWTH * sum(info.file_size for info in archive.members.values()) + _FREE_BYTES
    for name, value in entries.fields.items():
        entry = Record.of(value, f"tensor {name}")
        if entry.flag("use_pickle", False):
            message = f"{name} is stored as a pickle, which EdgeKit never reads"
            hint = "export plain tensors: subclasses of torch.Tensor are pickled"
            raise EdgeKitError("E0404", message, hint=hint)
        file = entry.text("path_name")
        if file not in read:
            read[file] = archive.read(f"{folder}/{file}")
        array = _tensor(read[file], entry.record("tensor_meta"), f"tensor {name}")
        left -= array.nbytes
        if left < 0:
            raise EdgeKitError(
                "E0402", f"the tensors of {path.name} are read over and over", f"tensor {name}"
            )
        yield name, array


def _tensor(raw: bytes, meta: Record, where: str) -> Array:
    dtype = dtype_of(meta.integer("dtype"), where)
    if meta.integer("layout", _STRIDED) != _STRIDED:
        raise EdgeKitError("E0205", "sparse tensors are not supported", where, "export a dense one")
    shape = _known(meta, "sizes", where)
    strides = _known(meta, "strides", where)
    offset = meta.record("storage_offset").integer("as_int", 0) if "storage_offset" in meta else 0
    return files.array(raw, dtype, shape, where, offset=offset * dtype.bytes, strides=strides)


def _known(meta: Record, key: str, where: str) -> list[int]:
    found = [_size(size, meta) for size in meta.items(key)]
    if None in found:
        raise EdgeKitError("E0401", f"{key} of a weight are not fixed", where)
    return [size for size in found if size is not None]


def _size(size: Any, meta: Record) -> int | None:
    record = Record.of(size, f"a size in {meta.where}")
    return record.integer("as_int") if "as_int" in record else None


def _bound(value: Any, default: float) -> Any:
    return value if isinstance(value, int) else default
