"""Zip bombs: archives of models and of samples unpack to a bounded multiple of their size, or not at all."""

from __future__ import annotations

import ast
import io
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from support.nets import Net
from support.sources import parsed

import edgekit
from edgekit import EdgeKitError, Graph
from edgekit.converters import read
from edgekit.core import unpacking
from edgekit.core.ops.arithmetic import Add
from edgekit.samples import arrays
from edgekit.samples.sample_files import Samples

ZEROS = 72 << 20  # more than is free at any ratio
MODELS = {
    "net.keras": ("metadata.json", "config.json", "model.weights.h5"),
    "net.pt2": ("net/version", "net/archive_format", "net/models/model.json", "net/data/weights/weight_0"),
}


def graph() -> Graph:
    net = Net()
    return net.done(net(Add(), net.x(1, 4, name="x"), net.random(4)))


def head(*shape: int) -> bytes:
    made = io.BytesIO()
    np.lib.format.write_array_header_1_0(made, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return made.getvalue()


def bomb(path: Path, *members: str, before: bytes = b"") -> Path:
    """Some hundred kilobytes, of which the last member is 72 MB of zeros."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in members[:-1]:
            archive.writestr(name, "{}")
        with archive.open(members[-1], "w") as stream:
            stream.write(before)
            for _ in range(ZEROS >> 20):
                stream.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 20
    return path


READERS: Mapping[str, Callable[[Path], object]] = {
    "samples": lambda path: list(Samples(path, graph())),
    "inputs": lambda path: arrays.load(path, graph()),
    "labels": arrays.labels,
}


@pytest.mark.parametrize("what", READERS)
@pytest.mark.parametrize("rows", [ZEROS // 16, 1], ids=["all of it", "a bit of it"])
def test_arrays_that_unpack_to_far_more_than_they_are_are_refused(
    what: str, rows: int, tmp_path: Path
) -> None:
    path = bomb(tmp_path / "x.npz", "x.npy", before=head(rows, 1, 4))
    refused(lambda: READERS[what](path), r"x\.npz has \d+ bytes and unpacks to 7\d+, more than 64 times")


@pytest.mark.parametrize("name", MODELS)
def test_models_that_unpack_to_far_more_than_they_are_are_refused(name: str, tmp_path: Path) -> None:
    path = bomb(tmp_path / name, *MODELS[name])
    refused(lambda: read.read(path), "the archive has .* unpacks to")


def refused(work: Callable[[], object], words: str) -> None:
    """Soon, and in little memory."""
    tracemalloc.start()
    with pytest.raises(EdgeKitError, match=words) as caught:
        work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.code == "E0402"
    assert most < 16 << 20


def test_each_of_many_members_over_the_same_bytes_counts() -> None:
    infos = [zipfile.ZipInfo(f"{i}.npy") for i in range(100)]
    for info in infos:
        info.file_size = 1 << 20
    unpacking.check(infos, 1 << 20, "x.npz")
    with pytest.raises(EdgeKitError, match="unpacks to 104857600"):
        unpacking.check(infos, 1000, "x.npz")
    with pytest.raises(EdgeKitError, match="has 70000 members"):
        unpacking.check(infos * 700, 1 << 40, "x.npz")


@pytest.mark.parametrize("size", [5, 15])
def test_member_of_another_size_than_the_archive_says_is_refused(size: int) -> None:
    info = zipfile.ZipInfo("x")
    info.file_size = 10
    with pytest.raises(EdgeKitError, match=r"has \d+ bytes, not the 10"):
        unpacking.whole(io.BytesIO(bytes(size)), info)
    assert unpacking.whole(io.BytesIO(bytes(10)), info) == bytes(10)


@pytest.mark.parametrize("what", ["samples", "inputs"])
def test_samples_that_shrink_well_are_read(what: str, tmp_path: Path) -> None:
    """Many equal rows, as masks have."""
    np.savez_compressed(tmp_path / "x.npz", x=np.ones((100_000, 1, 4), np.float32))
    assert len(READERS[what](tmp_path / "x.npz")) == {"samples": 100_000, "inputs": 1}[what]  # type: ignore[arg-type]


@pytest.mark.parametrize("what", READERS)
def test_array_that_promises_more_than_there_is_is_refused_before_numpy_makes_room(
    what: str, tmp_path: Path
) -> None:
    for name, content in (("x.npy", head(1 << 50, 1, 4)), ("x.npz", b"")):
        path = tmp_path / name
        path.write_bytes(content)
        if not content:
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("x.npy", head(1 << 50, 1, 4))
        with pytest.raises(EdgeKitError, match="E0401"):
            READERS[what](path)


def writes(call: ast.Call) -> bool:
    """Does it open an archive to write it?"""
    return len(call.args) > 1 and isinstance(call.args[1], ast.Constant) and call.args[1].value == "w"


def test_whatever_opens_an_archive_or_an_array_asks_these_limits() -> None:
    """But for archives that come with EdgeKit: the demo's pictures, and parts of the playground's page."""
    package = Path(edgekit.__file__).parent
    stages = [link.resolve() for link in package.iterdir() if link.is_symlink()]
    openers = {"ZipFile", "load", "GzipFile", "LZMAFile", "BZ2File", "TarFile", "decompress", "decompressobj"}
    of = {"zipfile", "np", "numpy", "gzip", "lzma", "bz2", "tarfile", "zlib"}
    found, trusted = set(), {"demo.py", "assembly.py", "bytecode.py"}
    every = (file for folder in (package, *stages) for file in folder.rglob("*.py"))
    for path, tree in parsed(every, rf"\b({'|'.join(of)})\s*\.\s*({'|'.join(openers)})\b"):
        skipped = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call) and writes(node)}
        names = [
            (node.value.id, node.attr)
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and id(node) not in skipped
        ]
        if any(package in of and what in openers for package, what in names) and path.name not in trusted:
            assert {"unpacking", "array_headers"} & {package for package, _ in names}, path
            found.add(path.name)
    assert found
