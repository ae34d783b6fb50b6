"""Builds wheels and sdists as setuptools does, with the same bytes for the same files, wherever and whenever.

The archives are written again: members in order, of one time, without an owner, readable by all.
SOURCE_DATE_EPOCH sets the time, else it is the first one that zip files know.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta

# The other hooks of the interface are those of setuptools.
build_editable = build_meta.build_editable
get_requires_for_build_editable = build_meta.get_requires_for_build_editable
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist
get_requires_for_build_wheel = build_meta.get_requires_for_build_wheel
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel

_FIRST = 315532800  # 1980-01-01
_PLAIN, _PROGRAM = 0o644, 0o755


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    name: str = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    path = Path(wheel_directory, name)
    path.write_bytes(_zip(path.read_bytes()))
    return name


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    name: str = build_meta.build_sdist(sdist_directory, config_settings)
    path = Path(sdist_directory, name)
    path.write_bytes(_tar(path.read_bytes()))
    return name


def _epoch() -> int:
    return max(_FIRST, int(os.environ.get("SOURCE_DATE_EPOCH", _FIRST)))


def _zip(raw: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(made, "w") as new:
        for entry in old.infolist():  # in the order of wheels: what describes them comes last
            info = zipfile.ZipInfo(entry.filename, time.gmtime(_epoch())[:6])
            info.create_system = 3  # Unix, whose modes follow
            info.external_attr = _mode(entry.external_attr >> 16) << 16
            new.writestr(info, old.read(entry), zipfile.ZIP_DEFLATED, 9)
    return made.getvalue()


def _tar(raw: bytes) -> bytes:
    made = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(raw)) as old,
        gzip.GzipFile("", "wb", 9, made, mtime=_epoch()) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for entry in sorted(old.getmembers(), key=lambda entry: entry.name):
            info = tarfile.TarInfo(entry.name)
            info.type, info.size, info.mtime = entry.type, entry.size, _epoch()
            info.mode = _PROGRAM if entry.isdir() else _mode(entry.mode)
            new.addfile(info, old.extractfile(entry) if entry.isfile() else None)
    return made.getvalue()


def _mode(found: int) -> int:
    return _PROGRAM if found & 0o100 else _PLAIN
