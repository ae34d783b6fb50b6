"""Wheels: zip files with metadata, the same bytes for the same files."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping

from edgekit.codegen.packages._zip import zipped
from edgekit.core import escape


def wheel(name: str, version: str, summary: str, tag: str, files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """The name and the bytes of a wheel with these files for this platform, for any Python 3."""
    info = f"{name}-{version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        f"Summary: {escape.properties_value(summary)}\n"
        "Requires-Python: >=3.9\nRequires-Dist: numpy\n"
    )
    marks = f"Wheel-Version: 1.0\nGenerator: edgekit\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"
    inside = {
        **{path: files[path] for path in sorted(files)},
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": marks.encode(),
    }
    record = "".join(f"{path},{_hash(data)},{len(data)}\n" for path, data in inside.items())
    inside[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    return f"{name}-{version}-py3-none-{tag}.whl", zipped(inside)


def _hash(data: bytes) -> str:
    return f"sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')}"
