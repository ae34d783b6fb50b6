"""What compilers made of the same files before: most changes leave most generated C as it is.

A call is known by the compiler's version, its arguments, and the content of its folder and of what else the
arguments name; what it left in the folder is kept, with its warnings. Programs run each time. A link that
lacked a symbol fails again, and no other failure is kept: the compiler's own functions are left out first.
Where CMake calls compilers, ccache does the same. What torch exports of networks is kept, too, and what onnx
computes of its cases.
The variable EDGEKIT_TEST_CACHE names another folder for it; empty, it means to compile everything.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from support.tools import ROOT

from edgekit.codegen.compilation import toolchain
from edgekit.core.errors import EdgeKitError

_VARIABLE = "EDGEKIT_TEST_CACHE"
MAX_BYTES = 3 << 30  # of the whole cache: what was not used for longest goes first
_MAX_INPUT = 64 << 20
_EXPORTERS = ("torch", "onnx", "onnxscript", "numpy")
_MAX_SECONDS = 14 * 24 * 3600  # without use
_WARNINGS, _OUTPUT, _CHECKOUT = "<warnings>", "<output>", "<checkout>"  # no names of files
_FAILED = "<failed>"
_LACKS = ": undefined symbol: "  # a linker's words
_HERE, _ELSEWHERE = "", "<elsewhere>/"  # before the names of files that lie in the folder, or not
_SYSTEM = ("/usr/", "/dev/null")
_PATH = re.compile(r"(?:^|(?<==)|(?<=^-[A-Z]))/.*")  # in an argument


def folder() -> Path | None:
    """Where results are kept, if they are."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    chosen = os.environ.get(_VARIABLE, str(home / "edgekit-tests"))
    return Path(chosen) if chosen else None


def is_empty() -> bool:
    """Is nothing kept of runs before?"""
    kept = folder()
    return kept is None or next(kept.glob("*/*.zip"), None) is None


def install() -> None:
    """Let the compilers that EdgeKit calls in this process ask here first."""
    plain = toolchain.Compiler.run

    def run(self: toolchain.Compiler, arguments: Sequence[str], folder: Path) -> str:
        return remembered([*self.argv, *arguments], folder, lambda: plain(self, arguments, folder))

    toolchain.Compiler.run = run  # type: ignore[method-assign]  # of this process
    os.environ.update(for_cmake())


def for_cmake() -> Mapping[str, str]:
    """Variables that let CMake call compilers by ccache, if that is installed. Temporary folders, whose names
    differ from run to run, are known by their way from that of the build."""
    kept, ccache = folder(), shutil.which("ccache")
    if kept is None or ccache is None:
        return {}
    return {
        "CMAKE_C_COMPILER_LAUNCHER": ccache,
        "CMAKE_CXX_COMPILER_LAUNCHER": ccache,
        "CCACHE_DIR": str(kept / "ccache"),
        "CCACHE_MAXSIZE": "500M",
        "CCACHE_BASEDIR": tempfile.gettempdir(),
        "CCACHE_NOHASHDIR": "1",
    }


def remembered(command: Sequence[str], place: Path, run: Callable[[], str]) -> str:
    """The warnings of a command that compiles in a folder, and what it makes there and beside the output that
    it names; `run` runs it, and raises where it fails."""
    key = _key(command, place) if (kept := folder()) else None
    if kept is None or key is None:
        return run()
    output = _output(command)
    places = {_HERE: place} | ({_ELSEWHERE: output.parent} if output else {})
    entry = kept / key[:2] / f"{key[2:]}.zip"
    with contextlib.suppress(OSError, zipfile.BadZipFile, KeyError):
        return _restore(entry, places)
    before = {where: dict(_state(path)) for where, path in places.items()}
    try:
        warnings = run()
    except EdgeKitError as error:
        if _LACKS in error.message:
            _keep(entry, places, [], {_FAILED: json.dumps([error.code, error.message, "", error.hint])})
        raise
    made = [
        (where, name)
        for where, path in places.items()
        for name, state in _state(path)
        if before[where].get(name) != state
    ]
    _keep(entry, places, made, {_WARNINGS: warnings})
    return warnings


