"""Bytecode in place of the sources of /page, which Python would compile at each start of the page.

Runs in Pyodide, since bytecode is of one version of Python."""

from __future__ import annotations

import io
import marshal
import tarfile
import zipfile
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path

PAGE = Path("/page")
_UNCHECKED = (1).to_bytes(4, "little")  # with a hash of the source that is not compared: PEP 552


def compiled(name: str, data: bytes, optimize: int) -> tuple[str, bytes]:
    """A file as it is in an archive: a module as bytecode that no source is compared with."""
    if not name.endswith(".py"):
        return name, data
    code = compile(data, name, "exec", dont_inherit=True, optimize=optimize)
    return f"{name}c", MAGIC_NUMBER + _UNCHECKED + source_hash(data) + marshal.dumps(code)


def compile_library(path: Path) -> None:
    """That of Python itself, without docstrings and assertions, as `python -OO` has it."""
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as sources, zipfile.ZipFile(path, "w") as made:
        for name in sources.namelist():
            info, data = compiled(name, sources.read(name), optimize=2)
            made.writestr(zipfile.ZipInfo(info), data, zipfile.ZIP_DEFLATED, compresslevel=9)


def compile_packages(path: Path) -> None:
    """All else."""
    form = tarfile.USTAR_FORMAT
    with (
        tarfile.open(fileobj=io.BytesIO(path.read_bytes())) as sources,
        tarfile.open(path, "w:gz", format=form) as made,
    ):
        for member in sources:
            file = sources.extractfile(member)
            assert file
            name, data = compiled(member.name, file.read(), optimize=0)
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))


if __name__ == "__main__":
    compile_library(PAGE / "pyodide" / "python_stdlib.zip")
    compile_packages(PAGE / "packages.tar.gz")
