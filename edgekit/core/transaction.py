"""Changes many files of a folder in one transaction: journaled, and completed after a crash by the next one.

New files are first written to a folder of their own, `.edgekit-new`, with a journal beside them. Renaming it
to `.edgekit-commit` decides: what is found before that is dropped, what is found after it is completed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from edgekit.core import atomic
from edgekit.core.errors import EdgeKitError
from edgekit.core.files import json_of, opened, read

_STAGED, _COMMITTED = ".edgekit-new", ".edgekit-commit"
_FILES, _JOURNAL = "files", "journal.json"
_MAX_JOURNAL = 1 << 24  # bytes


@dataclass
class Transaction:
    """What is to change: files written below `new` get the same relative paths in the folder."""

    new: Path
    removed: set[str] = field(default_factory=set)

    def write(self, path: str, data: bytes) -> None:
        (self.new / path).parent.mkdir(parents=True, exist_ok=True)
        (self.new / path).write_bytes(data)


@contextmanager
def transaction(folder: Path, *, seal: str = "") -> Iterator[Transaction]:
    """Change a folder when the block ends, or not at all if it fails. Others wait until this one has ended.
    The file `seal` is taken away first and comes back last: where it is, all others belong to it."""
    folder = Path(os.path.realpath(folder))
    created = [p for p in (folder, *folder.parents) if not p.exists()]
    committed = False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            _recover(folder)
            staged = folder / _STAGED
            try:
                changes = Transaction(staged / _FILES)
                changes.new.mkdir(parents=True)
                yield changes
                _prepare(folder, changes, seal, created)
                staged.rename(folder / _COMMITTED)
                committed = True
            finally:
                shutil.rmtree(staged, ignore_errors=True)
            _complete(folder)
    except OSError as error:
        hint = "what is left is done when the command runs again" if committed else ""
        raise EdgeKitError("E0105", f"cannot write into {folder}: {error.strerror}", hint=hint) from None
    finally:
        if not committed:
            _remove_empty(created)


def recover(folder: Path) -> None:
    """Complete or drop what a process left that was killed while it changed this folder."""
    folder = Path(os.path.realpath(folder))
    if not any(os.path.lexists(folder / name) for name in (_STAGED, _COMMITTED)):
        return
    try:
        with _locked(folder):
            _recover(folder)
    except OSError as error:
        message = f"cannot complete what an earlier command began in {folder}: {error.strerror}"
        raise EdgeKitError("E0105", message) from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    if sys.platform == "win32":  # folders cannot be opened
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        atomic.lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _prepare(folder: Path, changes: Transaction, seal: str, created: list[Path]) -> None:
    """Do all that can fail before the change counts, and write down what there is to do."""
    new = sorted(
        path.relative_to(changes.new).as_posix() for path in changes.new.rglob("*") if path.is_file()
    )
    for path in new:
        parent = (folder / path).parent
        created += [p for p in (parent, *parent.parents) if not p.exists()]
        if (file := next((p for p in (parent, *parent.parents) if p.is_file()), None)) is not None:
            raise EdgeKitError("E0105", f"cannot write {folder / path}: {file} is not a folder")
        parent.mkdir(parents=True, exist_ok=True)
        _check_place(folder, path)
    journal = {
        "seal": seal,
        "files": {path: _digest(folder / path) for path in new},
        "removed": {path: _digest(folder / path) for path in sorted(changes.removed)},
    }
    (changes.new.parent / _JOURNAL).write_text(json.dumps(journal), encoding="utf-8")


def _check_place(folder: Path, path: str) -> None:
    """Can a file be moved there, and is that still in the folder?"""
    place = folder / path
    parent = place.parent
    if Path(os.path.realpath(parent)) != parent:
        hint = "remove the link, or choose another folder"
        raise EdgeKitError("E0105", f"cannot write {place}: it is behind a link", hint=hint)
    if parent.stat().st_dev != folder.stat().st_dev:
        hint = "choose another folder"
        raise EdgeKitError("E0105", f"{parent} is on another filesystem than {folder}", hint=hint)
    if place.is_dir() and not place.is_symlink():
        raise EdgeKitError("E0105", f"cannot write {place}: it is a folder")


def _recover(folder: Path) -> None:
    for name in (_STAGED, _COMMITTED):
        path = folder / name
        if path.is_symlink() or path.is_file():  # we make none of these
            path.unlink()
        elif path.is_dir():
            if name == _COMMITTED:
                _complete(folder)
            else:
                shutil.rmtree(path)


def _complete(folder: Path) -> None:
    """Carry out what the journal says, or what is left of that. Files that were changed since it was
    written stay as they are."""
    committed = folder / _COMMITTED
    seal, files, removed = _read_journal(committed)
    new = committed / _FILES
    files = {path: old for path, old in files.items() if _is_below(new, path) and _is_plain(new / path)}
    if seal in files and _is_as_before(folder, seal, files[seal]):
        (folder / seal).unlink(missing_ok=True)
        files[seal] = None
    for path, before in removed.items():
        if before is not None and _is_as_before(folder, path, before):
            (folder / path).unlink(missing_ok=True)
    for path in sorted(files, key=lambda path: path == seal):
        if _is_as_before(folder, path, files[path]) or (path == seal and not (folder / path).exists()):
            (new / path).replace(folder / path)
    shutil.rmtree(committed)


def _read_journal(committed: Path) -> tuple[str, dict[str, str | None], dict[str, str | None]]:
    """The seal, and the digests that files had when they were to be replaced or removed; None: there was
    none. Where there is no journal, all was done."""
    try:
        journal = json_of(read(committed / _JOURNAL, _MAX_JOURNAL, committed.parent))
        return str(journal["seal"]), dict(journal["files"]), dict(journal["removed"])
    except (EdgeKitError, ValueError, KeyError, TypeError):
        return "", {}, {}


def _is_below(folder: Path, path: str) -> bool:
    """Does this path stay in the folder, with no link on its way? Journals may come from strangers."""
    if Path(path).is_absolute() or ".." in Path(path).parts:
        return False
    parent = (folder / path).parent
    return parent.is_dir() and Path(os.path.realpath(parent)) == parent


def _is_as_before(folder: Path, path: str, before: str | None) -> bool:
    return _is_below(folder, path) and _digest(folder / path) == before


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _digest(path: Path) -> str | None:
    if not path.is_file():
        return None
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove_empty(folders: Collection[Path]) -> None:
    """Take back folders that were made, the innermost first."""
    for folder in sorted(set(folders), key=lambda path: -len(path.parts)):
        try:
            folder.rmdir()
        except OSError:
            continue
