"""Puts generated files into the user's folder: all or nothing, and never over files of other origin."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from edgekit.core import files
from edgekit.core.errors import EdgeKitError
from edgekit.core.transaction import recover, transaction

MANIFEST = "edgekit.manifest.json"
_MAX_NAMED = 5
_MAX_MANIFEST = 1 << 24


def check(new: Mapping[str, bytes], folder: Path) -> None:
    """Refuse a folder where writing these files would destroy something; asked before the work is done."""
    if folder.exists() and not folder.is_dir():
        raise EdgeKitError("E0105", f"cannot write into {folder}: it is not a folder")
    recover(folder)
    _check(new, folder)


def _check(new: Mapping[str, bytes], folder: Path) -> None:
    foreign = [path for path in new if _is_foreign(folder / path, new[path])]
    if foreign and (foreign := sorted(set(foreign) - _files_of_earlier_build(folder))):
        named = ", ".join(foreign[:_MAX_NAMED]) + ", ..." * (len(foreign) > _MAX_NAMED)
        raise EdgeKitError(
            "E0109",
            f"{folder} holds files that edgekit build did not write, or that were changed since: {named}",
            hint="choose another folder with -o, or overwrite them with --force",
        )


def publish(new: Mapping[str, bytes], folder: Path, *, force: bool = False) -> None:
    """Write the files, and drop what an earlier build left and this one does not have. Where the manifest is
    there, all files are those of one build."""
    with transaction(folder, seal=MANIFEST) as changes:
        if not force:
            _check(new, folder)
        changes.removed |= _files_of_earlier_build(folder) - set(new)
        for path, data in new.items():
            changes.write(path, data)


def write(new: Mapping[str, bytes], folder: Path) -> None:
    """Write files into a folder of our own."""
    for path, data in new.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def _is_foreign(path: Path, data: bytes) -> bool:
    """Is something else than this content there already?"""
    if not path.is_file():
        return path.exists()
    return path.stat().st_size != len(data) or files.read(path, len(data)) != data


def _files_of_earlier_build(folder: Path) -> set[str]:
    """The manifest in the folder, and what it lists where the file is still as it was written. Whoever made
    the folder may have written that: no link is followed."""
    try:
        listed = files.json_of(files.read(folder / MANIFEST, _MAX_MANIFEST, folder))["sha256"]
        found = {path for path, digest in listed.items() if _digest(folder / path, folder) == digest}
    except (EdgeKitError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()
    return {MANIFEST} | found


def _digest(path: Path, folder: Path) -> str | None:
    """That of a regular file in the folder."""
    try:
        with files.opened(path, folder) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except EdgeKitError:
        return None
