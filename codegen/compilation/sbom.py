"""The software bill of materials of a library, as CycloneDX 1.6: what is in it, and where that came from.

The same library gives the same bytes: there is no time in it, and its serial number is derived from the rest.
Names from a model file enter as JSON strings only.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping
from typing import Any

import edgekit
from edgekit.codegen.program import Program

SUFFIX = ".cdx.json"
_LICENSE = "Apache-2.0"  # of EdgeKit, and so of its kernels
_KERNELS = "edgekit/"  # the folder of a library that holds them
_SHA256 = re.compile(r"[0-9a-f]{64}")
Json = dict[str, Any]


def file(
    program: Program, files: Mapping[str, bytes], optimize: str, compiler: str = "", package: str = ""
) -> dict[str, bytes]:
    """The document under its name, to be added to these files."""
    return {file_name(program): render(program, files, optimize, compiler, package)}


def file_name(program: Program) -> str:
    """What the file is called beside the library."""
    return f"{program.name}{SUFFIX}"


def render(
    program: Program, files: Mapping[str, bytes], optimize: str, compiler: str = "", package: str = ""
) -> bytes:
    """The document that describes these files: a library, or the package of this kind that holds one.
    `compiler` made the measured objects, if any did."""
    kernels = [_file(path, data, kernel=True) for path, data in files.items() if _is_kernel(path)]
    others = [_file(path, data, kernel=False) for path, data in files.items() if not _is_kernel(path)]
    model = _model(program)
    runtime: Json = {**_edgekit("framework"), "bom-ref": "edgekit", "components": kernels}
    if not kernels:
        del runtime["components"]
    parts = [model, runtime, *others]
    if compiler:
        parts.append({"type": "application", "bom-ref": "compiler", "name": compiler, "scope": "excluded"})
    library = f"{program.name} ({package})" if package else program.name
    target = {"target": program.target.name, "optimize": optimize}
    document: Json = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "tools": {"components": [_edgekit("application")]},
            "component": {
                "type": "library",
                "bom-ref": "library",
                "name": library,
                "properties": _properties(target),
            },
        },
        "components": parts,
        "dependencies": [
            {"ref": "library", "dependsOn": ["edgekit", "model", *(part["bom-ref"] for part in others)]},
            {"ref": "edgekit", "dependsOn": [part["bom-ref"] for part in kernels]},
        ],
    }
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document))}"
    return (json.dumps(document, indent=2) + "\n").encode()


def _edgekit(type: str) -> Json:
    licenses = [{"license": {"id": _LICENSE}}]
    return {"type": type, "name": "edgekit", "version": edgekit.__version__, "licenses": licenses}


def _model(program: Program) -> Json:
    """The model file: its name and format may be absent, and a forged .ek file may say anything of them."""
    source = program.graph.source
    model: Json = {"type": "machine-learning-model", "bom-ref": "model", "name": source.file or program.name}
    if _SHA256.fullmatch(source.sha256):
        model["hashes"] = [{"alg": "SHA-256", "content": source.sha256}]
    if told := _properties({"format": source.format, "producer": source.producer}):
        model["properties"] = told
    return model


def _file(path: str, data: bytes, *, kernel: bool) -> Json:
    made: Json = {
        "type": "file",
        "bom-ref": f"file:{path}",
        "name": path,
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(data).hexdigest()}],
    }
    if kernel:
        made["licenses"] = [{"license": {"id": _LICENSE}}]
    return made


def _is_kernel(path: str) -> bool:
    """Is this a file of the runtime, in a library, or in a package that keeps sources in a folder?"""
    return f"/{_KERNELS}" in f"/{path}"


def _properties(told: Mapping[str, str]) -> list[Json]:
    return [{"name": f"edgekit:{name}", "value": value} for name, value in told.items() if value]
