"""What compilers made of the same files before: most changes leave most generated C as it is.

A call is known by the compiler's version, its arguments, and the content of its folder and of what the
arguments name in the checkout; what it left in the folder is kept, with its warnings. Programs run each time.
The variable EDGEKIT_TEST_CACHE names another folder for it; empty, it means to compile everything.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from support.tools import ROOT

from edgekit.codegen.compilation import toolchain

_VARIABLE = "EDGEKIT_TEST_CACHE"
MAX_BYTES = 3 << 30  # of the whole cache: what was not used for longest goes first
_MAX_INPUT = 64 << 20
_WARNINGS = "<warnings>"  # no name of a file
_SYSTEM = ("/usr/", "/dev/")


def folder() -> Path | None:
    """Where results are kept, if they are."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    chosen = os.environ.get(_VARIABLE, str(home / "edgekit-tests"))
    return Path(chosen) if chosen else None


def install() -> None:
    """Let the compilers that EdgeKit calls in this process ask here first."""
    plain = toolchain.Compiler.run

    def run(self: toolchain.Compiler, arguments: Sequence[str], folder: Path) -> str:
        return remembered([*self.argv, *arguments], folder, lambda: plain(self, arguments, folder))

    toolchain.Compiler.run = run  # type: ignore[method-assign]  # of this process


def remembered(command: Sequence[str], place: Path, run: Callable[[], str]) -> str:
    """The warnings of a command that compiles in a folder, and there what it makes; `run` runs it, and raises
    where it fails."""
    key = _key(command, place) if (kept := folder()) else None
    if kept is None or key is None:
        return run()
    entry = kept / key[:2] / f"{key[2:]}.zip"
    with contextlib.suppress(OSError, zipfile.BadZipFile, KeyError):
        return _restore(entry, place)
    before = dict(_state(place))
    warnings = run()
    made = [name for name, state in _state(place) if before.get(name) != state]
    with contextlib.suppress(OSError):  # a full disk, for example
        _keep(entry, place, made, warnings)
    return warnings


def tidy() -> None:
    """Drop what was not used for longest where all together is too large."""
    kept = folder()
    if kept is None or not kept.is_dir():
        return
    entries = [(path, path.stat()) for path in kept.rglob("*.zip")]
    total = sum(stat.st_size for _, stat in entries)
    for path, stat in sorted(entries, key=lambda entry: entry[1].st_mtime):
        if total <= MAX_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= stat.st_size


def _key(command: Sequence[str], place: Path) -> str | None:
    """Everything that decides over the result; None where that is not known."""
    words = [word.replace(str(place), ".").replace(str(ROOT), "<checkout>") for word in command]
    named = [found[1] for word in words if (found := re.search(r"<checkout>/(.*)", word))]
    others = [word for word in words[1:] if re.search(r"(?:^|=|-[A-Z])/", word)]
    if any(not re.search(rf"(?:^|=|-[A-Z])(?:{'|'.join(_SYSTEM)})", word) for word in others):
        return None
    digest = hashlib.sha256(json.dumps([_version(tuple(command[:4])), words[1:]]).encode())
    size = 0
    for root, path in (*_files(place, place), *(f for name in named for f in _files(ROOT, ROOT / name))):
        content = path.read_bytes()
        size += len(content)
        if size > _MAX_INPUT:
            return None
        digest.update(f"{path.relative_to(root)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _files(root: Path, path: Path) -> Iterator[tuple[Path, Path]]:
    if path.is_dir():
        yield from ((root, found) for found in sorted(path.rglob("*")) if found.is_file())
    elif path.is_file():
        yield root, path


@cache
def _version(command: tuple[str, ...]) -> str:
    """What the compiler says of itself: its first words, up to the options."""
    words = [word for word in command if not word.startswith("-") or word in ("-P", "-m")]
    known = 1 + max((i for i, word in enumerate(words) if word in ("ziglang", "cc")), default=0)
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run([*words[:known], "--version"], capture_output=True, text=True, cwd=elsewhere)
    return done.stdout


def _state(place: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    for _, path in _files(place, place):
        stat = path.stat()
        yield path.relative_to(place).as_posix(), (stat.st_mtime_ns, stat.st_size)


def _keep(entry: Path, place: Path, made: Sequence[str], warnings: str) -> None:
    entry.parent.mkdir(parents=True, exist_ok=True)
    new = entry.with_suffix(f".{os.getpid()}")
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(_WARNINGS, warnings)
        for name in made:
            archive.write(place / name, name)
    os.replace(new, entry)


def _restore(entry: Path, place: Path) -> str:
    with zipfile.ZipFile(entry) as archive:
        for info in archive.infolist():
            if info.filename != _WARNINGS:
                path = Path(archive.extract(info, place))
                path.chmod(info.external_attr >> 16 & 0o777)
        warnings = archive.read(_WARNINGS).decode()
    now = time.time()
    os.utime(entry, (now, now))
    return warnings
