"""Puts the page together: a folder of static files, which any server can serve."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from shutil import which
from typing import Any

from onnx import defs

from edgekit.core.distribution import NAME, data_file
from edgekit.playground.session import Session
from edgekit.reports import pages

PYODIDE = "0.27.7"
CLANG = "22.0.0-git20542-10"  # of the npm package @yowasp/clang, which compiles for WebAssembly alone
_CLANG_FILES = (
    *("bundle.js", "llvm-resources.tar", "llvm.core.wasm.gz"),
    *("llvm.core2.wasm", "llvm.core3.wasm", "llvm.core4.wasm"),
)
_OWN_FILES = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
# What EdgeKit imports in the page beside numpy; native parts of them are left out.
_PACKAGES = ("flatbuffers", "jinja2", "markupsafe", "onnx", "protobuf", "typing_extensions")
_LEFT_OUT = re.compile(
    r"^onnx/(backend|reference|bin|tools|common|frontend|fuzz|test)/|^edgekit/(torch|playground/(page|stand_ins))/"
    r"|^edgekit/playground/bytecode\."
)
_NUMPY_LEFT_OUT = re.compile(
    r"/$|/tests/|\.(pyi|pxd|a|h|c|in)$|^numpy/(f2py|distutils)/|dist-info/(?!METADATA)"
)
_HERE = Path(__file__).parent


def assemble(pyodide: Path, clang: Path, folder: Path) -> None:
    """Write the page into a folder. `pyodide` holds its npm package, and as numpy.whl the numpy that its lock
    file names; `clang` holds what is needed of a compiler. EdgeKit and the packages that it needs are those
    of this environment."""
    runtime = folder / "pyodide"
    runtime.mkdir(parents=True, exist_ok=True)
    for name in _OWN_FILES:
        (runtime / name).write_bytes((pyodide / name).read_bytes())
    (folder / "clang").mkdir(exist_ok=True)
    for name in _CLANG_FILES:
        (folder / "clang" / name).write_bytes((clang / name).read_bytes())
    with tarfile.open(folder / "packages.tar.gz", "w:gz", compresslevel=1) as archive:
        for name, content in sorted([*site_packages(), *_numpy(pyodide / "numpy.whl")]):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    command = [which("node") or "node", str(_HERE / "bytecode.mjs"), str(folder.resolve())]
    subprocess.run(command, check=True)
    for source in (path for path in (_HERE / "page").iterdir() if path.suffix != ".css"):
        content = source.read_bytes()
        if source.name == "index.html":
            content = content.replace(b"REPORT_SCRIPT", script_hash().encode())
        (folder / source.name).write_bytes(content)
    style = pages.asset("page.css") + (_HERE / "page" / "playground.css").read_text(encoding="utf-8")
    (folder / "page.css").write_text(style, encoding="utf-8")  # one file: what is seen first comes at once
    (folder / "digits.onnx").write_bytes(data_file("digits.onnx").read_bytes())
    (folder / "digits.npz").write_bytes(data_file("digits.npz").read_bytes())
    (folder / "first.html").write_text(_first(), encoding="utf-8")


def _numpy(wheel: Path) -> Iterator[tuple[str, bytes]]:
    """What Python imports of it."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not _NUMPY_LEFT_OUT.search(name):
                yield name, archive.read(name)


def _first() -> str:
    """The report of the example, as a visitor gets it who asks for int8."""
    session = Session()
    session.open({"digits.onnx": data_file("digits.onnx").read_bytes()})
    session.take_samples("digits.npz", data_file("digits.npz").read_bytes())
    report = session.build("cortex-m4", "int8", "speed")["report"]
    assert isinstance(report, str)
    return report


def script_hash() -> str:
    """The only script that the policy of the page allows beside its own: that of the report inside it."""
    script = f"\n{pages.asset('page.js')}\n"
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def site_packages() -> Iterator[tuple[str, bytes]]:
    """The files that Python imports in the page, by their paths."""
    yield from _own_files()
    for name in _PACKAGES:
        yield from _files_of(name)
    stand_ins = _HERE / "stand_ins"
    yield "fcntl.py", (stand_ins / "fcntl.py").read_bytes()
    yield "ml_dtypes.py", (stand_ins / "ml_dtypes.py").read_bytes()
    yield "onnx/onnx_cpp2py_export.py", (stand_ins / "onnx_cpp2py_export.py").read_bytes()
    yield "onnx/schemas.json", json.dumps(schemas(), sort_keys=True).encode()


def _own_files() -> Iterator[tuple[str, bytes]]:
    """EdgeKit itself: in a checkout, some of its folders are links."""
    package = _HERE.parent
    for folder, _, names in os.walk(package, followlinks=True):
        for path in (Path(folder) / name for name in names):
            inside = path.relative_to(package.parent).as_posix()
            if path.suffix != ".pyc" and not _LEFT_OUT.search(inside):
                yield inside, path.read_bytes()
    version = metadata.version(NAME)
    about = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\n"
    yield f"{NAME.replace('-', '_')}-{version}.dist-info/METADATA", about.encode()


def _files_of(distribution: str) -> Iterator[tuple[str, bytes]]:
    """The Python files of another package, and what it says of itself; native parts stay where they are."""
    for path in metadata.files(distribution) or ():
        is_wanted = path.suffix == ".py" or path.name == "METADATA"
        if is_wanted and ".." not in path.parts and not _LEFT_OUT.search(path.as_posix()):
            yield path.as_posix(), path.read_binary()


def schemas() -> dict[str, Any]:
    """The specification of the operators of ONNX, as stand_ins/onnx_cpp2py_export.py reads it."""
    found: dict[str, list[dict[str, Any]]] = {}
    for schema in defs.get_all_schemas_with_history():
        found.setdefault(f"{schema.domain}:{schema.name}", []).append(_fields(schema))
    return {"schemas": found, "versions": defs.C.schema_version_map()}


def _fields(schema: Any) -> dict[str, Any]:  # the type stubs of OpSchema lack most of it
    option = defs.OpSchema.FormalParameterOption
    numbers = {option.Single: 0, option.Optional: 1, option.Variadic: 2}
    return {
        "name": schema.name,
        "since_version": schema.since_version,
        "max_input": schema.max_input,
        "max_output": schema.max_output,
        "inputs": [
            {
                "name": p.name,
                "option": numbers[p.option],
                "types": sorted(p.types),
                "type_str": p.type_str,
                "is_homogeneous": p.is_homogeneous,
                "min_arity": p.min_arity,
            }
            for p in schema.inputs
        ],
        "attributes": {
            a.name: (a.type.name, a.required, _in_text(a.default_value.SerializeToString()))
            for a in schema.attributes.values()
        },
        "function": _in_text(schema.function_body.SerializeToString() if schema.has_function else b""),
        "needs_context": schema.has_context_dependent_function,
    }


def _in_text(content: bytes) -> str:
    return base64.b64encode(content).decode()
