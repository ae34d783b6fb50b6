"""Folders of language models for tests: recorded ones, changed ones, and safetensors as one likes."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from support.exports import SAMPLES

RECORDED = SAMPLES.with_name("recorded") / "language_models.zip"
Header = dict[str, Any]


@cache
def members(name: str) -> Mapping[str, bytes]:
    """The files of a recorded model: config.json, model.safetensors and io.npz."""
    with ZipFile(RECORDED) as archive:
        found = {Path(member): archive.read(member) for member in archive.namelist()}
    return {path.name: content for path, content in found.items() if path.parent.name == name}


def written(header: Header | bytes, data: bytes) -> bytes:
    """A file of safetensors, whatever its header says."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def parts(raw: bytes) -> tuple[Header, bytes]:
    """The header of a file, and what follows it."""
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8:start]), raw[start:]


def folder(
    name: str = "llama",
    config: Callable[[Any], object] | None = None,
    header: Callable[[Header], object] | None = None,
    weights: bytes | None = None,
) -> Callable[[Path], Path]:
    """A recorded model as a folder, after something was done to its parts."""

    def make(where: Path) -> Path:
        given = members(name)
        settings = json.loads(given["config.json"])
        if config is not None:
            config(settings)
        (where / "config.json").write_text(json.dumps(settings))
        raw = given["model.safetensors"]
        if header is not None:
            fields, data = parts(raw)
            header(fields)
            raw = written(fields, data)
        (where / "model.safetensors").write_bytes(raw if weights is None else weights)
        return where

    return make


def sharded(where: Path, name: str = "llama") -> Path:
    """The same model, its tensors in turns in two files."""
    fields, data = parts(members(name)["model.safetensors"])
    fields.pop("__metadata__", None)
    index: dict[str, str] = {}
    for i in range(2):
        header: Header = {}
        chunk = b""
        for key in sorted(fields)[i::2]:
            begin, end = fields[key]["data_offsets"]
            header[key] = {**fields[key], "data_offsets": [len(chunk), len(chunk) + end - begin]}
            chunk += data[begin:end]
        file = f"model-0000{i + 1}-of-00002.safetensors"
        (where / file).write_bytes(written(header, chunk))
        index |= dict.fromkeys(header, file)
    (where / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    (where / "config.json").write_bytes(members(name)["config.json"])
    return where
