"""The folder of a library: all files or none, nothing of anybody else's, the same bytes every time."""

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from edgekit import EdgeKitError, Graph, build, convert
from edgekit.codegen.compilation import publish

FILES = {"kws.c": b"int x;", "edgekit/add.h": b"add", "edgekit.manifest.json": b""}


def with_manifest(files: dict[str, bytes]) -> dict[str, bytes]:
    digests = {name: sha256(data).hexdigest() for name, data in files.items()}
    return files | {"edgekit.manifest.json": json.dumps({"sha256": digests}).encode()}


OLD = with_manifest({"kws.c": b"int x;", "edgekit/add.h": b"add", "edgekit/mul.h": b"mul"})
NEW = with_manifest({"kws.c": b"int y;", "edgekit/add.h": b"add"})


def content(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_same_graph_same_bytes(digits_graph: Graph, tmp_path: Path) -> None:
    for name in ("a", "b"):
        build(digits_graph, tmp_path / name, verify=False)
    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_graph_from_a_file_gives_the_same_library(digits_graph: Graph, folder: Path) -> None:
    build(digits_graph, "a", verify=False)
    build("digits.ek", "b", verify=False)
    build("digits.onnx", "c", verify=False)
    assert content(Path("a")) == content(Path("b")) == content(Path("c"))


def test_manifest_lists_every_other_file(digits_graph: Graph, tmp_path: Path) -> None:
    report = build(digits_graph, tmp_path / "out", verify=False)
    files = content(tmp_path / "out")
    manifest = json.loads(files.pop("edgekit.manifest.json"))
    assert manifest["sha256"] == {name: sha256(data).hexdigest() for name, data in sorted(files.items())}
    assert manifest["arena_bytes"] == report.arena_bytes


def test_what_an_earlier_build_left_goes_away(tmp_path: Path) -> None:
    publish.publish(OLD, tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    publish.publish(NEW, tmp_path)
    assert content(tmp_path) == NEW | {"notes.txt": b"mine"}


def test_another_model_may_follow_into_the_folder(tmp_path: Path) -> None:
    publish.publish(OLD, tmp_path)
    other = with_manifest({"vad.c": b"int z;"})
    publish.publish(other, tmp_path)
    assert content(tmp_path) == other


@pytest.mark.parametrize("name", ["kws.c", "edgekit/add.h"])
def test_files_of_others_are_not_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / "edgekit").mkdir()
    (tmp_path / name).write_text("mine")
    with pytest.raises(EdgeKitError, match=f"E0109.*: {name}"):
        publish.publish(NEW, tmp_path)
    assert content(tmp_path) == {name: b"mine"}
    publish.publish(NEW, tmp_path, force=True)
    assert content(tmp_path) == NEW


def test_files_that_were_changed_are_not_overwritten(tmp_path: Path) -> None:
    publish.publish(OLD, tmp_path)
    (tmp_path / "kws.c").write_text("improved")
    with pytest.raises(EdgeKitError, match=r"changed since: kws.c"):
        publish.publish(NEW, tmp_path)


def test_files_that_were_changed_do_not_go_away(tmp_path: Path) -> None:
    publish.publish(OLD, tmp_path)
    (tmp_path / "edgekit/mul.h").write_text("improved")
    publish.publish(NEW, tmp_path)
    assert content(tmp_path) == NEW | {"edgekit/mul.h": b"improved"}


def test_equal_files_are_nobodys(tmp_path: Path) -> None:
    (tmp_path / "kws.c").write_bytes(NEW["kws.c"])
    publish.publish(NEW, tmp_path)
    assert content(tmp_path) == NEW


@pytest.mark.parametrize("path", ["../secret", "/secret", "a/../../secret"])
def test_a_forged_manifest_removes_nothing_elsewhere(tmp_path: Path, path: str) -> None:
    secret, out = tmp_path / "secret", tmp_path / "out"
    secret.write_text("precious")
    out.mkdir()
    path = str(secret) if path == "/secret" else path
    forged = {"sha256": {path: sha256(b"precious").hexdigest()}}
    (out / "edgekit.manifest.json").write_text(json.dumps(forged))
    (out / "a").mkdir()
    publish.publish(NEW, out)
    assert secret.read_text() == "precious"


@pytest.mark.parametrize("manifest", ["", "[]", "{}", '{"sha256": 3}', '{"sha256": {"kws.c": 3}}', "\x00"])
def test_a_broken_manifest_owns_nothing(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "edgekit.manifest.json").write_text(manifest)
    (tmp_path / "kws.c").write_text("mine")
    with pytest.raises(EdgeKitError, match="E0109"):
        publish.publish(NEW, tmp_path)


def test_a_failure_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish.publish(OLD, tmp_path / "old")
    before = content(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    for folder in ("old", "new/deep"):
        with pytest.raises(EdgeKitError, match=r"E0105 cannot write into .*: No space left on device"):
            publish.publish(NEW, tmp_path / folder)
    assert content(tmp_path) == before
    assert os.listdir(tmp_path) == ["old"]


def test_names_from_models_stay_inside_the_folder(digits_graph: Graph, tmp_path: Path) -> None:
    build(digits_graph.with_name("../../evil"), tmp_path / "out", verify=False)
    assert os.listdir(tmp_path) == ["out"]
    assert "evil.c" in content(tmp_path / "out")


def test_conversion_can_be_given_a_name(folder: Path) -> None:
    assert convert("digits.ek", name="kws").name == "kws"