def _output(command: Sequence[str]) -> Path | None:
    """The file outside of its folder that a command writes, if it does."""
    named = command[command.index("-o") + 1] if "-o" in command[:-1] else ""
    return Path(named) if named.startswith("/") else None


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


def exports(sources: Iterable[Path]) -> Path | None:
    """The folder, if results are kept, for what torch or onnx makes of models that these files define. Other
    ones go when they were not used for long."""
    kept = folder()
    if kept is None:
        return None
    digest = hashlib.sha256(" ".join(map(_release, _EXPORTERS)).encode())
    for source in sources:
        digest.update(source.read_bytes())
    chosen = kept / "exports" / digest.hexdigest()[:16]
    chosen.mkdir(parents=True, exist_ok=True)
    os.utime(chosen)
    for other in chosen.parent.iterdir():
        if other.stat().st_mtime < time.time() - _MAX_SECONDS:
            shutil.rmtree(other, ignore_errors=True)
    return chosen


def _release(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return ""


def _key(command: Sequence[str], place: Path) -> str | None:
    """Everything that decides over the result; None where that is too much."""
    output, given, words = _output(command), [(place, place)], []
    for word in command[1:]:
        word = _OUTPUT if output and word == str(output) else word.replace(str(place), ".")
        word = word.replace(str(ROOT), _CHECKOUT)
        if found := re.search(f"{_CHECKOUT}/(.*)", word):
            given.append((ROOT, ROOT / found[1]))
        elif (found := _PATH.search(word)) and not found[0].startswith(_SYSTEM):
            path = Path(found[0])
            word = word.replace(found[0], f"<given {len(given)}>")
            given.append((path if path.is_dir() else path.parent, path))
        words.append(word)
    digest = hashlib.sha256(json.dumps([_version(tuple(command[:2])), words]).encode())
    size = 0
    for root, path in ((root, found) for root, each in given for found in _files(each)):
        content = path.read_bytes()
        size += len(content)
        if size > _MAX_INPUT:
            return None
        digest.update(f"{path.relative_to(root)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (found for found in sorted(path.rglob("*")) if found.is_file())
    elif path.is_file():
        yield path


@cache
def _version(command: tuple[str, ...]) -> str:
    """What the compiler says of itself: its first words, up to the options."""
    words = command[:2] if command[1:2] == ("cc",) else command[:1]
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run([*words, "--version"], capture_output=True, text=True, cwd=elsewhere)
    return done.stdout


def _state(place: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    for path in _files(place):
        stat = path.stat()
        yield path.relative_to(place).as_posix(), (stat.st_mtime_ns, stat.st_size)


def _keep(
    entry: Path, places: Mapping[str, Path], made: Sequence[tuple[str, str]], said: Mapping[str, str]
) -> None:
    with contextlib.suppress(OSError):  # a full disk, for example
        entry.parent.mkdir(parents=True, exist_ok=True)
        new = entry.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, words in said.items():
                archive.writestr(name, words)
            for where, name in made:
                archive.write(places[where] / name, where + name)
        os.replace(new, entry)


def _restore(entry: Path, places: Mapping[str, Path]) -> str:
    with zipfile.ZipFile(entry) as archive:
        for info in archive.infolist():
            if info.filename not in (_WARNINGS, _FAILED):
                where = _ELSEWHERE if info.filename.startswith(_ELSEWHERE) else _HERE
                path = places[where] / info.filename.removeprefix(where)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(info))
                path.chmod(info.external_attr >> 16 & 0o777)
        failed = json.loads(archive.read(_FAILED)) if _FAILED in archive.namelist() else None
        warnings = "" if failed else archive.read(_WARNINGS).decode()
    now = time.time()
    os.utime(entry, (now, now))
    if failed:
        raise EdgeKitError(*failed)
    return warnings
