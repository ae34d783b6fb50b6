"""Zip files that are the same bytes for the same files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_FIRST = (1980, 1, 1, 0, 0, 0)  # the first time that zip files know


def zipped(files: Mapping[str, bytes]) -> bytes:
    """An archive of these files, in their order, without times and owners."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, _FIRST)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return made.getvalue()
