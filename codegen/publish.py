"""Puts generated files into the user's folder: all or nothing, and never over what somebody else wrote."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from edgekit.errors import EdgeKitError

MANIFEST = "edgekit.manifest.json"
_MAX_NAMED = 5


def check(files: Mapping[str, bytes], folder: Path) -> None:
    """Refuse a folder where writing these files would destroy something; asked before the work is done."""
    if folder.exists() and not folder.is_dir():
        raise EdgeKitError("E0105", f"cannot write into {folder}: it is no folder")
    foreign = [path for path in files if _is_foreign(folder / path, files[path])]
    if foreign and (foreign := sorted(set(foreign) - _files_of_earlier_build(folder))):
        named = ", ".join(foreign[:_MAX_NAMED]) + ", ..." * (len(foreign) > _MAX_NAMED)
        raise EdgeKitError(
            "E0109",
            f"{folder} holds files that edgekit build did not write, or that were changed since: {named}",
            hint="choose another folder with -o, or overwrite them with --force",
        )


def publish(files: Mapping[str, bytes], folder: Path, *, force: bool = False) -> None:
    """Write the files, then drop what an earlier build left and this one does not have."""
    if not force:
        check(files, folder)
    stale = _files_of_earlier_build(folder) - set(files)
    created = [p for p in (folder, *folder.parents) if not p.exists()]
    staging = folder / f".edgekit-{secrets.token_hex(8)}.tmp"
    moved = False
    try:
        write(files, staging)
        for path in files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
        moved = True
        for path in files:
            os.replace(staging / path, folder / path)
        for path in stale:
            (folder / path).unlink(missing_ok=True)
    except OSError as error:
        raise EdgeKitError("E0105", f"cannot write into {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if not moved:
            _remove_empty(created)


def write(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files into a folder of our own."""
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def _remove_empty(folders: Sequence[Path]) -> None:
    """Take back folders that were made, the innermost first."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


def _is_foreign(path: Path, data: bytes) -> bool:
    """Is something else than this content there already?"""
    if not path.is_file():
        return path.exists()
    return path.stat().st_size != len(data) or path.read_bytes() != data


def _files_of_earlier_build(folder: Path) -> set[str]:
    """The manifest in the folder, and what it lists where the file is still as it was written."""
    try:
        listed = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["sha256"]
        return {MANIFEST} | {
            path
            for path, digest in listed.items()
            if ".." not in Path(path).parts
            and not Path(path).is_absolute()
            and (folder / path).is_file()
            and hashlib.sha256((folder / path).read_bytes()).hexdigest() == digest
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()
